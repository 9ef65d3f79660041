import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  allowedBy,
  callsOf,
  describeCall,
  grantsOf,
  neededRules,
  unusedRights,
} from '../../support/manifests/access.ts';
import { operatorCalls, pageCalls, type Operator } from '../../support/manifests/operator-calls.ts';
import { containerOf } from '../../support/manifests/pod-security.ts';
import {
  kustomized,
  manifestsFolder,
  ofKind,
  plainFiles,
  whatKustomizeNeeds,
  type Manifest,
} from '../../support/manifests/render.ts';

const cluster: Operator = {
  namespace: 'fleetkeeper-system',
  watched: undefined,
  readsClusterIdentity: true,
  leases: ['fleetkeeper'],
};
const overlays: Readonly<Record<string, Operator>> = {
  '.': cluster,
  'overlays/monitoring': cluster,
  'overlays/sharded': {
    ...cluster,
    leases: ['fleetkeeper-0-of-3', 'fleetkeeper-1-of-3', 'fleetkeeper-2-of-3'],
  },
  'overlays/sharded-by-namespace': {
    ...cluster,
    leases: ['fleetkeeper-ns-0-of-3', 'fleetkeeper-ns-1-of-3', 'fleetkeeper-ns-2-of-3'],
  },
  'overlays/single-namespace': {
    ...cluster,
    namespace: 'fleet',
    watched: 'fleet',
    readsClusterIdentity: false,
  },
};

const need = whatKustomizeNeeds();
if (need) process.stderr.write(`the rights that overlays give are NOT tested here: ${need}\n`);

function expectLeast(manifests: readonly Manifest[], operator: Operator): void {
  const grants = grantsOf(manifests, { namespace: operator.namespace, name: 'fleetkeeper' });
  const calls = operatorCalls(operator);
  expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
  expect(unusedRights(grants, calls)).toEqual([]);
}

/** As kustomize does it to what names no namespace. */
function inNamespace(manifests: readonly Manifest[], namespace: string): Manifest[] {
  return manifests.map((manifest) =>
    Object.assign({}, manifest, { metadata: { namespace, ...manifest.metadata } }),
  );
}

describe('the ServiceAccount of the operator', () => {
  test('may do what the operator does, and nothing else', () => {
    expectLeast(inNamespace(plainFiles(), cluster.namespace), cluster);
  });

  test.skipIf(need).each(Object.entries(overlays))(
    'has in %s the rights that it needs',
    (folder, operator) => {
      expectLeast(kustomized(folder), operator);
    },
  );

  test('lists and watches no Secret and no ConfigMap, and reads none beyond its name', () => {
    const grants = grantsOf(plainFiles(), { namespace: cluster.namespace, name: 'fleetkeeper' });
    const verbsOn = (resource: string) => {
      const rules = grants.filter(({ rule }) => rule.resources.includes(resource));
      return [...new Set(rules.flatMap(({ rule }) => rule.verbs))].sort();
    };
    expect(verbsOn('secrets')).toEqual(['create', 'get']);
    expect(verbsOn('configmaps')).toEqual(['create', 'delete', 'get', 'patch']);
  });

  test.skipIf(need)('of one namespace has no rights outside of it', () => {
    const kinds = kustomized('overlays/single-namespace').map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind.startsWith('Cluster') || kind === 'Namespace')).toEqual([]);
  });
});

describe('the ServiceAccount of the page', () => {
  const account = { namespace: cluster.namespace, name: 'fleetkeeper-page' };

  test.each([
    ['components/page', false],
    ['components/page-kubernetes-auth', true],
  ])('may do with %s what the page does, and nothing else', (component, asksWho) => {
    const files = [...plainFiles('components/page'), ...(asksWho ? plainFiles(component) : [])];
    const grants = grantsOf(inNamespace(files, cluster.namespace), account);
    const calls = pageCalls({ namespace: cluster.namespace, asksWho });
    expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
    expect(unusedRights(grants, calls)).toEqual([]);
  });

  test('reads no Secret, and writes nothing', () => {
    const grants = grantsOf(inNamespace(plainFiles('overlays/page'), cluster.namespace), account);
    expect(grants.flatMap(({ rule }) => rule.resources)).not.toContain('secrets');
    const writing = grants.filter(({ rule }) => rule.verbs.some((verb) => !/^(get|list|watch)$/.test(verb)));
    expect(writing.flatMap(({ rule }) => rule.resources).sort()).toEqual([
      'subjectaccessreviews',
      'tokenreviews',
    ]);
  });

  test.skipIf(need)('has in overlays/page no more, and the operator has what it needs', () => {
    const manifests = kustomized('overlays/page');
    const calls = pageCalls({ namespace: cluster.namespace, asksWho: true });
    expect(unusedRights(grantsOf(manifests, account), calls)).toEqual([]);
    expectLeast(manifests, cluster);
  });
});

