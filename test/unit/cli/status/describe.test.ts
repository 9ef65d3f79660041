/** What `describe` shows of an object. */
import { describe, expect, test } from 'vitest';
import { giveSigns, type Intent, type ObjectRecord } from '../../../../src/state/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { run } from '../support.ts';
import { aStatus, anObject, condition, noon, stateWith } from './support.ts';

const clock = new ManualClock(noon);
const hourMs = 3_600_000;

function anIntent(number: number, more: Partial<Intent> = {}): Intent {
  return {
    idempotencyKey: `key-${number}`,
    object: 'ContainerService/default/web',
    action: 'patch-service',
    targetId: 'id-1',
    bodyDigest: 'digest',
    baseRevision: 1,
    baseState: 'running',
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: noon - (10 - number) * 60_000,
    finishedAt: noon - (10 - number) * 60_000 + 2000,
    outcome: 'applied',
    note: undefined,
    ...more,
  };
}

function aWeb(more: Partial<ObjectRecord> = {}): ObjectRecord {
  return anObject('ContainerService/default/web', {
    account: 'default/default',
    file: 'fleet/web.yaml',
    line: 3,
    manifest: { annotations: {}, labels: { app: 'shop' }, spec: {} },
    seen: { id: 'id-1', revision: 1, state: 'running', since: noon - hourMs },
    status: aStatus([condition('Ready', 'True', 'Running')], {
      id: 'id-1',
      state: 'running',
      endpoint: 'https://web.example',
      hourlyMicros: 1_940_000,
    }),
    ...more,
  });
}

async function described(
  records: readonly ObjectRecord[],
  intents: readonly Intent[] = [],
  ...args: string[]
) {
  const flags = await stateWith(records, intents);
  const names = args.length > 0 ? args : ['web'];
  const { code, stdout, stderr } = await run(['describe', ...flags, ...names], { clock });
  return { code, stdout, stderr, flags };
}

function section(text: string, head: string): string[] {
  const [, rest = ''] = text.split(`\n${head}:`);
  const lines = rest.split('\n');
  const end = lines.findIndex((line, at) => at > 0 && !line.startsWith('  '));
  return lines
    .slice(0, end === -1 ? undefined : end)
    .map((line) => line.trim())
    .filter(Boolean);
}

test('an object is identified, with its document, its state since when, endpoint and cost', async () => {
  const { code, stdout } = await described([aWeb()]);
  expect(code).toBe(0);
  const lines = stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' '));
  expect(lines).toEqual(
    expect.arrayContaining([
      'Name: web',
      'Kind: ContainerService',
      'Labels: app=shop',
      'Document: fleet/web.yaml:3',
      'Created: 2026-01-01T10:00:00Z (2 h ago)',
      'Account: default/default',
      'ID: id-1',
      'State: running (since 2026-01-01T11:00:00Z, 1h)',
      'Endpoint: https://web.example',
      'Cost: $1.94/h',
    ]),
  );
});

test('conditions have their age, drift what is wanted and what is there', async () => {
  const drift = [
    {
      path: 'image',
      kind: 'Changed' as const,
      desired: 'app:1',
      observed: 'app:2',
      since: '2026-01-01T11:30:00Z',
      cause: 'changed by ops@acme',
    },
  ];
  const status = aStatus(
    [condition('Drifted', 'True', 'ChangedElsewhere', 'changed by somebody else: image')],
    {
      drift,
    },
  );
  const { stdout } = await described([aWeb({ status })]);
  expect(section(stdout, 'Conditions')).toEqual([
    expect.stringMatching(/^TYPE +STATUS +REASON +AGE +MESSAGE$/),
    expect.stringMatching(/^Drifted +True +ChangedElsewhere +1h +changed by somebody else: image$/),
  ]);
  expect(section(stdout, 'Drift')).toEqual([
    'image: "app:2" → "app:1" (Changed, for 30m): changed by ops@acme',
  ]);
});

test('drift that can not be observed now is not called none', async () => {
  const status = aStatus([condition('Drifted', 'Unknown', 'InvalidSpec', 'not observed')]);
  const { stdout } = await described([aWeb({ status })]);
  expect(section(stdout, 'Drift')).toEqual(['InvalidSpec: not observed']);
  expect(section((await described([aWeb()])).stdout, 'Drift')).toEqual(['none']);
});

