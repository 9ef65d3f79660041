/** What `status` shows, of which objects, and in which form. */
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { temporaryFile } from '../../../support/temporary.ts';
import { run } from '../support.ts';
import { aStatus, anObject, condition, noon, stateWith } from './support.ts';

const clock = new ManualClock(noon);
const ready = condition('Ready', 'True', 'Running');
const web = anObject('ContainerService/default/web', {
  account: 'default/default',
  manifest: { annotations: {}, labels: { app: 'shop' }, spec: {} },
  status: aStatus([ready], {
    id: 'id-1',
    state: 'running',
    endpoint: 'https://web.example',
    hourlyMicros: 1_940_000,
  }),
});
const api = anObject('ContainerService/shop/api', {
  status: aStatus([condition('Ready', 'False', 'InvalidSpec', 'api.yaml:3: spec.image: missing')], {
    state: 'running',
  }),
});
const data = anObject('StorageVolume/default/data', {
  createdAt: undefined,
  status: aStatus([condition('Ready', 'True', 'Provisioned')], { state: 'ready', id: 'id-2' }),
});

async function status(records: Parameters<typeof stateWith>[0], ...args: string[]) {
  const { code, stdout, stderr } = await run(['status', ...(await stateWith(records)), ...args], { clock });
  const lines = stdout.trimEnd().split('\n');
  const line = lines.pop() ?? '';
  return { code, stdout, stderr, line, table: lines.join('\n').trimEnd() };
}

test('what else carries the mark of an object is in its row and below the table, though the object is Ready', async () => {
  const duplicated = condition('Duplicated', 'True', 'MarkFoundElsewhere', 'id-9 carries this mark');
  const twice = anObject('ContainerService/default/twice', {
    status: aStatus([ready, duplicated], { state: 'running', duplicates: [{ id: 'id-8' }, { id: 'id-9' }] }),
  });
  const { table } = await status([web, twice]);
  const [, first, second, ...below] = table.split('\n');
  expect(first).toMatch(/ Running; duplicated$/);
  expect(second).toMatch(/ Running$/);
  expect(below).toEqual([
    '',
    expect.stringMatching(
      /^Duplicated: something else carries the mark of these, .* another manager .*`fleetkeeper describe`/,
    ),
    '  ContainerService default/twice  by id-8, id-9',
  ]);
  expect((await status([web])).table).not.toMatch(/uplicated/);
});

describe('the table', () => {
  test('has the columns of version 0.1 where programs may read it', async () => {
    const { code, line, table } = await status([web, api, data]);
    expect([code, line]).toEqual([0, expect.stringMatching(/^as of /)]);
    expect(table).toBe(
      [
        'KIND               NAMESPACE   NAME   STATE     READY   ENDPOINT              MESSAGE',
        'ContainerService   default     web    running   True    https://web.example   Running',
        'ContainerService   shop        api    running   False   -                     InvalidSpec: api.yaml:3: spec.image: missing',
        'StorageVolume      default     data   ready     True    -                     Provisioned',
      ].join('\n'),
    );
  });

  test('shows cost, age, account and id with `-o wide`', async () => {
    const { table } = await status([web, data], '-o', 'wide');
    const rows = table.split('\n').map((row) => row.split(/ {3,}/));
    expect(rows).toEqual([
      [
        'KIND',
        'NAMESPACE',
        'NAME',
        'STATE',
        'READY',
        'COST/H',
        'AGE',
        'ENDPOINT',
        'ACCOUNT',
        'ID',
        'MESSAGE',
      ],
      [
        'ContainerService',
        'default',
        'web',
        'running',
        'True',
        '$1.94',
        '2h',
        'https://web.example',
        'default/default',
        'id-1',
        'Running',
      ],
      ['StorageVolume', 'default', 'data', 'ready', 'True', '-', '-', '-', '-', 'id-2', 'Provisioned'],
    ]);
  });

  test('is shown on a terminal of which nobody has set the size', async () => {
    const flags = await stateWith([web]);
    const shown = await run(['status', ...flags], { clock, terminal: true, columns: 0 });
    expect(shown.stdout).toContain('Running');
  });

  test('of a state that can not be seen is not that of a fleet without one', async () => {
    const loop = temporaryFile('loop');
    symlinkSync(loop, loop);
    for (const command of [['status'], ['plan'], ['inventory'], ['cost'], ['describe', 'web']]) {
      const flags = ['--source', path.dirname(loop), '--state', path.join(loop, 'state.db')];
      const { code, stderr } = await run([...command, ...flags], { clock });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`can't see the state ${loop}`)]);
    }
  });

  test.each([40, 80, 120])('fits a terminal of %i columns, and is cut nowhere else', async (columns) => {
    const message = `the image 日本語 could not be pulled: ${'x'.repeat(200)}`;
    const wide = anObject('ContainerService/default/recommendation-engine-of-the-shop', {
      status: aStatus([condition('Ready', 'False', 'ServiceError', message)], {
        state: 'provisioning',
        endpoint: 'https://a-very-long-name-of-a-service.region-7.provider.example/',
      }),
    });
    const flags = await stateWith([wide, web]);
    const shown = await run(['status', ...flags], { clock, terminal: true, columns });
    const lines = shown.stdout.split('\n').slice(1);
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(shown.stdout).toContain('…');
    expect((await run(['status', ...flags], { clock })).stdout).toContain(message);
  });

  test.each([
    [120, 'KIND NAMESPACE NAME STATE READY COST/H AGE ENDPOINT MESSAGE'],
    [100, 'KIND NAMESPACE NAME STATE READY AGE ENDPOINT MESSAGE'],
    [80, 'KIND NAMESPACE NAME STATE READY MESSAGE'],
    [60, 'KIND NAME READY MESSAGE'],
    [40, 'KIND NAME READY'],
  ])('of %i columns is full of columns that can be read', async (columns, heads) => {
    const endpoint = 'https://a-very-long-name-of-a-service.region-7.provider.example/';
    const asleep = anObject('ContainerService/default/recommender', {
      status: aStatus([condition('Ready', 'False', 'ProbeFailed', `it answers 503: ${'x'.repeat(80)}`)], {
        state: 'running',
        endpoint,
        hourlyMicros: 13_500,
      }),
    });
    const { stdout } = await run(['status', ...(await stateWith([asleep, web]))], {
      clock,
      environment: { NO_COLOR: '1' },
      terminal: true,
      columns,
    });
    const [head = '', ...rows] = stdout.trimEnd().split('\n').slice(1, 4);
    expect(head.split(/ +/).join(' ')).toBe(heads);
    const stateShown = heads.includes('STATE') ? ' +running' : '';
    const reasonShown = heads.includes('MESSAGE') ? ' .*ProbeFailed' : '';
    expect(rows.join('\n')).toMatch(new RegExp(`recommender${stateShown} +False${reasonShown}`));
  });

  test('prints a message of many objects once, with the objects that it concerns', async () => {
    const message = 'the account can not be read: connection refused';
    const keys: ObjectKey[] = [
      'ContainerService/default/a',
      'ContainerService/default/b',
      'StorageVolume/default/c',
    ];
    const many = keys.map((key) =>
      anObject(key, { status: aStatus([condition('Ready', 'Unknown', 'ApiUnreachable', message)]) }),
    );
    const { table } = await status([...many, web]);
    expect(table.split(message)).toHaveLength(2);
    expect(table.match(/ApiUnreachable \(1\)/g)).toHaveLength(3);
    expect(table).toContain(
      `\n\n(1) ApiUnreachable: ${message}\n    concerns 3 objects: ContainerService default/a, `,
    );
    const { table: few } = await status([...many.slice(0, 2), web]);
    expect(few.split(message)).toHaveLength(3);
  });
});

