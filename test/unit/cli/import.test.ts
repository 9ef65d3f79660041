import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { wire } from '../../../src/api/index.ts';
import { planImport, type ImportScope } from '../../../src/cli/import/plan.ts';
import { surveyor } from '../../../src/shown/survey.ts';
import type { AccountContents } from '../../../src/engine/index.ts';
import { digestKey } from '../../../src/base/index.ts';
import { parseFile, type DesiredObject } from '../../../src/desired/index.ts';
import { beaconName, ownerId, templateMark, volumeMark } from '../../../src/engine/plan/index.ts';
import {
  documents,
  objectKey,
  type AccountSpec,
  type ContainerServiceSpec,
} from '../../../src/resources/index.ts';

const id = (digit: number) => `00000000-0000-4000-8000-${String(digit).padStart(12, '0')}`;
const foreign = { id: ownerId('stranger'), digestKey: digestKey(Buffer.alloc(32, 1)) };

const service: wire.Service = {
  id: id(1),
  name: 'Web Front!',
  state: 'running',
  revision: 3,
  region: 'standard',
  geography: 'europe',
  image: 'ghcr.io/acme/web:1',
  command: ['serve', '--all'],
  resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
  httpPort: 8080,
  environmentNames: ['MODE', 'TOKEN'],
  volumeId: null,
  sleepAfterMinutes: 30,
};
const volume: wire.Volume = {
  id: id(2),
  name: 'data',
  mode: 'independent',
  status: 'ready',
  region: 'standard',
  sizeGb: 20,
  requestedSizeGb: 40,
};

function accountSpec(spec: object): AccountSpec {
  const document = { apiVersion: 'fleetkeeper.dev/v1alpha1', kind: 'Account', metadata: { name: 'a' }, spec };
  return documents.Account.parse(document).spec;
}

function imported(
  contents: Partial<AccountContents>,
  scope: Partial<ImportScope> = {},
  account: { namespace?: string; name?: string; spec?: AccountSpec } = {},
) {
  const all = { services: [], volumes: [], templates: [], registries: [], ...contents };
  const holdings = surveyor(undefined)(all);
  const spec = accountSpec({ url: 'https://api.example.com' });
  return planImport(
    [{ account: { namespace: 'default', name: 'default', spec, ...account }, contents: all, holdings }],
    {
      all: false,
      existing: undefined,
      ...scope,
    },
  );
}

/** The objects as a folder with these files would have them; fails when one of them has a problem. */
function objects(plan: ReturnType<typeof imported>): Map<string, DesiredObject> {
  const read = plan.documents.map(({ file, text }) => parseFile(file, text));
  expect(read.flatMap(({ problems }) => problems)).toEqual([]);
  const found = read.flatMap(({ documents: list }) => list).map((one) => one.is === 'object' && one.object);
  return new Map(found.filter((one) => one !== false).map((one) => [`${one.kind}/${one.name}`, one]));
}

function only(contents: Partial<AccountContents>, scope?: Partial<ImportScope>) {
  const plan = imported(contents, scope);
  const written = plan.documents.find(({ kind }) => kind !== 'Account');
  const object = [...objects(plan).values()].find(({ kind }) => kind !== 'Account');
  return { text: written?.text ?? '', file: written?.file, gaps: written?.gaps ?? [], object };
}

