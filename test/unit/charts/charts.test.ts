/** The Helm charts: they render what kustomize makes of `manifests/`, and their values change what README.md states, and nothing else. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { chartsFolder, manifestsIn, renderChart } from '../../support/helm/chart.ts';
import { helm, whatHelmNeeds } from '../../support/helm/program.ts';
import { allowedBy, describeCall, grantsOf } from '../../support/manifests/access.ts';
import { operatorCalls, pageCalls } from '../../support/manifests/operator-calls.ts';
import { containerOf, podOf, violations } from '../../support/manifests/pod-security.ts';
import { kustomized, ofKind, whatKustomizeNeeds, type Manifest } from '../../support/manifests/render.ts';
import { chartFilesAsDeclared, chartFilesAsTheyAre } from './chart-files.ts';

const need = whatKustomizeNeeds();
if (need) process.stderr.write(`\n*** SKIPPED: the charts beside kustomize: ${need} ***\n`);
const helmNeed = whatHelmNeeds();
if (helmNeed) {
  process.stderr.write(`\n*** SKIPPED: the charts as Helm itself renders them: ${helmNeed} ***\n`);
}

type Values = Readonly<Record<string, unknown>>;

const image = { repository: 'fleetkeeper' };
const rendered = (values: Values = {}, namespace?: string) =>
  renderChart('fleetkeeper', { image, ...values }, namespace);

function byName(manifests: readonly Manifest[]): Map<string, Manifest> {
  const named = manifests.map((manifest) => {
    const { kind, metadata } = manifest;
    return [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, manifest] as const;
  });
  expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
  return new Map(named.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** Helm makes no namespace of a release (README.md has its labels). */
const inChart = (folder: string) =>
  kustomized(folder).filter(({ kind }) => kind !== 'Namespace' && kind !== 'CustomResourceDefinition');

const overlays: readonly (readonly [overlay: string, values: Values])[] = [
  ['.', {}],
  ['overlays/page', { page: { enabled: true } }],
  ['overlays/monitoring', { monitoring: { enabled: true } }],
  ['overlays/sharded', { shards: 3 }],
  ['overlays/sharded-by-namespace', { shards: 3, shardBy: 'namespace' }],
];

/** More sets of values, for what no overlay has. */
const others: readonly Values[] = [
  { watchNamespaces: ['shop', 'lab'] },
  { page: { enabled: true, kubernetesAuth: false, host: 'fleet.example.com' }, shards: 2 },
  { page: { enabled: true }, shards: 2, shardBy: 'namespace' },
  { shardBy: 'namespace' },
  { page: { enabled: true }, watchNamespaces: ['shop'], networkPolicy: { extraPorts: [8443] } },
  { networkPolicy: { enabled: false }, replicas: 3, shards: 64 },
  { image: { repository: 'registry.example.com/fleetkeeper', tag: '1.2.3' } },
  {
    image: { repository: 'registry.example.com/fleetkeeper', tag: '1', digest: `sha256:${'0a'.repeat(32)}` },
  },
  { resources: { limits: { cpu: 1 }, requests: { cpu: '010' } }, notifications: { allowPrivate: true } },
];

/** Nearly every template. */
const most: Values = { page: { enabled: true }, monitoring: { enabled: true }, shards: 2 };

const refused: readonly (readonly [values: Values, why: string])[] = [
  [{ image: {} }, 'image.repository is missing'],
  [{ leaderElection: { enabled: false } }, 'leaderElection'],
  [{ extraArgs: ['--no-lease'] }, 'extraArgs'],
  [{ shards: 0 }, '/shards'],
  [{ shards: 65 }, '/shards'],
  [{ shards: 1.5 }, '/shards'],
  [{ shardBy: 'label' }, '/shardBy'],
  [{ watchNamespaces: ['--owner=x'] }, '/watchNamespaces/0'],
  [{ image: { repository: 'a', digest: 'sha256:1' } }, '/image/digest'],
  [{ image: { repository: 'a b' } }, '/image/repository'],
  [{ page: { enabled: true, host: 'a\n- --listen=0.0.0.0:1' } }, '/page/host'],
  [{ page: { enabled: true, host: 'a:' } }, '/page/host'],
  [{ page: { enabled: true, token: 'x' } }, 'token'],
  [{ networkPolicy: { extraPorts: ['443'] } }, '/networkPolicy/extraPorts/0'],
  [{ notifications: { allowPrivate: 'yes' } }, '/notifications/allowPrivate'],
];

test('the templates are as manifests/ and crds/ make them; else run `npm run charts`', () => {
  expect(Object.fromEntries(chartFilesAsTheyAre())).toEqual(Object.fromEntries(chartFilesAsDeclared()));
});

test.skipIf(need).each(overlays)(
  '%s: the same objects as kustomize, with the values %j',
  (overlay, values) => {
    expect(byName(rendered(values))).toEqual(byName(inChart(overlay)));
  },
);

