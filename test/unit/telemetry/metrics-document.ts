/** `docs/reference/metrics.md`, made from the declarations: `npm run docs:metrics` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { systemClock } from '../../../src/base/index.ts';
import { defaultConfig } from '../../../src/control-plane/config/config-file.ts';
import { Capacity } from '../../../src/control-plane/domain/capacity.ts';
import { measurePlatform, measureRequests } from '../../../src/control-plane/http/metrics.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';

export const metricsDocument = path.join(import.meta.dirname, '../../../docs/reference/metrics.md');

interface Declared {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

const groups: readonly (readonly [string, RegExp, string])[] = [
  ['Controller', /^controller_runtime_/, 'Named as in controller-runtime. `controller` is a kind.'],
  [
    'Workqueue',
    /^workqueue_/,
    'Named as in client-go. The queue is `name="fleetkeeper"`. In a cluster, `name="jobs"` is a second one for annotated Jobs and Pods.',
  ],
  ['API', /^fleetkeeper_(api|limiter|activity)_/, 'Requests to the control API, and its limiter.'],
  ['Accounts', /^fleetkeeper_account_/, '`account` is `namespace/name` of the Account.'],
  [
    'Kubernetes',
    /^(rest_client_|leader_election_|fleetkeeper_(kubernetes|lease|watch)_)/,
    'In a cluster only. Metrics that client-go has as well have its names.',
  ],
  [
    'Fleet',
    /^fleetkeeper_/,
    'No label contains the name of an object, apart from Accounts and at most 200 Budgets, unless `run --fleet-metrics` asks for it.',
  ],
];

export function renderMetricsDocument(): string {
  const declared = declaredIn(createMetrics().registry);
  const parts = groups.map(([title, pattern, text]) => {
    const own = declared.filter(({ name }) => groups.find(([, first]) => first.test(name))?.[1] === pattern);
    return [`## ${title}`, '', text, '', ...table(own), ''].join('\n');
  });
  return [
    '# Metrics',
    '',
    '<!-- Made by `npm run docs:metrics` from src/telemetry/ and src/control-plane/http/metrics.ts; not to be edited. -->',
    '',
    '`fleetkeeper run --listen ADDRESS` serves them at `/metrics` in the Prometheus text format. They pass `promtool check metrics`.',
    'Amounts of money are in micro-USD (1 USD = 1,000,000).',
    '',
    ...parts,
    '## Control plane',
    '',
    '`fleetkeeper control-plane --metrics-listen ADDRESS` serves these. No label contains the name of an account or of an object.',
    '',
    ...table(declaredIn(controlPlaneRegistry())),
    '',
    '## Process',
    '',
    'Both have `process_*` and `nodejs_*`, as prom-client declares them for the platform.',
    '',
  ].join('\n');
}

function controlPlaneRegistry(): Registry {
  const registry = new Registry();
  const store = new Store(':memory:');
  measureRequests({ addHook: () => undefined }, registry);
  measurePlatform({ store, capacity: new Capacity(defaultConfig, store), clock: systemClock }, registry);
  return registry;
}

function declaredIn(registry: Registry): Declared[] {
  return (registry.getMetricsAsArray() as unknown as Declared[]).toSorted((left, right) =>
    left.name < right.name ? -1 : 1,
  );
}

function table(metrics: readonly Declared[]): string[] {
  const rows = metrics.map(({ name, type, labelNames, help }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
  });
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows];
}

if (import.meta.main) writeFileSync(metricsDocument, renderMetricsDocument());