test('the journal shows the last mutations, newest first, with why, who asked, outcome and key', async () => {
  const why = {
    reason: 'SpecChanged',
    fields: ['image', 'env.A'],
    moreFields: 2,
    askedBy: { by: 'Rollout', name: 'llm', revision: 3 },
  } as const;
  // That of an earlier version records neither why nor who.
  const intents = [anIntent(1), anIntent(2, { outcome: 'refused', note: 'no capacity', why })];
  const { stdout } = await described([aWeb()], intents);
  expect(section(stdout, 'Mutations').slice(1)).toEqual([
    expect.stringMatching(
      /^8m +patch-service +refused +2 s +SpecChanged: image, env.A and 2 more +rollout of the fleet llm to revision 3 +key-2 +no capacity$/,
    ),
    expect.stringMatching(/^9m +patch-service +applied +2 s +- +- +key-1$/),
  ]);
});

describe('protection', () => {
  const task = anObject('ProtectedTask/default/epoch', {
    manifest: { annotations: {}, labels: {}, spec: { serviceRef: { name: 'web' } } },
    kind: { registration: { serviceId: 'id-1', activityId: 'activity-1', releaseKey: 'key' } },
    status: aStatus([condition('Ready', 'True', 'Held')], { state: 'held', activityId: 'activity-1' }),
  });
  const other = anObject('ProtectedTask/default/other', {
    manifest: { annotations: {}, labels: {}, spec: { serviceRef: { name: 'elsewhere' } } },
  });

  test('names the tasks of a service, with the age of their last heartbeat', async () => {
    const { flags } = await described([aWeb(), task, other]);
    const signs = new ManualClock(noon - 12_000);
    const beaten = { [task.key]: noon - 17_000 };
    giveSigns(flags.at(-1) ?? '', { command: 'run', pid: 1, host: 'here' }, signs, () => beaten);
    await signs.advance(10_000);
    const { stdout } = await run(['describe', ...flags, 'web'], { clock });
    expect(section(stdout, 'Protection').slice(1)).toEqual([
      expect.stringMatching(/^default\/epoch +held +17 s ago +activity-1 +Held$/),
    ]);
    const json = await run(['describe', ...flags, 'task/epoch', '--output', 'json'], { clock });
    expect(JSON.parse(json.stdout).items[0].protection).toMatchObject([
      { task: 'default/epoch', heartbeatAt: '2026-01-01T11:59:43Z', released: false, reason: 'Held' },
    ]);
  });

  test('says where no heartbeat is recorded', async () => {
    const { stdout } = await described([aWeb(), task]);
    expect(section(stdout, 'Protection')[1]).toContain('not recorded');
    expect(section((await described([aWeb()])).stdout, 'Protection')).toEqual(['none']);
  });
});

describe('what happens next', () => {
  test.each([
    [
      'a hold',
      [condition('Ready', 'False', 'InvalidSpec', 'bad'), condition('Stalled', 'True', 'InvalidSpec', 'bad')],
      {},
      [
        'InvalidSpec: bad',
        'turn: yours',
        expect.stringMatching(/^to do: /),
        'held until the document, what it refers to, or the account changes',
      ],
    ],
    [
      'a wait for stock',
      [condition('Reconciling', 'True', 'CapacityUnavailable', 'none left')],
      {
        refusal: {
          fingerprint: 'f',
          generation: 1,
          action: 'create-service',
          status: 409,
          code: 'no_capacity',
          message: '',
          at: noon,
          scarcity: {
            demand: 'd',
            failures: 1,
            retryAt: noon + 90_000,
            reason: 'CapacityUnavailable',
            message: '',
          },
        },
      },
      [
        'CapacityUnavailable: none left',
        "turn: the provider's",
        '2026-01-01T12:01:30Z (in 1 min): the request is sent again at the earliest',
      ],
    ],
    [
      'provisioning',
      [condition('Reconciling', 'True', 'Provisioning', 'provisioning')],
      { seen: { id: 'id-1', revision: 1, state: 'provisioning', since: noon - 600_000 } },
      ['2026-01-01T12:20:00Z (in 20 min): it counts as stalled (ProgressDeadlineExceeded)'],
    ],
    [
      'nothing',
      [condition('Ready', 'True', 'Running')],
      {},
      [
        'Running: The service runs, and has the endpoint that it should have.',
        'it is rechecked when its document or its account changes',
      ],
    ],
  ])('of %s', async (_, conditions, more, expected) => {
    const { stdout } = await described([
      aWeb({ status: aStatus(conditions), ...(more as Partial<ObjectRecord>) }),
    ]);
    expect(section(stdout, 'Next')).toEqual(expect.arrayContaining(expected));
  });

  test('begins with the manager, if none is at work', async () => {
    const { flags } = await described([aWeb()]);
    const end = giveSigns(flags.at(-1) ?? '', { command: 'run', pid: 1, host: 'here' }, clock);
    end();
    const { stdout } = await run(['describe', ...flags, 'web'], { clock });
    expect(section(stdout, 'Next')[0]).toMatch(/^no manager is running: .*no ProtectedTask gets heartbeats/);
  });

  test('of an object that nobody has observed yet', async () => {
    const { stdout } = await described([aWeb({ status: undefined })]);
    expect(section(stdout, 'Next')[0]).toBe('NotLookedAt: no manager has observed the object yet');
  });
});