describe('a selection', () => {
  test.each([
    [['web'], ['containerservice/web']],
    [
      ['csvc/web', 'volume/data'],
      ['containerservice/web', 'storagevolume/data'],
    ],
    [['api', '-n', 'shop'], ['containerservice/api']],
    [['-n', 'shop'], ['containerservice/api']],
    [['-l', 'app=shop'], ['containerservice/web']],
    [['-l', 'app!=shop', '--kind', 'svol'], ['storagevolume/data']],
    [
      ['--kind', 'ContainerService'],
      ['containerservice/web', 'containerservice/api'],
    ],
    [['--kind', 'csvc,svol', '--reason', 'provisioned'], ['storagevolume/data']],
    [['--reason', 'InvalidSpec'], ['containerservice/api']],
    [['--reason', 'Sleeping'], []],
  ])('%j: %j', async (args, expected) => {
    const { stdout } = await status([web, api, data], ...args, '-o', 'name');
    expect(stdout.split('\n').filter(Boolean)).toEqual(expected);
  });

  test.each([
    [['wbe'], 'there is no wbe in the namespace default', 'did you mean ContainerService/web?'],
    [['svc/web'], 'there is no kind svc; did you mean ContainerService?', 'write NAME, or KIND/NAME'],
    [['default/web'], 'there is no kind default', 'the namespace is that of -n'],
    [['csvc/'], '"csvc/" names no object', 'write NAME, or KIND/NAME'],
    [['--kind', 'servce'], 'there is no kind servce', 'did you mean ContainerService?'],
    [['--reason', 'InvalidSpce'], 'there is no reason InvalidSpce', 'did you mean InvalidSpec?'],
  ])('%j: %s; %s', async (args, message, remedy) => {
    const { code, stdout, stderr } = await status([web], ...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
    expect(stderr).toContain(remedy);
  });
});

describe('for programs', () => {
  test('`-o json` has a List of the selected objects, with the time of their creation', async () => {
    const { stdout } = await status([web, data], '-o', 'json', 'web');
    const { items, ...list } = JSON.parse(stdout) as { items: object[] };
    expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List', manager: { state: 'Unknown' } });
    expect(items).toEqual([
      {
        apiVersion: 'fleetkeeper.dev/v1alpha1',
        kind: 'ContainerService',
        metadata: {
          name: 'web',
          namespace: 'default',
          uid: web.uid,
          generation: 1,
          labels: { app: 'shop' },
          creationTimestamp: '2026-01-01T10:00:00Z',
        },
        spec: {},
        status: web.status,
      },
    ]);
  });

  test('`-o jsonpath` prints what it selects, without a line break of its own', async () => {
    const { stdout } = await status([web, data], '-o', 'jsonpath={.items[*].status.id}');
    expect(stdout).toBe('id-1 id-2');
  });

  test('a template that is none is shown with the place of the mistake', async () => {
    const { code, stderr } = await status([web], '-o', 'jsonpath={.items[}');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/at character \d+:\n {2}\{\.items\[\}\n +\^/)]);
  });

  test('what a provider wrote can not control a terminal', async () => {
    const odd = anObject('ContainerService/default/odd', {
      status: aStatus([ready], { endpoint: 'https://x\u001B]0;title\u0007.example' }),
    });
    const flags = await stateWith([odd]);
    for (const format of ['text', 'wide', 'jsonpath={.items[*].status.endpoint}']) {
      const { stdout } = await run(['status', ...flags, '-o', format], { clock, terminal: true });
      expect(stdout).not.toContain('\u001B]');
    }
  });
});
