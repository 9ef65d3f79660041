import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { wire } from '../../../../src/api/index.ts';
import { registryView } from '../../../../src/kinds/image-registry/view.ts';
import { templateView, usersOfTemplate } from '../../../../src/kinds/service-template/view.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';
import { isSuspiciousRead } from '../../../../src/engine/plan/index.ts';
import type { AccountHandle, Accounts } from '../../../../src/engine/accounts.ts';
import { Fleet } from '../../../../src/engine/fleet/fleet.ts';
import { identifyRegistry } from '../../../../src/kinds/image-registry/identify.ts';
import { templateMarks } from '../../../../src/kinds/service-template/marks.ts';
import { identify } from '../../../../src/engine/observation/observe.ts';
import { isBuiltIn, listsOf } from '../../../../src/engine/fleet/references.ts';
import { apiVersion, managedKinds, objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord, type ObjectRecord } from '../../../../src/state/index.ts';
import { desiredOf } from '../../../support/desired.ts';
import { aRecord, anOwner, owner } from '../../../support/plan.ts';
import {
  aRegistry,
  aTemplate,
  mark,
  registryId,
  registryKey,
  templateId,
  templateKey,
} from '../../../support/shared-kinds.ts';

const otherId = '55555555-5555-4555-8555-555555555555';
const appKey: ObjectKey = 'ContainerService/default/app';
const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };

type Written = readonly [kind: string, name: string, spec: object, namespace?: string];

function documentsOf(written: readonly Written[]): string {
  return written
    .map(([kind, name, spec, namespace = 'default']) =>
      stringify({ apiVersion, kind, metadata: { name, namespace }, spec }),
    )
    .join('---\n');
}

const app = (spec: object): Written => ['ContainerService', 'app', { region: 'standard', ...spec }];
const pytorch = (spec: object = {}): Written => [
  'ServiceTemplate',
  'pytorch',
  { image: 'ghcr.io/acme/pytorch:2', ...spec },
];

/** A fleet of these documents, all of them admitted, and what is remembered of some. */
function fleetOf(
  written: readonly Written[],
  more: Readonly<Record<string, Partial<ObjectRecord>>> = {},
): Fleet {
  const snapshot = desiredOf({ 'fleet.yaml': documentsOf(written) });
  expect(snapshot.problems).toEqual([]);
  const records = [...snapshot.objects.keys()].map((key) => aRecord(key, more[key]));
  const store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, records, []);
  return new Fleet(
    store,
    owner,
    snapshot,
    () => false,
    () => 0,
  );
}

const read = <Item extends { id: string }>(...items: Item[]) => ({
  kind: 'read' as const,
  items: new Map(items.map((item) => [item.id, item])),
});

function shows(lists: Partial<Pick<AccountSnapshot, 'templates' | 'registries'>> = {}): AccountSnapshot {
  return { templates: { kind: 'not-read' }, registries: { kind: 'not-read' }, ...lists } as AccountSnapshot;
}

const builtIn = aTemplate({
  id: 'pt',
  name: 'PyTorch 2.3 (CUDA)',
  builtIn: true,
  image: 'docker.io/pytorch:2.3',
});

function viewOf(
  fleet: Fleet,
  snapshot: AccountSnapshot,
  catalog?: wire.Catalog,
  mode: 'manage' | 'preview' = 'manage',
) {
  const handle = { catalog: { current: catalog } } as AccountHandle;
  const record = fleet.store.record(appKey);
  if (!record) throw new Error('there is no app');
  const { spec } = fleet.planned(record, 'ContainerService');
  return templateView(fleet, { key: appKey, spec, specPath: ['spec'] }, handle, snapshot, mode);
}