describe('the ServiceAccount of the page of one namespace', () => {
  const overlay = 'overlays/page-single-namespace';
  const calls = pageCalls({ namespace: 'fleet', watched: 'fleet', asksWho: false });

  test.skipIf(need)(
    'may do there what the page does, and nothing else, and the operator has what it needs',
    () => {
      const manifests = kustomized(overlay);
      const grants = grantsOf(manifests, { namespace: 'fleet', name: 'fleetkeeper-page' });
      expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
      expect(unusedRights(grants, calls)).toEqual([]);
      expectLeast(manifests, {
        ...cluster,
        namespace: 'fleet',
        watched: 'fleet',
        readsClusterIdentity: false,
      });
    },
  );

  test.skipIf(need)('has no rights outside of it', () => {
    const kinds = kustomized(overlay).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind.startsWith('Cluster') || kind === 'Namespace')).toEqual([]);
    expect(kinds).toContain('Deployment');
  });

  test('has the rules of the page of a cluster, in a Role', () => {
    const [ofCluster] = ofKind(plainFiles('components/page'), 'ClusterRole');
    const [own] = ofKind(plainFiles('components/page-single-namespace'), 'Role');
    expect(own?.['rules']).toEqual(ofCluster?.['rules']);
  });
});

test.skipIf(need).each([
  ['account', '', 'fleetkeeper-', []],
  ['namespace', '-by-namespace', 'fleetkeeper-ns-', ['--shard-by=namespace']],
] as const)(
  'with shards by %s, the page reads the Lease of each operator, and no other one',
  (_by, suffix, prefix, more) => {
    const folder = mkdtempSync(path.join(manifestsFolder, '.test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const lines = [
      'namespace: fleetkeeper-system',
      `resources: [../overlays/sharded${suffix}]`,
      `components: [../components/page, ../components/page-shards${suffix}]`,
    ];
    writeFileSync(path.join(folder, 'kustomization.yaml'), lines.join('\n'));
    const manifests = kustomized(path.basename(folder));
    const leases = [0, 1, 2].map((shard) => `${prefix}${shard}-of-3`);
    const grants = grantsOf(manifests, { namespace: cluster.namespace, name: 'fleetkeeper-page' });
    const calls = pageCalls({ namespace: cluster.namespace, asksWho: false, leases });
    expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
    expect(unusedRights(grants, calls)).toEqual([]);
    const page = ofKind(manifests, 'Deployment').find(({ metadata }) => metadata.name === 'fleetkeeper-page');
    expect(page && containerOf(page).args).toEqual(expect.arrayContaining(['--shards=3', ...more]));
    expectLeast(manifests, { ...cluster, leases });
  },
);

test('no role has a wildcard, and none gives more rights than its holder has', () => {
  const rules = [...ofKind(plainFiles(), 'ClusterRole'), ...ofKind(plainFiles(), 'Role')].flatMap(
    (role) => role['rules'] as Record<string, string[]>[],
  );
  const words = rules.flatMap((rule) => Object.values(rule).flat());
  expect(rules.length).toBeGreaterThan(5);
  expect(
    words.filter((word) => word.includes('*') || ['escalate', 'bind', 'impersonate'].includes(word)),
  ).toEqual([]);
});

describe('the comparison of rights with calls', () => {
  const grants = [
    {
      namespace: 'a',
      rule: { apiGroups: [''], resources: ['secrets'], resourceNames: ['one'], verbs: ['get', 'create'] },
    },
  ];
  const get = {
    verb: 'get',
    group: '',
    plural: 'secrets',
    namespace: 'a',
    name: 'one',
    subresource: undefined,
  } as const;

  test.each([
    ['what a rule names', get, true],
    ['another name', { ...get, name: 'two' }, false],
    ['another namespace', { ...get, namespace: 'b' }, false],
    ['all namespaces at once', { ...get, namespace: undefined }, false],
    ['another verb', { ...get, verb: 'patch' }, false],
    ['a subresource', { ...get, subresource: 'status' }, false],
    ['another group', { ...get, group: 'batch' }, false],
    ['a creation, whose name the authorizer does not see', { ...get, verb: 'create' }, false],
  ] as const)('knows %s', (_what, call, isAllowed) => {
    expect(allowedBy(grants, call)).toBe(isAllowed);
  });

  test('counts the server-side apply of what was not there as a creation, too', () => {
    const patch = { ...get, version: 'v1', verb: 'patch' } as const;
    expect(callsOf(patch, 201).map(({ verb }) => verb)).toEqual(['patch', 'create']);
    expect(callsOf(patch, 200).map(({ verb }) => verb)).toEqual(['patch']);
  });

  test('tells each right that was not used', () => {
    expect(unusedRights(grants, [get])).toEqual(['create secrets one in a']);
  });

  test('makes of calls the rules that allow them, and no others', () => {
    const calls = [
      get,
      { ...get, verb: 'create', name: undefined } as const,
      { ...get, verb: 'patch' } as const,
    ];
    expect(neededRules(calls)).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['one'], verbs: ['get', 'patch'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    ]);
    const needed = neededRules(calls).map((rule) => ({ namespace: 'a', rule }));
    expect(calls.filter((call) => !allowedBy(needed, call))).toEqual([]);
    expect(unusedRights(needed, calls)).toEqual([]);
  });
});
