/** Laws of drift: what the API does to values is none, and what somebody else does is always seen, once. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import type { Plan } from '../../../../src/engine/plan/index.ts';
import { aSpec, said, serviceKey } from '../../../support/plan.ts';
import { ModelFleet, anySpec, noStorage, over } from '../../../support/plan-worlds.ts';
import type { Form } from '../../../support/model-api.ts';

const text = (change: (value: string) => string) => (value: string | null | undefined) =>
  typeof value === 'string' ? change(value) : value;
const lower = text((value) => value.toLowerCase());

/** What a control plane may make of what it was sent, documented or not. */
const forms: Readonly<Record<string, Form>> = {
  'the full image reference': ({ image }) => ({
    image: text((value) => `docker.io/library/${value}`)(image),
  }),
  'the image in capitals': ({ image }) => ({ image: text((value) => value.toUpperCase())(image) }),
  'the image with its digest': ({ image }) => ({
    image: text((value) => `${value}@sha256:${'0'.repeat(64)}`)(image),
  }),
  'a shell around the command': ({ command }) => ({
    command: Array.isArray(command) ? ['sh', '-c', ...command] : command,
  }),
  'a default command': ({ command }) => ({ command: command ?? ['/entrypoint'] }),
  'no command for an empty one': ({ command }) => ({ command: command?.length === 0 ? null : command }),
  'a default port': ({ httpPort }) => ({ httpPort: httpPort ?? 8000 }),
  'more memory': ({ resources }) => ({
    resources: resources && { ...resources, memoryGb: Math.ceil((resources.memoryGb ?? 0) / 48) * 48 },
  }),
  'more fields in resources': ({ resources }) => ({
    resources: resources && { ...resources, gpuModel: 'x' },
  }),
  'a default sleep policy': ({ sleepAfterMinutes }) => ({ sleepAfterMinutes: sleepAfterMinutes ?? 60 }),
  'sleep in quarters of an hour': ({ sleepAfterMinutes }) => ({
    sleepAfterMinutes: sleepAfterMinutes && Math.ceil(sleepAfterMinutes / 15) * 15,
  }),
  'names of variables in another order': ({ environmentNames }) => ({
    environmentNames: environmentNames?.toReversed(),
  }),
  'variables of its own': ({ environmentNames }) => ({
    environmentNames: environmentNames && [...environmentNames, 'PROVIDER_ID'],
  }),
  'a region by its long name': ({ region }) => ({ region: text((value) => `tier-${value}`)(region) }),
  'a short name': ({ name }) => ({ name: lower(name)?.slice(0, 4) ?? name }),
};

const anyForms = fc.subarray(Object.values(forms));
const anyCorrectedSpec = anySpec(noStorage).map((spec) => over(spec)({ driftPolicy: 'Correct' }));

function expectNoDrift(plans: readonly Plan[]): void {
  const drifted = plans.flatMap(({ differences }) => differences.filter(({ drift }) => drift));
  if (drifted.length > 0) throw new Error(`false drift: ${drifted.map(({ path }) => path).join(', ')}`);
}

// COVERAGE 41
test('whatever the API makes of values, what was applied is in sync, and nothing of it is drift', async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), anyForms, anyCorrectedSpec, async (stopsAtOnce, applied, spec) => {
      const fleet = new ModelFleet({ stopsAtOnce, shows: 'everything', forms: applied });
      const { service } = await fleet.converge({ service: { ...spec, disruption: 'Always' } });
      if (said(service) !== 'in-sync') throw new Error(`${said(service)} is in sync`);
      expectNoDrift(fleet.plans);
    }),
    { numRuns: 30 },
  );
});

test('each of those alone, with every field given', async () => {
  for (const [name, form] of Object.entries(forms)) {
    const fleet = new ModelFleet({ stopsAtOnce: true, shows: 'everything', forms: [form] });
    const { service } = await fleet.converge({ service: everything });
    expect.soft(said(service), name).toBe('in-sync');
    expect
      .soft(
        fleet.mutations.map(({ plan }) => said(plan)),
        name,
      )
      .toEqual(['create-service (Create)']);
  }
});