describe('the template of a service', () => {
  const bare = app({ templateRef: { name: 'pytorch' } });

  test('is the object of that name, as its document says, before it is there', () => {
    const view = viewOf(fleetOf([bare, pytorch({ resources, requiredEnvironment: ['A'] })]), shows());
    expect(view).toEqual({
      kind: 'usable',
      values: { image: 'ghcr.io/acme/pytorch:2', resources, requiredEnvironment: ['A'] },
    });
  });

  test('gives what the API has filled in for what the document leaves out', () => {
    const known = { [templateKey]: { externalId: templateId } };
    const snapshot = shows({ templates: read(aTemplate({ httpPort: 80, requiredEnvironment: ['B'] })) });
    expect(viewOf(fleetOf([bare, pytorch()], known), snapshot)).toMatchObject({
      values: { resources: { gpuCount: 0, cpu: 1, memoryGb: 2 }, httpPort: 80, requiredEnvironment: ['B'] },
    });
    expect(viewOf(fleetOf([bare, pytorch()]), shows()).kind).toBe('not-ready');
    const own = app({ templateRef: { name: 'pytorch' }, resources });
    expect(viewOf(fleetOf([own, pytorch()]), shows()).kind).toBe('usable');
  });

  test('gives no more what its document gave, and gives no more, once a plan is done', () => {
    const digest = (value: unknown) => owner.digestKey.digest(value);
    const { resources: shown } = aTemplate();
    const applied = { resources: digest(shown), httpPort: digest(8080), command: digest(['run']) };
    const known = { [templateKey]: { externalId: templateId, applied } };
    // Somebody else's port stays.
    const snapshot = shows({ templates: read(aTemplate({ httpPort: 80, command: null })) });
    const fleet = fleetOf([bare, pytorch()], known);
    const values = { resources: shown, httpPort: 80 };
    expect(viewOf(fleet, snapshot, undefined, 'preview')).toMatchObject({ values, takenOut: ['resources'] });
    expect(viewOf(fleet, snapshot)).toMatchObject({ values });
    expect(viewOf(fleet, snapshot)).not.toHaveProperty('takenOut');
  });

  // COVERAGE 67
  test('is not taken from another account or another namespace', () => {
    const account = { accountRef: { name: 'other' } };
    expect(viewOf(fleetOf([bare, pytorch({ ...account, resources })]), shows())).toMatchObject({
      reason: 'ReferenceNotFound',
      message: expect.stringContaining('belongs to another account (other)'),
    });
    const [kind, name, spec] = pytorch({ resources });
    const elsewhere = fleetOf([bare, [kind, name, spec, 'elsewhere']]);
    expect(viewOf(elsewhere, shows({ templates: read() }))).toMatchObject({ reason: 'ReferenceNotFound' });
  });

  test.each(['pytorch-2.3-cuda', 'pt'])('may be built in, written as %s', (name) => {
    const fleet = fleetOf([app({ templateRef: { name } })]);
    expect(viewOf(fleet, shows({ templates: read(aTemplate(), builtIn) }))).toMatchObject({
      kind: 'usable',
      values: { image: 'docker.io/pytorch:2.3' },
    });
  });

  test("is never somebody's template of the same name", () => {
    const snapshot = shows({ templates: read(aTemplate()) });
    expect(viewOf(fleetOf([bare]), snapshot)).toMatchObject({ kind: 'problem' });
  });

  test('that is nowhere is told with what there is', () => {
    const fleet = fleetOf([app({ templateRef: { name: 'nowhere' } }), pytorch()]);
    const view = viewOf(fleet, shows({ templates: read(builtIn) }));
    expect(view).toMatchObject({ reason: 'ReferenceNotFound', path: ['spec', 'templateRef', 'name'] });
    expect('message' in view && view.message).toContain(
      'there are pytorch (ServiceTemplate), pytorch-2.3-cuda (built-in)',
    );
  });

  test('is waited for while the list has not been read', () => {
    expect(viewOf(fleetOf([bare]), shows()).kind).toBe('not-ready');
    const failed = {
      kind: 'failed',
      message: 'no list',
      outcome: { kind: 'unknown', reason: 'reset' },
      failures: 1,
      last: new Map(),
    } as const;
    expect(viewOf(fleetOf([bare]), shows({ templates: failed }))).toEqual({
      kind: 'not-ready',
      message: 'no list',
    });
  });

  // COVERAGE 20
  test('is built in when the API says so or, if it does not, when the catalog has it', () => {
    const catalog = { templates: [{ id: 'pt' }] } as unknown as wire.Catalog;
    const silent = { ...builtIn, builtIn: undefined };
    expect([isBuiltIn(builtIn, undefined), isBuiltIn(silent, undefined), isBuiltIn(silent, catalog)]).toEqual(
      [true, false, true],
    );
    expect(isBuiltIn({ ...silent, builtIn: false }, catalog)).toBe(false);
  });

  test('knows its services, and what they lack', () => {
    const user = (name: string, env: object[] | undefined): Written => [
      'ContainerService',
      name,
      { region: 'standard', templateRef: { name: 'pytorch' }, ...(env ? { env } : {}) },
    ];
    const fleet = fleetOf([
      pytorch(),
      user('a', [{ name: 'A', value: '1' }]),
      user('b', []),
      user('c', undefined),
      ['ContainerService', 'd', { region: 'standard', templateRef: { name: 'another' } }],
    ]);
    expect(usersOfTemplate(fleet, aRecord(templateKey), ['A', 'B'])).toEqual([
      { name: 'a', missing: ['B'] },
      { name: 'b', missing: ['A', 'B'] },
      { name: 'c', missing: ['A', 'B'] },
    ]);
    // One that exists has an environment of its own.
    const known = { 'ContainerService/default/c': { externalId: '019b0000-0000-7000-8000-000000000009' } };
    const existing = fleetOf([pytorch(), user('c', undefined)], known);
    expect(usersOfTemplate(existing, aRecord(templateKey), ['A'])).toEqual([{ name: 'c', missing: [] }]);
  });
});