test('for programs it has the object, its document, journal and what follows', async () => {
  const { stdout } = await described([aWeb()], [anIntent(1)], 'web', '--output', 'json');
  const { manager, items } = JSON.parse(stdout) as { manager: object; items: object[] };
  expect(manager).toMatchObject({ state: 'Unknown' });
  expect(items).toMatchObject([
    {
      object: { kind: 'ContainerService', metadata: { name: 'web' }, status: { id: 'id-1' } },
      document: { file: 'fleet/web.yaml', line: 3 },
      account: 'default/default',
      stateSince: '2026-01-01T11:00:00Z',
      mutations: [
        { action: 'patch-service', outcome: 'applied', at: '2026-01-01T11:51:00Z', idempotencyKey: 'key-1' },
      ],
      protection: [],
      next: { reason: 'Running', turn: null },
    },
  ]);
});

test('without a name there is nothing to describe; several are described one after the other', async () => {
  const data = anObject('StorageVolume/default/data');
  const none = await run(['describe', ...(await stateWith([aWeb()]))], { clock });
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('fleetkeeper status')]);
  const { stdout } = await described([aWeb(), data], [], 'web', 'volume/data');
  expect(stdout.match(/^Name: +\w+$/gm)).toHaveLength(2);
});

test('values that a provider or a document wrote do not control a terminal', async () => {
  const status = aStatus([condition('Ready', 'False', 'ServiceError', 'x\u001B]0;t\u0007y')], {
    endpoint: '\u001B[2J',
  });
  const { stdout } = await described([aWeb({ status })], [anIntent(1, { note: 'a\u001B[2Jb' })]);
  expect(stdout).not.toContain('\u001B');
});

test('an Account lists for what the provider had capacity, and for what it had none', async () => {
  const demand = {
    region: 'standard',
    geography: 'auto',
    gpuCount: 1,
    cpu: 8,
    memoryGb: 64,
    storageGb: 0,
  };
  const capacity = [
    {
      ...demand,
      state: 'Scarce',
      since: '2026-01-01T11:50:00Z',
      at: '2026-01-01T11:59:00Z',
      failures: 5,
      retryAt: '2026-01-01T12:01:40Z',
      status: 409,
      code: 'no_capacity',
      message: 'none left',
    },
    {
      ...demand,
      region: 'economy',
      state: 'Granted',
      since: '2026-01-01T11:00:00Z',
      at: '2026-01-01T11:00:00Z',
    },
  ];
  const account = anObject('Account/default/default', {
    status: aStatus([condition('Ready', 'True', 'Connected')], { capacity }),
  });
  const { stdout } = await described([account], [], 'Account/default');
  expect(section(stdout, 'Capacity')).toEqual([
    expect.stringMatching(/^STATE +FOR +AGE +DEMAND +REFUSALS +NEXT +MESSAGE/),
    expect.stringMatching(
      /^Scarce +10m +1m +1 GPU, 8 CPU, 64 GB of memory in standard\/auto +5 +in 1 min +409 no_capacity: none left/,
    ),
    expect.stringMatching(/^Granted +1h +1h +1 GPU, 8 CPU, 64 GB of memory in economy\/auto +- +- *$/),
  ]);
  expect((await described([aWeb()])).stdout).not.toContain('Capacity:');
});