const everything = aSpec({
  image: 'a:1',
  command: ['run'],
  httpPort: 80,
  env: [{ name: 'MODE', value: 'train' }],
  sleepAfterMinutes: 5,
  disruption: 'Always',
});

const changes: readonly (readonly [string, Partial<wire.Service>])[] = [
  ['image', { image: 'theirs:1' }],
  ['command', { command: ['theirs'] }],
  ['httpPort', { httpPort: 1 }],
  ['resources', { resources: { gpuCount: 8, cpu: 64, memoryGb: 512 } }],
  ['env', { environmentNames: ['MODE'] }],
  ['sleepAfterMinutes', { sleepAfterMinutes: 99 }],
  ['desiredState', { state: 'paused' }],
];

test('a change by somebody else is drift also where the API has its own forms, and takes one mutation', async () => {
  await fc.assert(
    fc.asyncProperty(anyForms, fc.constantFrom(...changes), async (applied, [path, change]) => {
      const fleet = new ModelFleet({ stopsAtOnce: true, shows: 'everything', forms: applied });
      await fleet.converge({ service: everything });
      const before = fleet.plans.length;
      fleet.api.meddle(change);
      const { service } = await fleet.converge({ service: everything });
      if (said(service) !== 'in-sync') throw new Error(`${said(service)} after ${path}`);
      expect(fleet.mutations).toHaveLength(1);
      const drift =
        fleet.plans[before]?.differences.filter(
          ({ drift: moved, revisionMoved }) => moved && !revisionMoved,
        ) ?? [];
      expect(drift.map((difference) => difference.path.split('.')[0])).toEqual([path]);
    }),
    { numRuns: 20 },
  );
});

const bare = { stopsAtOnce: true, shows: 'bare' as const };
const awake = over(everything)({ sleepAfterMinutes: 0 });

// COVERAGE 40, 43
test('where fields are hidden, a revision that moved by itself is met once, and then only told', async () => {
  const fleet = new ModelFleet(bare);
  expectNoDrift([(await fleet.converge({ service: awake })).service]);
  fleet.api.meddle({});
  const second = await fleet.converge({ service: awake });
  expect(fleet.mutations.map(({ plan }) => said(plan))).toEqual([
    'patch-service (Drift)',
    'resize-service (Drift)',
    'set-sleep-policy (Drift)',
  ]);
  expectNoDrift([second.service]);
  fleet.api.meddle({});
  const third = await fleet.converge({ service: awake });
  expect(fleet.mutations).toEqual([]);
  expect(third.service.differences.every(({ revisionMoved, drift }) => revisionMoved && drift)).toBe(true);
  expect(third.service.differences.length).toBeGreaterThan(0);
});

test('where all fields are visible, a revision that moved by itself is no drift', async () => {
  const fleet = new ModelFleet({ stopsAtOnce: true, shows: 'everything' });
  // The values of an environment never are.
  const shown = over(awake)({ env: undefined });
  await fleet.converge({ service: shown });
  fleet.api.meddle({});
  const { service } = await fleet.converge({ service: shown });
  expect(service.differences).toEqual([]);
  expect(fleet.mutations).toEqual([]);
});

test('a service that may have slept and woken by itself is told, and left alone', async () => {
  const fleet = new ModelFleet(bare);
  await fleet.converge({ service: everything });
  const record = fleet.record(serviceKey);
  // It runs for longer than the policy says.
  await fleet.store.save({ ...record, seen: record.seen && { ...record.seen, since: 0 } });
  fleet.api.meddle({});
  const { service } = await fleet.converge({ service: everything });
  expect(fleet.mutations).toEqual([]);
  expect(service.differences.every(({ revisionMoved }) => revisionMoved)).toBe(true);
});