describe('the registry of a service', () => {
  const ghcr = (spec: object = {}): Written => [
    'ImageRegistry',
    'ghcr',
    { repository: 'GHCR.io/acme/trainer', credentialsSecretRef: { name: 'ghcr' }, ...spec },
  ];
  const image = 'ghcr.io/acme/trainer:1.4';
  const viewed = (fleet: Fleet, snapshot: AccountSnapshot, of = image) =>
    registryView(fleet, aRecord(appKey), of, snapshot);
  const service = app({ image, resources });

  // COVERAGE 68
  test('is that of the exact repository of its image, in the same account', () => {
    const snapshot = shows({ registries: read() });
    expect(viewed(fleetOf([service, ghcr()]), snapshot)).toEqual({ kind: 'not-ready', name: 'ghcr' });
    expect(viewed(fleetOf([service, ghcr()]), snapshot, 'ghcr.io/acme/trainer-two:1')).toEqual({
      kind: 'none',
    });
    expect(viewed(fleetOf([service]), snapshot)).toEqual({ kind: 'none' });
    expect(viewed(fleetOf([service, ghcr({ accountRef: { name: 'other' } })]), snapshot).kind).toBe('none');
  });

  test('is there once it has been made, or the account has such an entry, whoever made it', () => {
    const made = fleetOf([service, ghcr()], { [registryKey]: { externalId: registryId } });
    expect(viewed(made, shows())).toEqual({ kind: 'usable', name: 'ghcr' });
    expect(viewed(fleetOf([service, ghcr()]), shows({ registries: read(aRegistry()) })).kind).toBe('usable');
  });
});