/** But that Helm never removes them. */
function expectDefinitions(definitions: readonly Manifest[]): void {
  for (const { metadata } of definitions) {
    const { annotations } = metadata as { annotations?: Record<string, string> };
    expect(annotations?.['helm.sh/resource-policy']).toBe('keep');
    delete annotations?.['helm.sh/resource-policy'];
    if (annotations && Object.keys(annotations).length === 0) Reflect.deleteProperty(metadata, 'annotations');
  }
  expect(byName(definitions)).toEqual(byName(ofKind(kustomized('.'), 'CustomResourceDefinition')));
}

test.skipIf(need)('the definitions are the same, but that Helm never removes them', () => {
  expectDefinitions(renderChart('fleetkeeper-crds'));
});

/** What `helm template` prints, read as Kubernetes reads it: `yes` is true, and `010` is 8. */
async function byHelm(chart: string, values: Values, namespace = 'fleetkeeper-system'): Promise<Manifest[]> {
  const release = ['template', 'fleetkeeper', path.join(chartsFolder, chart), '--namespace', namespace];
  const text = await helm([...release, '--kube-version', '1.33.0', '--values', '-'], JSON.stringify(values));
  return manifestsIn(text, '1.1');
}

describe.skipIf(helmNeed)('Helm itself', () => {
  test.skipIf(need).each(overlays)(
    '%s: renders what kustomize does, with the values %j',
    async (overlay, values) => {
      expect(byName(await byHelm('fleetkeeper', { image, ...values }))).toEqual(byName(inChart(overlay)));
    },
  );

  test.skipIf(need)('renders the same definitions', async () => {
    expectDefinitions(await byHelm('fleetkeeper-crds', {}));
  });

  test.each([...overlays.map(([, values]) => values), ...others])(
    'renders what the evaluator here does: %j',
    async (values) => {
      expect(byName(await byHelm('fleetkeeper', { image, ...values }))).toEqual(byName(rendered(values)));
    },
  );

  test('renders what the evaluator here does in a namespace whose name is a number', async () => {
    const manifests = await byHelm('fleetkeeper', { image, ...most }, '2026');
    expect(byName(manifests)).toEqual(byName(rendered(most, '2026')));
  });

  test.each(refused)('refuses what the evaluator here does: %j', async (values, why) => {
    await expect(byHelm('fleetkeeper', { image, ...values })).rejects.toThrow(why);
  });

  test.each(['fleetkeeper', 'fleetkeeper-crds'])('finds nothing wrong in %s', async (chart) => {
    const given = chart === 'fleetkeeper' ? ['--set', 'image.repository=fleetkeeper'] : [];
    const report = await helm(['lint', '--strict', path.join(chartsFolder, chart), ...given]);
    expect(report).not.toMatch(/\[(WARNING|ERROR)\]/);
  });
});

describe('values that are refused', () => {
  test.each(refused)('%j', (values, why) => {
    expect(() => rendered(values)).toThrow(why);
  });

  test('the definitions take none', () => {
    expect(() => renderChart('fleetkeeper-crds', { keep: false })).toThrow('keep');
  });
});

function argumentsOf(manifests: readonly Manifest[]): (readonly string[])[] {
  return ofKind(manifests, 'Deployment').map((deployment) => containerOf(deployment).args ?? []);
}

function leasesOf(manifests: readonly Manifest[]): readonly string[] {
  const role = ofKind(manifests, 'Role').find(
    ({ metadata }) => metadata.name === 'fleetkeeper-own-namespace',
  );
  const [lease] = (role?.['rules'] ?? []) as readonly { readonly resourceNames: readonly string[] }[];
  return lease?.resourceNames ?? [];
}

describe('whatever the values are', () => {
  const all = [...overlays.map(([, values]) => values), ...others];

  test.each(all)('%j: each operator has a Lease of its own, which it may renew', (values) => {
    const manifests = rendered(values);
    const { shards = 1, shardBy } = values as { shards?: number; shardBy?: string };
    const infix = shardBy === 'namespace' ? 'ns-' : '';
    const numbers = [...Array(shards).keys()];
    const [run, rest] = [(args: readonly string[]) => args[0] === 'run', argumentsOf(manifests)];
    expect(rest.filter(run).map((args) => args.find((arg) => arg.startsWith('--shard=')))).toEqual(
      shards === 1 ? [undefined] : numbers.map((shard) => `--shard=${shard}/${shards}`),
    );
    expect(leasesOf(manifests)).toEqual(
      shards === 1 ? ['fleetkeeper'] : numbers.map((shard) => `fleetkeeper-${infix}${shard}-of-${shards}`),
    );
    expect(new Set(ofKind(manifests, 'Deployment').map(({ metadata }) => metadata.name)).size).toBe(
      rest.length,
    );
  });

  test.each(all)('%j: pods pass the Pod Security profile "restricted"', (values) => {
    expect(ofKind(rendered(values), 'Deployment').flatMap((each) => violations(podOf(each)))).toEqual([]);
  });

  test.each(all)('%j: all but definitions and cluster roles is in the namespace of the release', (values) => {
    const { watchNamespaces = [] } = values as { watchNamespaces?: string[] };
    const namespaces = rendered(values, 'elsewhere')
      .filter(({ kind }) => !kind.startsWith('Cluster'))
      .map(({ metadata }) => metadata.namespace);
    expect(new Set(namespaces)).toEqual(new Set(['elsewhere', ...watchNamespaces]));
    expect(JSON.stringify(rendered(values, 'elsewhere'))).not.toContain('fleetkeeper-system');
  });
});

