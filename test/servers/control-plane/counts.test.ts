/** What is counted beside the records, with every change, is what a new start counts from the records. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { Capacity } from '../../../src/control-plane/domain/capacity.ts';
import { parseConfig } from '../../../src/control-plane/config/config-file.ts';
import { Quotas } from '../../../src/control-plane/domain/quotas.ts';
import type { RegistryRecord, ServiceRecord } from '../../../src/control-plane/store/records.ts';
import { Registries } from '../../../src/control-plane/domain/registries.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { ManualEventLoop } from '../../support/manual-event-loop.ts';

const config = parseConfig(
  `
regions:
  - name: standard
    geographies: [{name: x, gpus: {l4: 99, h100: 99}}, {name: y, gpus: {l4: 99}, cpu: 50}]
containers: {capacity: {cpu: 90}}
`,
  'config.yaml',
);
const [region] = config.regions;
const accountId = 'account';
const repository = 'ghcr.io/acme/app';

const resources = [
  { gpuCount: 0, cpu: 1, memoryGb: 1 },
  { gpuCount: 1, cpu: 2, memoryGb: 2 },
  { gpuCount: 2, cpu: 3, memoryGb: 3 },
];

interface Step {
  readonly id: string;
  /** Of the record; undefined: it goes. */
  readonly fields: Partial<ServiceRecord> | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly end: 'accepted' | 'refused';
  /** Whether somebody asks for the links of a repository before that. */
  readonly isAsked: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    id: fc.constantFrom('a', 'b', 'c'),
    fields: fc.option(
      fc.record(
        {
          name: fc.constantFrom('app', 'ä long name'),
          state: fc.constantFrom('provisioning', 'running', 'paused', 'error'),
          resources: fc.constantFrom(...resources),
          geography: fc.constantFrom('x', 'y'),
          gpuModel: fc.constantFrom('l4', 'h100', null),
          image: fc.constantFrom(`${repository}:1`, `${repository}:2`, 'nginx', '?'),
        },
        { requiredKeys: [] },
      ),
      { nil: undefined, freq: 6 },
    ),
    environment: fc.constantFrom({}, { A: 'ä' }),
    end: fc.constantFrom('accepted', 'accepted', 'refused'),
    isAsked: fc.boolean(),
  }),
  { maxLength: 12 },
);

const empty: ServiceRecord = {
  id: '',
  accountId,
  name: 'app',
  region: 'standard',
  geography: 'x',
  image: 'nginx',
  command: null,
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  httpPort: null,
  environmentNames: [],
  sleepAfterMinutes: null,
  volumeId: null,
  gpuModel: null,
  registryAccess: null,
  state: 'paused',
  revision: 1,
  endpoint: null,
  hourlyMicros: 0,
  error: null,
  operation: null,
  idleSinceMs: 0,
  createdAtMs: 0,
};

function change(store: Store, { id, fields, environment, end }: Step): void {
  const before = store.services.get(id);
  if (fields) {
    store.setEnvironment({ id, accountId }, environment);
    store.services.put({ ...empty, ...before, id, ...fields });
  } else if (before) store.removeService(before);
  if (end === 'refused') throw new Error('refused');
}

function countersOf(store: Store) {
  return {
    capacity: new Capacity(config, store),
    quotas: new Quotas(store, () => ({ ...config.quota, cpu: 60 })),
    registries: new Registries(store, systemClock, systemRandom),
  };
}

function counted({ capacity, quotas, registries }: ReturnType<typeof countersOf>) {
  return {
    gpus: capacity.usage(),
    cpuLeft: ['x', 'y'].map((geography) =>
      most((cpu) => region && capacity.place(region, [geography], { gpuCount: 0, cpu, memoryGb: 0 })),
    ),
    quotaLeft: most((cpu) => quotas.requireCompute(accountId, { gpuCount: 0, cpu, memoryGb: 0 })),
    linked: registries
      .linkedTo({ accountId, repository } as RegistryRecord)
      .map(({ id, image }) => `${id} ${image}`)
      .sort(),
  };
}

function storedBytesIn({ database }: Store): number {
  const row = database.get(
    `SELECT coalesce((SELECT sum(octet_length(document)) FROM services), 0)
       + coalesce((SELECT sum(octet_length(entries)) FROM environments), 0) AS bytes`,
  );
  return Number(row?.['bytes']);
}

/** The largest whole number up to 100 that is not refused. */
function most(use: (cpu: number) => unknown): number {
  for (let cpu = 100; cpu > 0; cpu -= 1) {
    try {
      use(cpu);
      return cpu;
    } catch {
      continue;
    }
  }
  return 0;
}

test('bytes, compute and links are counted as a new start counts them, whatever was changed or refused', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const store = new Store(':memory:', new ManualEventLoop());
      const counters = countersOf(store);
      for (const step of taken) {
        if (step.isAsked) counted(counters);
        try {
          store.unit.run(() => change(store, step));
        } catch (error) {
          if (step.end === 'accepted') throw error;
        }
      }
      expect(counted(counters)).toEqual(counted(countersOf(store)));
      expect(store.bytes.of(accountId)).toBe(storedBytesIn(store));
      store.close();
    }),
    { numRuns: 150 },
  );
});