describe('which lists are read', () => {
  const accounts = (name: string): Accounts => ({
    resolve: (namespace, ref) => ({
      kind: 'usable',
      handle: { name: `${namespace}/${ref}` } as AccountHandle,
    }),
    handles: () => [{ name } as AccountHandle],
    handle: () => ({ name }) as AccountHandle,
  });
  const lists = (fleet: Fleet, name = 'default/default') =>
    listsOf(fleet, accounts(name), { name } as AccountHandle);
  const none = { templates: false, registries: false };
  /** One that has this record, and no document. */
  const fleetWithout = (record: ObjectRecord) =>
    new Fleet(
      new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [record], []),
      owner,
      desiredOf({}),
      () => false,
      () => 0,
    );

  test('none for a fleet without use for one', () => {
    expect(lists(fleetOf([app({ image: 'a:1', resources })]))).toEqual(none);
  });

  test('only that of the account which has such objects, or services with a template', () => {
    const registry: Written = [
      'ImageRegistry',
      'ghcr',
      { repository: 'ghcr.io/a/b', credentialsSecretRef: { name: 's' }, accountRef: { name: 'other' } },
    ];
    const fleet = fleetOf([app({ templateRef: { name: 'x' } }), registry]);
    expect(lists(fleet)).toEqual({ templates: true, registries: false });
    expect(lists(fleet, 'default/other')).toEqual({ templates: false, registries: true });
    expect(lists(fleet, 'default/third')).toEqual(none);
  });

  test('of the account that all namespaces share, of those that have no other one', () => {
    const shared = { name: 'default/default', isShared: true } as AccountHandle;
    const resolving: Accounts = {
      ...accounts('default/default'),
      resolve: (_namespace, name) =>
        name === 'default'
          ? { kind: 'usable', handle: shared }
          : { kind: 'problem', reason: 'AccountNotFound', message: '' },
    };
    const [kind, name, spec] = pytorch();
    const elsewhere = fleetOf([[kind, name, spec, 'elsewhere']]);
    expect(listsOf(elsewhere, resolving, shared)).toEqual({ templates: true, registries: false });
    const other = { ...spec, accountRef: { name: 'other' } };
    expect(listsOf(fleetOf([[kind, name, other, 'elsewhere']]), resolving, shared)).toEqual(none);
  });

  test('also for what has left the source and is still to be deleted', () => {
    const before = fleetOf([pytorch()]);
    const record = before.store.record(templateKey);
    if (!record) throw new Error('there is no template');
    const manifest = { annotations: {}, labels: {}, spec: { accountRef: { name: 'default' } } };
    const left = { ...record, deletionRequestedAt: 1, manifest };
    expect(lists(fleetWithout(left))).toEqual({ templates: true, registries: false });
  });

  test.each(managedKinds)('not for a %s of which no document was ever read', (kind) => {
    const record = newRecord(objectKey(kind, 'default', 'left'), 'uid');
    expect(lists(fleetWithout(record))).toEqual(none);
  });
});

describe('which template is ours', () => {
  const look = (items: readonly wire.Template[], record: Partial<ObjectRecord> = {}) => {
    const identity = {
      record: aRecord(templateKey, record),
      owner,
      adoptId: undefined,
      adoptFrom: undefined,
      takenBy: undefined,
      awaits: false,
      holderOf: () => undefined,
      others: () => [],
      needsKey: false,
      inCluster: false,
    };
    return identify(identity, new Map(items.map((item) => [item.id, item])), templateMarks).observation;
  };
  const theirs = mark.replace(owner.id, anOwner('another').id);

  test('the one with our mark in its description, and never one of the same name', () => {
    expect(look([aTemplate({ id: otherId, description: '' }), aTemplate()])).toMatchObject({
      value: { id: templateId },
    });
    expect(look([aTemplate({ description: 'no mark' })])).toMatchObject({ kind: 'absent' });
    expect(look([aTemplate({ description: theirs })], { externalId: templateId })).toMatchObject({
      reason: 'OwnedByAnother',
    });
  });
});