describe('an imported service', () => {
  test('is written as it is observed, and adopts', () => {
    const { object, file } = only({ services: [service] });
    expect(file).toBe('services/web-front.yaml');
    expect(object).toMatchObject({
      name: 'web-front',
      spec: {
        serviceName: 'Web Front!',
        region: 'standard',
        image: 'ghcr.io/acme/web:1',
        command: ['serve', '--all'],
        resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
        httpPort: 8080,
        sleepAfterMinutes: 30,
        desiredState: 'Running',
        deletionPolicy: 'Retain',
        adopt: { id: id(1) },
      },
    });
  });

  test('leaves its variables as a gap that names them', () => {
    const { object, text, gaps } = only({ services: [service] });
    expect(object?.spec).not.toHaveProperty('env');
    expect(gaps.map(({ field }) => field)).toEqual(['geography', 'env']);
    expect(text).toContain('#   - {name: "MODE", value: FILL-IN}\n  #   - {name: "TOKEN", value: FILL-IN}');
  });

  test('can be completed by filling in its gaps', () => {
    const { text } = only({ services: [service] });
    const filled = text.replaceAll(/^ {2}# (?!GAP)/gm, '  ').replaceAll('FILL-IN', '"value"');
    const { documents: list, problems } = parseFile('web.yaml', filled);
    expect(problems).toEqual([]);
    expect(list[0]).toMatchObject({
      object: { spec: { geography: 'europe', env: [{ name: 'MODE', value: 'value' }, { name: 'TOKEN' }] } },
    });
  });

  test.each([
    ['running', 30, 'Running', 30],
    ['paused', null, 'Stopped', 0],
    ['sleeping', 30, 'Running', 30],
    ['sleeping', null, 'Running', undefined],
    ['defragmenting', undefined, 'Running', undefined],
  ])('that is %s with the sleep policy %s is %s, %s', (state, policy, desiredState, sleepAfterMinutes) => {
    const { object } = only({ services: [{ ...service, state, sleepAfterMinutes: policy }] });
    const spec = object?.spec as ContainerServiceSpec | undefined;
    expect([spec?.desiredState, spec?.sleepAfterMinutes]).toEqual([desiredState, sleepAfterMinutes]);
  });

  test.each([
    ['running', 'stop', 'Stopped', true],
    ['paused', 'provision', 'Running', true],
    ['running', 'sleep', 'Running', true],
    ['running', { kind: 'new' }, 'Running', true],
    ['defragmenting', undefined, 'Running', true],
    ['provisioning', 'provision', 'Running', false],
    ['running', null, 'Running', false],
    ['paused', undefined, 'Stopped', false],
  ])(
    'that is %s while the operation %j is under way is to be %s, which is a gap: %s',
    (state, operation, desiredState, isGap) => {
      const { object, gaps, text } = only({ services: [{ ...service, state, operation }] });
      expect((object?.spec as ContainerServiceSpec | undefined)?.desiredState).toBe(desiredState);
      expect(gaps.some(({ field }) => field === 'desiredState')).toBe(isGap);
      expect(text.includes('# GAP desiredState: ')).toBe(isGap);
    },
  );

  test('refers to its volume where that is imported, too', () => {
    const plan = imported({
      services: [{ ...service, volumeId: id(2) }],
      volumes: [{ ...volume, serviceId: id(1) }],
    });
    expect(objects(plan).get('ContainerService/web-front')?.spec).toMatchObject({
      storage: { volumeRef: { name: 'data' } },
    });
  });

  test('names its volume by id where somebody else manages that', () => {
    const theirs = { ...volume, name: `data${volumeMark(foreign, id(9))}` };
    const plan = imported({ services: [{ ...service, volumeId: id(2) }], volumes: [theirs] });
    expect([...objects(plan).keys()]).toEqual(['Account/default', 'ContainerService/web-front']);
    expect(objects(plan).get('ContainerService/web-front')?.spec).toMatchObject({
      storage: { volumeId: id(2) },
    });
  });

  test('has storage of its own by its size, which is no object', () => {
    const own = { ...volume, mode: 'service', serviceId: id(1), requestedSizeGb: 20 };
    const plan = imported({ services: [{ ...service, volumeId: id(2) }], volumes: [own] });
    expect([...objects(plan).keys()]).toEqual(['Account/default', 'ContainerService/web-front']);
    expect(objects(plan).get('ContainerService/web-front')?.spec).toMatchObject({
      storage: { volumeGb: 20 },
    });
  });

  test('of which the API shows too little is a comment that says what it lacks', () => {
    const { file, text, object, gaps } = only({ services: [{ id: id(1), state: 'running' }] });
    expect(object).toBeUndefined();
    expect(file).toBe('services/service-00000000.yaml');
    expect(gaps.map(({ field }) => field)).toEqual(expect.arrayContaining(['region', 'image', 'resources']));
    expect(text.split('\n').every((line) => line === '' || line.startsWith('#'))).toBe(true);
  });

  test('keeps what the schema does not take as a gap', () => {
    const { object, text } = only({ services: [{ ...service, sleepAfterMinutes: 100_000 }] });
    expect(object?.spec).not.toHaveProperty('sleepAfterMinutes');
    expect(text).toContain('GAP sleepAfterMinutes: the API shows 100000');
  });

  test('that others manage is left out, and said so: how much, whose, and how to get it', () => {
    const other = { ...foreign, id: ownerId('another') };
    const of = (digit: number, owner: typeof foreign) =>
      Object.assign({}, service, { id: id(digit), environmentNames: [beaconName(owner, id(9), undefined)] });
    const contents = {
      services: [of(1, foreign), of(2, foreign), of(3, other)],
      volumes: [{ ...volume, id: id(7), name: `data${volumeMark(foreign, id(9))}` }],
    };
    // The mark of a volume is short, and names its owner in a form of its own.
    const reported = imported(contents).left.map((line) =>
      line.replace(
        /, which manages them, or left them with `deletionPolicy: Retain`.*(import with --all).*/,
        ': $1',
      ),
    );
    expect(reported).toHaveLength(3);
    for (const line of [
      expect.stringMatching(
        /^1 object with the mark of the owner \w+ \(1 StorageVolume\): import with --all$/,
      ),
      `1 object with the mark of the owner ${other.id} (1 ContainerService): import with --all`,
      `2 objects with the mark of the owner ${foreign.id} (2 ContainerService): import with --all`,
    ]) {
      expect(reported).toContainEqual(line);
    }
    expect(imported(contents, { all: true }).left).toEqual([]);
  });

  test('that is being deleted is left out', () => {
    const plan = imported({ services: [{ ...service, state: 'deleting' }] });
    expect(objects(plan).size).toBe(1);
    expect(plan.left).toEqual(['ContainerService Web Front!: it is being deleted']);
  });
});

describe('what another owner manages', () => {
  const theirs = { ...service, environmentNames: ['MODE', beaconName(foreign, id(9), undefined)] };

  test('is imported only on request', () => {
    expect(objects(imported({ services: [theirs] })).size).toBe(1);
  });

  test('overrides the mark, and says whose it is', () => {
    const { object, text } = only({ services: [theirs] }, { all: true });
    expect(object?.annotations).toEqual({ 'fleetkeeper.dev/adopt-from': foreign.id });
    expect(text).toContain(`carries the mark of the owner ${foreign.id}`);
    expect(text).not.toContain('FLEETKEEPER_BEACON_');
  });

  test('leaves the name of a volume to that owner', () => {
    const { object } = only(
      { volumes: [{ ...volume, name: `data${volumeMark(foreign, id(9))}` }] },
      { all: true },
    );
    expect(object).toMatchObject({ name: 'data', spec: { sizeGb: 40 } });
    expect(object?.spec).not.toHaveProperty('volumeName');
  });

  test('has a description without the mark', () => {
    const template = {
      id: id(3),
      name: 'base',
      image: 'a/b:1',
      description: `mine\n${templateMark(foreign, id(9))}`,
    };
    expect(only({ templates: [template] }, { all: true }).object?.spec).toMatchObject({
      description: 'mine',
    });
  });
});

describe('an imported registry', () => {
  test('leaves its credentials as a gap', () => {
    const { object, gaps } = only({ registries: [{ id: id(5), repository: 'ghcr.io/acme/web' }] });
    expect(object).toMatchObject({
      name: 'acme-web',
      spec: { repository: 'ghcr.io/acme/web', adopt: { id: id(5) } },
    });
    expect(gaps.map(({ field }) => field)).toEqual(['credentialsSecretRef']);
  });

  test('can be read again where the API shows its repository in upper case', () => {
    const { object } = only({ registries: [{ id: id(5), repository: 'GHCR.IO/ACME/WEB' }] });
    expect(object).toMatchObject({ name: 'acme-web', spec: { repository: 'ghcr.io/acme/web' } });
  });
});

describe('the Account of an import', () => {
  const spec = accountSpec({
    url: 'https://api.example.com',
    pollSeconds: 3,
    credentialsSecretRef: { name: 'compute', key: 'apiKey' },
  });

  test('has no secret, and names the one that it had', () => {
    const plan = imported({}, {}, { spec });
    expect(objects(plan).get('Account/default')?.spec).not.toHaveProperty('credentialsSecretRef');
    expect(plan.documents[0]?.text).toContain('# credentialsSecretRef: {name: compute, key: apiKey}');
    expect(plan.documents[0]?.text).toContain('pollSeconds: 3');
    expect(plan.documents[0]?.text).not.toContain('requests');
  });

  test('is named by what lives in it, in its namespace', () => {
    const plan = imported({ services: [service] }, {}, { namespace: 'team', name: 'second', spec });
    expect(plan.documents.map(({ file }) => file)).toEqual([
      'team/accounts/second.yaml',
      'team/services/web-front.yaml',
    ]);
    expect(objects(plan).get('ContainerService/web-front')).toMatchObject({
      namespace: 'team',
      spec: { accountRef: { name: 'second' } },
    });
  });

  test('is not written into the folder that has it, and names that are taken there are not given again', () => {
    const existing = new Set([
      objectKey('Account', 'default', 'default'),
      objectKey('ContainerService', 'default', 'web-front'),
    ]);
    const plan = imported({ services: [service] }, { existing });
    expect(plan.documents.map(({ file }) => file)).toEqual(['services/web-front-00000000.yaml']);
  });
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    'yes',
    '0o7',
    '1e3',
    '- a',
    '# x',
    'a: b',
    '{{',
    "it's",
    '"',
    '~',
    '2026-11-21',
    'Ünïcode',
    '\u0085',
  ),
);
const anyService: fc.Arbitrary<wire.Service> = fc.record(
  {
    id: fc.uuid(),
    name: text,
    state: fc.constantFrom('running', 'paused', 'sleeping', 'error', 'provisioning', 'unheard-of'),
    region: text,
    geography: fc.option(text),
    image: text,
    command: fc.option(fc.array(text, { maxLength: 4 })),
    resources: fc.record({ gpuCount: fc.nat(8), cpu: fc.nat(8), memoryGb: fc.double({ noNaN: true }) }),
    httpPort: fc.option(fc.integer({ min: -1, max: 70_000 })),
    environmentNames: fc.option(fc.array(text, { maxLength: 4 })),
    sleepAfterMinutes: fc.option(fc.integer({ min: 0, max: 2000 })),
    error: fc.option(text),
  },
  { requiredKeys: ['id'] },
);

test('whatever the API shows, every file of an import can be read, and no name is given twice', () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyService, { selector: ({ id: one }) => one, maxLength: 6 }), (services) => {
      const plan = imported({ services });
      const usable = plan.documents.filter((document) => document.usable);
      expect(objects(plan).size).toBe(usable.length);
      expect(new Set(plan.documents.map(({ file }) => file)).size).toBe(plan.documents.length);
      for (const { spec } of objects(plan).values()) {
        if (!('adopt' in spec)) continue;
        const shown = services.find((one) => one.id === spec.adopt?.id);
        expect(spec).toMatchObject({ region: shown?.region, image: shown?.image });
      }
    }),
  );
});