test('with watchNamespaces it may work there, and nowhere else', () => {
  const manifests = rendered({ watchNamespaces: ['shop'], page: { enabled: true } });
  expect(argumentsOf(manifests).every((args) => args.includes('--watch-namespaces=shop'))).toBe(true);
  expect(
    rendered({ watchNamespaces: ['shop', 'lab'] }).filter(
      ({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'fleetkeeper-fleets',
    ),
  ).toHaveLength(2);
  const grants = grantsOf(manifests, { namespace: 'fleetkeeper-system', name: 'fleetkeeper' });
  const operator = { namespace: 'fleetkeeper-system', readsClusterIdentity: true, leases: ['fleetkeeper'] };
  const there = operatorCalls({ ...operator, watched: 'shop' });
  expect(there.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
  expect(grants.filter(({ namespace }) => namespace === undefined).map(({ rule }) => rule.resources)).toEqual(
    [['namespaces']],
  );
  const page = grantsOf(manifests, { namespace: 'fleetkeeper-system', name: 'fleetkeeper-page' });
  expect(
    page.filter(({ namespace, rule }) => namespace === undefined && !rule.verbs.includes('create')),
  ).toEqual([]);
  expect(pageCalls({ namespace: 'fleetkeeper-system', asksWho: true }).length).toBeGreaterThan(0);
});

test('a namespace of the release whose name is a number stays a name', () => {
  const placed = rendered(most, '2026').filter(({ kind }) => !kind.startsWith('Cluster'));
  expect(new Set(placed.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['2026']));
});

test('a digest replaces the tag, and without both the version of the chart is the tag', () => {
  const digest = `sha256:${'0a'.repeat(32)}`;
  const images = (given: object) =>
    ofKind(
      rendered({ image: { repository: 'a.example/f', ...given }, page: { enabled: true } }),
      'Deployment',
    ).map((deployment) => containerOf(deployment).image);
  expect(images({ tag: '2' })).toEqual(['a.example/f:2', 'a.example/f:2']);
  expect(images({ tag: '2', digest })).toEqual([`a.example/f@${digest}`, `a.example/f@${digest}`]);
  expect(images({})[0]).toMatch(/^a\.example\/f:\d+\.\d+\.\d+$/);
});

test('sinks in private networks are allowed by a value', () => {
  const args = (values: Values) => argumentsOf(rendered(values))[0] ?? [];
  expect(args({})).not.toContain('--notify-allow-private');
  expect(args({ notifications: { allowPrivate: true } })).toContain('--notify-allow-private');
});

test('replicas, resources, ports and the name of the page arrive where they belong', () => {
  const resources = { limits: { memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
  const manifests = rendered({
    replicas: 3,
    resources,
    networkPolicy: { extraPorts: [8443, 9443] },
    page: { enabled: true, kubernetesAuth: false, host: 'fleet.example.com' },
  });
  const named = byName(manifests);
  const operator = named.get('Deployment fleetkeeper-system/fleetkeeper');
  if (!operator) throw new Error('there is no operator');
  expect((operator['spec'] as { replicas: number }).replicas).toBe(3);
  expect(containerOf(operator).resources).toEqual(resources);
  for (const policy of ofKind(manifests, 'NetworkPolicy')) {
    const { egress } = policy['spec'] as { egress: { ports: { port: number }[] }[] };
    expect(egress.at(-1)?.ports.map(({ port }) => port)).toEqual([443, 6443, 8443, 9443]);
  }
  expect(
    ofKind(rendered({ networkPolicy: { enabled: false }, page: { enabled: true } }), 'NetworkPolicy'),
  ).toEqual([]);
  const [, page = []] = argumentsOf(manifests).toSorted(
    (left, right) => Number(left[0] === 'page') - Number(right[0] === 'page'),
  );
  expect(page).toContain('--page-host=fleet.example.com');
  expect(page).toContain('--page-token-file=/etc/fleetkeeper-page/tokens');
  expect(page).not.toContain('--page-kubernetes-auth');
  expect(manifests.some(({ metadata }) => metadata.name === 'fleetkeeper-page-reviews')).toBe(false);
});