// COVERAGE 4
describe('which registry is ours', () => {
  const repository = 'ghcr.io/acme/trainer';
  const look = (
    items: readonly wire.Registry[],
    {
      isAwaited = false,
      isLost = false,
      stateLost = false,
      adoptId,
      holder,
      record = {},
    }: {
      isAwaited?: boolean;
      isLost?: boolean;
      stateLost?: boolean;
      adoptId?: string;
      holder?: ObjectKey;
      record?: Partial<ObjectRecord>;
    } = {},
  ) => {
    const identity = {
      record: aRecord(registryKey, record),
      owner,
      adoptId,
      adoptFrom: undefined,
      takenBy: undefined,
      awaits: false,
      holderOf: () => undefined,
      others: () => [],
      needsKey: false,
      inCluster: false,
    };
    const map = new Map(items.map((item) => [item.id, item]));
    const { observation, found } = identifyRegistry(identity, map, repository, {
      isLost,
      isAwaited,
      stateLost,
      holderOf: () => holder,
    });
    return observation.kind === 'conflict'
      ? observation.reason
      : `${observation.kind}${found ? ' found' : ''}`;
  };

  test('the recorded one', () => {
    expect(look([aRegistry()], { record: { externalId: registryId } })).toBe('present');
  });

  test('the one that appears while a creation of ours waits for its outcome', () => {
    expect(look([aRegistry()], { isAwaited: true })).toBe('present found');
    expect(look([], { isAwaited: true })).toBe('absent');
  });

  test('not one that is there for the repository already, unless it is adopted', () => {
    expect(look([aRegistry({ repository: 'GHCR.io/acme/trainer' })])).toBe('AlreadyExists');
    expect(look([aRegistry()], { adoptId: registryId })).toBe('present found');
    expect(look([aRegistry()], { adoptId: otherId })).toBe('AdoptNotFound');
    expect(look([aRegistry()], { record: { externalId: otherId } })).toBe('AlreadyExists');
  });

  test('none after its status was wiped: a person says whose it is', () => {
    expect(look([aRegistry()], { isLost: true })).toBe('OwnershipUnproven');
    expect(look([], { isLost: true })).toBe('absent');
  });

  test('the one for its repository, after the state that made it was lost', () => {
    expect(look([aRegistry()], { stateLost: true })).toBe('present found');
  });

  test('not one that another document of ours stands for', () => {
    const holder: ObjectKey = 'ImageRegistry/default/other';
    expect(look([aRegistry()], { holder, isAwaited: true })).toBe('AlreadyExists');
  });

  test('an entry for another repository is none of its business', () => {
    expect(
      look([
        aRegistry({ repository: 'ghcr.io/acme/web' }),
        aRegistry({ id: otherId, repository: undefined }),
      ]),
    ).toBe('absent');
  });
});

const seenBefore = (externalId: string) => ({
  externalId,
  seen: { id: externalId, revision: 1, state: undefined, since: 0 },
});

test('an account read that lacks our templates is not believed, and one without the list says nothing of them', () => {
  const names = ['a', 'b', 'c'];
  const more = Object.fromEntries(
    names.map((name, index) => [
      `ServiceTemplate/default/${name}`,
      seenBefore(`${templateId.slice(0, -1)}${index}`),
    ]),
  );
  const fleet = fleetOf(
    names.map((name) => ['ServiceTemplate', name, { image: 'a:1' }] as const),
    more,
  );
  const handle = {
    name: 'default/default',
    spec: {},
    identity: {},
    funds: {},
    informer: { balanceMicros: 1 },
  } as AccountHandle;
  const empty = { services: new Map(), volumes: new Map(), balanceMicros: 1, currency: 'USD' };
  expect(isSuspiciousRead(3, 3)).toBe(true);
  expect(fleet.gates(handle, { ...shows({ templates: read() }), ...empty }).deletion).toMatchObject({
    reason: 'MassChangeBrake',
  });
  expect(fleet.gates(handle, { ...shows(), ...empty }).deletion).toBeUndefined();
});
