/** Laws of the planners: convergence on a model of the contract, and safety over arbitrary inputs. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { wire } from '../../../src/api/index.ts';
import { sameValue } from '../../../src/base/index.ts';
import { type Gate, type Plan, beaconName, parseBeacon } from '../../../src/engine/plan/index.ts';
import { planRegistry, registryDigests } from '../../../src/kinds/image-registry/plan.ts';
import { planService } from '../../../src/kinds/container-service/plan.ts';
import { planTemplate, templateDigests } from '../../../src/kinds/service-template/plan.ts';
import { planVolume } from '../../../src/kinds/storage-volume/plan.ts';
import type { RegistryInputs } from '../../../src/kinds/image-registry/inputs.ts';
import type { ServiceInputs } from '../../../src/kinds/container-service/inputs.ts';
import type { TemplateInputs } from '../../../src/kinds/service-template/inputs.ts';
import { annotations, type ContainerServiceSpec } from '../../../src/resources/index.ts';
import {
  aService,
  aVolume,
  anOwner,
  beacon,
  deepFreeze,
  environmentOf,
  said,
  sentEnvironment,
  serviceId,
  serviceInputs,
  serviceUid,
  volumeId,
  volumeInputs,
} from '../../support/plan.ts';
import {
  aLink,
  aRegistry,
  aRegistrySpec,
  aTemplate,
  aTemplateSpec,
  credentials,
  mark,
  registryId,
  registryInputs,
  templateInputs,
} from '../../support/shared-kinds.ts';
import {
  ModelFleet,
  anyChoices,
  anyResources,
  anySpec,
  anyVolumeSpec,
  noStorage,
  over,
  ownStorage,
  sharedStorage,
} from '../../support/plan-worlds.ts';

// ---- convergence -------------------------------------------------------------------------------------

type Meddling = (fleet: ModelFleet) => void;

/** What somebody else may do to a service, or the provider with it. */
const serviceMeddling: readonly Meddling[] = [
  () => undefined,
  ({ api }) => api.meddle({ image: 'their:1', command: ['theirs'] }),
  ({ api }) => api.meddle({ httpPort: 1 }),
  ({ api }) => api.meddle({ resources: { gpuCount: 8, cpu: 64, memoryGb: 512 } }),
  ({ api }) => api.meddle({ environmentNames: ['THEIRS'] }),
  ({ api }) => api.meddle({ environmentNames: ['A', 'B', 'TOKEN', beacon({ A: 'x' }, anOwner('lab', 9))] }),
  ({ api }) => api.meddle({ sleepAfterMinutes: 99 }),
  ({ api }) => api.meddle({ state: 'paused' }),
  ({ api }) => api.meddle({ state: 'sleeping' }),
  ({ api }) => api.meddle({ state: 'error' }),
  ({ api }) => api.meddle({ state: 'running', region: 'elsewhere' }),
  ({ api }) => api.vanish(),
];
const volumeMeddling: readonly Meddling[] = [
  ({ api }) => api.meddleWithVolume({ name: 'theirs' }),
  ({ api }) => api.meddleWithVolume({ sizeGb: 60, requestedSizeGb: 60 }),
  ({ api }) => api.meddleWithVolume({ status: 'error' }),
];

/** A law in words; what fast-check shows when it is broken. */
function must(holds: boolean, law: string): void {
  if (!holds) throw new Error(`broken: ${law}`);
}

/** In sync or held; a wait is only good while the other one of the pair is held. */
function expectEnd(plan: Plan, other: Plan | undefined): void {
  const waitsForOther = ['PausingService', 'VolumeNotReady', 'PausedForVolumeExpansion'];
  const waits = other?.kind === 'hold' && plan.kind === 'wait' && waitsForOther.includes(plan.reason);
  const ends = plan.kind === 'in-sync' || plan.kind === 'hold' || waits;
  must(ends, `${said(plan)} beside ${other && said(other)} is an end`);
}

const anyStep = fc.record({
  spec: anySpec(ownStorage),
  meddle: fc.constantFrom(...serviceMeddling),
  word: fc.boolean(),
});

test('a service: whatever is written and whoever meddles, passes end in sync or held, and stay there', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyChoices,
      fc.array(anyStep, { minLength: 1, maxLength: 4 }),
      async (choices, steps) => {
        const fleet = new ModelFleet(choices);
        for (const { spec, meddle, word } of steps) {
          meddle(fleet);
          const end = await fleet.converge({ service: spec, word });
          expectEnd(end.service, undefined);
          if (end.service.kind === 'in-sync' && spec.driftPolicy === 'Correct') {
            expectAs(fleet, spec);
            must(end.service.differences.length === 0, 'nothing differs that is to be corrected');
          }
        }
      },
    ),
    { numRuns: 35 },
  );
});

test('a service on an API that shows only id, state and revision: the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ stopsAtOnce: fc.boolean(), shows: fc.constant('bare' as const) }),
      fc.array(anySpec(noStorage), { minLength: 1, maxLength: 4 }),
      async (choices, specs) => {
        const fleet = new ModelFleet(choices);
        for (const spec of specs) {
          const end = await fleet.converge({ service: spec });
          expectEnd(end.service, undefined);
          if (end.service.kind === 'in-sync') expectAs(fleet, spec);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test('a service and the volume attached to it: the same, and storage grows only while the service is paused', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyChoices,
      fc.array(
        fc.record({
          service: anySpec(sharedStorage),
          volume: anyVolumeSpec,
          meddle: fc.constantFrom(...serviceMeddling, ...volumeMeddling),
          word: fc.boolean(),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      async (choices, steps) => {
        const fleet = new ModelFleet(choices);
        for (const { meddle, ...wanted } of steps) {
          meddle(fleet);
          const end = await fleet.converge(wanted);
          expectEnd(end.service, end.volume);
          if (end.volume) expectEnd(end.volume, end.service);
          if (end.service.kind === 'in-sync' && wanted.service.driftPolicy === 'Correct') {
            expectAs(fleet, wanted.service);
          }
        }
      },
    ),
    { numRuns: 35 },
  );
});

test('an adopted service ends as its spec says, with the environment that it had unless one is given', async () => {
  await fc.assert(
    fc.asyncProperty(anyChoices, anySpec(noStorage), anySpec(noStorage), async (choices, theirs, ours) => {
      const fleet = new ModelFleet(choices);
      const { image = 'a:1', resources = { gpuCount: 1, cpu: 8, memoryGb: 32 } } = theirs;
      await fleet.api.createService({
        name: theirs.serviceName ?? 'trainer',
        region: theirs.region,
        image,
        resources,
        environment: { THEIRS: 'kept' },
      });
      fleet.api.tick();
      const id = fleet.api.onlyService?.id ?? '';
      const spec = { ...ours, adopt: { id } };
      const end = await fleet.converge({ service: spec });
      expectEnd(end.service, undefined);
      const created = fleet.mutations.some(({ plan }) => said(plan).startsWith('create'));
      if (ours.env === undefined && !created) {
        must(sameValue(fleet.api.environments.get(id), { THEIRS: 'kept' }), 'its environment is kept');
      }
      if (end.service.kind === 'in-sync') expectAs(fleet, spec);
    }),
    { numRuns: 25 },
  );
});

test('round trip: a, then b, then a again ends as a', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyChoices,
      anySpec(sharedStorage),
      anySpec(sharedStorage),
      anyVolumeSpec,
      anyVolumeSpec,
      async (choices, a, other, volumeOfA, volumeOfB) => {
        const { replacement, disruption, driftPolicy } = a;
        const b = { ...other, replacement, disruption, driftPolicy };
        const fleet = new ModelFleet(choices);
        const wanted = { service: a, volume: volumeOfA };
        const first = await fleet.converge(wanted);
        await fleet.converge({ service: b, volume: volumeOfB });
        const last = await fleet.converge(wanted);
        const grew = volumeOfB.sizeGb > volumeOfA.sizeGb;
        if (last.volume && (!grew || said(last.volume) !== 'hold ShrinkRefused')) {
          must(said(last.volume) === (first.volume && said(first.volume)), 'the volume ends as it was');
        }
        if (first.service.kind !== 'in-sync') return;
        // `disruption: Never` forbids the way back as it forbids any other; and what only b gave is not unset by saying nothing.
        if (!['hold DisruptionForbidden', 'hold FieldRemoved'].includes(said(last.service))) {
          must(said(last.service) === 'in-sync', `${said(last.service)} is in sync again`);
          expectAs(fleet, a);
        }
      },
    ),
    { numRuns: 15 },
  );
});

/** Field by field, without the planner's help. */
function expectAs(fleet: ModelFleet, spec: ContainerServiceSpec): void {
  const service = fleet.api.onlyService;
  if (!service) throw new Error('there is no service');
  const same = (field: string, wanted: unknown, seen: unknown) =>
    must(wanted === undefined || sameValue(wanted, seen), `${field} is as desired`);
  same('region', spec.region, service.region);
  same('image', spec.image, service.image);
  same('resources', spec.resources, service.resources);
  same('httpPort', spec.httpPort, service.httpPort);
  same('command', spec.command, service.command ?? []);
  const sleep = spec.sleepAfterMinutes === undefined ? undefined : spec.sleepAfterMinutes || null;
  same('sleepAfterMinutes', sleep, service.sleepAfterMinutes);
  const states = spec.desiredState === 'Stopped' ? ['paused'] : ['running', 'sleeping'];
  must(states.includes(service.state ?? ''), `${service.state} is ${spec.desiredState}`);
  const sent = Object.entries(fleet.api.environments.get(service.id) ?? {});
  const own = Object.fromEntries(sent.filter(([name]) => parseBeacon(name) === undefined));
  const desired = environmentOf(spec);
  same('env', desired.kind === 'given' ? desired.values.reveal() : undefined, own);
}

// ---- safety over arbitrary inputs --------------------------------------------------------------------

const gate: Gate = { kind: 'hold', reason: 'MassChangeBrake', message: 'shut' };
/** The first value, now and then one of the others. */
const mostly = <Value>(first: Value, ...others: Value[]) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const anyGates = fc.record({
  creation: mostly<Gate | undefined>(undefined, gate),
  deletion: mostly<Gate | undefined>(undefined, gate),
  spending: mostly<Gate | undefined>(undefined, gate),
});
const anyState = fc.constantFrom(
  'running',
  'running',
  'running',
  'error',
  'paused',
  'sleeping',
  'paused',
  'error',
  'provisioning',
  'deleting',
  'migrating',
  undefined,
);
const baseService = aService();
const baseVolume = aVolume();
const anyService = fc
  .record({
    state: anyState,
    revision: mostly<number | undefined>(5, undefined),
    image: fc.constantFrom('a:1', 'b:2', null),
    command: fc.constantFrom(null, ['run']),
    httpPort: fc.constantFrom(null, 80),
    region: fc.constantFrom('standard', 'economy', null),
    resources: anyResources,
    sleepAfterMinutes: fc.constantFrom(null, 5),
    environmentNames: fc.constantFrom(null, [], ['A'], [beacon()], ['A', beacon({ A: '1' })]),
    volumeId: fc.constantFrom(null, volumeId),
  })
  .map(over(baseService));
const anyAnnotations = mostly<Readonly<Record<string, string>>>(
  {},
  { [annotations.confirmDataLoss]: 'trainer' },
  { [annotations.confirmDataLoss]: 'other' },
  { [annotations.paused]: 'true' },
);
const compared = ['image', 'command', 'httpPort', 'resources', 'sleepAfterMinutes'] as const;

/** Mostly as the spec says: otherwise one difference hides all those behind it. */
const anyServiceInputs: fc.Arbitrary<ServiceInputs> = fc
  .record({
    spec: anySpec(ownStorage),
    past: anySpec(ownStorage),
    known: fc.constantFrom('past', 'present', 'nothing'),
    sameStorage: mostly(true, false),
    shown: anyService,
    same: fc.oneof(fc.constant(compared), fc.subarray([...compared])) as fc.Arbitrary<typeof compared>,
    sameEnv: mostly(true, false),
    samePlace: mostly(true, false),
    there: mostly<'there' | 'gone' | 'new'>('there', 'gone', 'new'),
    deleting: mostly(false, true),
    annotations: anyAnnotations,
    ownsStorage: fc.boolean(),
    gates: anyGates,
    activities: fc.constantFrom([], [{ released: true }], [{ fresh: false }], [{ released: true }, {}]),
    volume: fc.constantFrom<ServiceInputs['volume']>(
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'usable', id: volumeId },
      { kind: 'usable', id: volumeId },
      { kind: 'growing', id: volumeId, message: '', needsPause: true, failed: false },
      { kind: 'growing', id: volumeId, message: '', needsPause: true, failed: true },
      { kind: 'not-ready', id: volumeId, message: '' },
    ),
    record: fc.constantFrom({}, { deletedByUs: true }, { kind: { pausedFor: 'VolumeExpansion' as const } }),
  })
  .map(({ spec, past, known, sameStorage, shown, same, sameEnv, samePlace, there, ...rest }) => {
    const fixed = sameStorage ? { storage: spec.storage, geography: spec.geography } : {};
    const before = known === 'past' ? { ...past, ...fixed } : spec;
    const like = Object.fromEntries(same.map((field) => [field, spec[field] ?? null]));
    const desired = environmentOf(spec);
    const values = desired.kind === 'given' ? desired.values.reveal() : undefined;
    const variables = sameEnv ? { environmentNames: [...Object.keys(values ?? {}), beacon(values)] } : {};
    const place = samePlace ? { region: spec.region, name: spec.serviceName ?? 'trainer' } : {};
    const attached = 'id' in rest.volume && samePlace ? { volumeId } : {};
    const service = { ...shown, ...like, ...variables, ...place, ...attached } as wire.Service;
    return serviceInputs({
      ...rest,
      spec,
      before: known === 'nothing' ? 'nothing' : before,
      service: there === 'there' ? service : there,
    });
  });

test('the arbitrary inputs lead to every action', () => {
  const plans = fc.sample(anyServiceInputs, { numRuns: 1000, seed: 1 }).map(planService);
  const done = plans.map((plan) => (plan.kind === 'act' ? plan.step.action.do : plan.kind));
  expect([...new Set(done)].sort()).toEqual([
    'create-service',
    'delete-service',
    'hold',
    'in-sync',
    'patch-service',
    'resize-service',
    'restart-service',
    'set-sleep-policy',
    'start-service',
    'stop-service',
    'wait',
  ]);
});

/** The law, on every plan that acts. */
function lawOfActs(law: (inputs: ServiceInputs, plan: Plan & { kind: 'act' }) => void): () => void {
  const property = fc.property(anyServiceInputs, (inputs) => {
    const plan = planService(inputs);
    if (plan.kind === 'act') law(inputs, plan);
  });
  return () => fc.assert(property, { numRuns: 300 });
}

test('an action is only ever on the id that was observed, in a state that is known, and not against a brake', () => {
  const law = lawOfActs(({ observation, object, gates }, { step: { action } }) => {
    must(object.annotations[annotations.paused] === undefined, 'paused stops it');
    const seen = observation.kind === 'present' ? observation.value : undefined;
    const known = ['running', 'sleeping', 'paused', 'error', ...(object.deleting ? ['provisioning'] : [])];
    if ('id' in action) {
      must(action.id === seen?.id, 'it is on what was observed');
      must(known.includes(seen?.state ?? ''), 'its state is known');
    } else {
      must(observation.kind === 'absent' && !gates.creation, 'nothing is there, and it may be created');
    }
    must(action.do !== 'delete-service' || !gates.deletion, 'it may be deleted');
    const costs = action.do === 'create-service' || action.do === 'start-service';
    must(!costs || !gates.spending, 'it may cost more');
  });
  expect(law).not.toThrow();
});

test('nothing is deleted under Retain, or without the word where it owns storage, or without being asked to', () => {
  const law = lawOfActs(({ object, ownsStorage }, { step: { action } }) => {
    if (action.do !== 'delete-service') return;
    const { deletionPolicy, replacement, serviceName = 'trainer' } = object.spec;
    must(object.deleting ? deletionPolicy === 'Delete' : replacement === 'Recreate', 'it was asked for');
    const word = object.annotations[annotations.confirmDataLoss];
    must(!ownsStorage || word === serviceName, 'the word was given');
  });
  expect(law).not.toThrow();
});

test('what may interrupt a service is never done while an activity is unreleased, unless Always', () => {
  const law = lawOfActs(({ observation, object, activities = [] }, { step: { action } }) => {
    const state = observation.kind === 'present' ? observation.value.state : undefined;
    const up = state === 'running' || state === 'error' || state === 'provisioning';
    const disruptive = ['stop-service', 'restart-service', 'patch-service', 'resize-service'];
    if (action.do !== 'delete-service' && !(up && disruptive.includes(action.do))) return;
    const { disruption } = object.spec;
    const free = activities.every(({ released }) => released);
    must(disruption === 'Always' || (disruption === 'WhenUnprotected' && free), 'it may be interrupted');
  });
  expect(law).not.toThrow();
});

test('a patch is never empty, and its environment is absent or the whole desired map with one beacon', () => {
  const law = lawOfActs(({ object: { spec }, owner }, { step: { action } }) => {
    if (action.do !== 'patch-service' && action.do !== 'create-service') return;
    const sent = sentEnvironment(action);
    if (action.do === 'patch-service') {
      const fields = Object.entries(action.patch);
      must(fields.length > 0 || sent !== undefined, 'there is something in it');
      const asDesired = fields.every(([field, value]) =>
        sameValue(value, spec[field as 'image' | 'command' | 'httpPort']),
      );
      must(asDesired, 'its fields are those of the spec');
      must(sent === undefined || spec.env !== undefined, 'what is not given is not sent');
    }
    const desired = environmentOf(spec);
    const values = desired.kind === 'given' ? desired.values : undefined;
    const names = [...Object.keys(values?.reveal() ?? {}), beaconName(owner, serviceUid, values)];
    must(sent === undefined || sameValue(Object.keys(sent).sort(), names.sort()), 'it is whole');
    const whole = Object.entries(values?.reveal() ?? {}).every(([name, value]) => sent?.[name] === value);
    must(sent === undefined || whole, 'its values are the desired ones');
  });
  expect(law).not.toThrow();
});

test('planning is pure: the same inputs give the same plan, and are left as they were', () => {
  fc.assert(
    fc.property(anyServiceInputs, (inputs) => {
      const before = JSON.stringify(inputs);
      deepFreeze(inputs);
      expect(sameValue(planService(inputs), planService(inputs))).toBe(true);
      expect(JSON.stringify(inputs)).toBe(before);
    }),
    { numRuns: 100 },
  );
});

test('volumes: never shrunk, never grown under a service that is not paused, deleted only when free and told to', () => {
  const seen = new Set<string>();
  const world = fc.record({
    spec: anyVolumeSpec,
    before: fc.oneof(anyVolumeSpec, fc.constant('nothing' as const)),
    volume: fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom('gone' as const, 'new' as const) },
      {
        weight: 6,
        arbitrary: fc
          .record({
            status: mostly<string | undefined>('ready', 'expanding', 'error', 'deleting', 'odd', undefined),
            sizeGb: mostly<number | null>(20, 10, 50, null),
            requestedSizeGb: mostly<number | null>(20, 10, 50, null),
            provisioned: mostly(true, false),
            mode: mostly('independent', 'service'),
            revision: mostly<number | undefined>(3, undefined),
            serviceId: mostly<string | null>(null, serviceId),
          })
          .map(over(baseVolume)),
      },
    ),
    deleting: fc.constantFrom(false, false, true),
    annotations: anyAnnotations,
    attachedTo: fc.constantFrom(
      { kind: 'none' } as const,
      { kind: 'ours', id: serviceId, name: 'trainer', state: 'running' } as const,
      { kind: 'ours', id: serviceId, name: 'trainer', state: 'paused' } as const,
      { kind: 'foreign', id: serviceId, state: 'running' } as const,
      { kind: 'foreign', id: serviceId, state: 'paused' } as const,
    ),
    volumesInAccount: fc.constantFrom(1, 49, 50),
    gates: anyGates,
  });
  fc.assert(
    fc.property(world.map(volumeInputs), (inputs) => {
      const plan = planVolume(inputs);
      if (plan.kind !== 'act') return;
      const { action } = plan.step;
      const { object, observation, attachedTo, gates } = inputs;
      const volume = observation.kind === 'present' ? observation.value : undefined;
      seen.add(action.do);
      must(object.annotations[annotations.paused] === undefined, 'paused stops it');
      must(!('id' in action) || action.id === volume?.id, 'it is on what was observed');
      if (action.do === 'update-volume') {
        must(volume?.status === 'ready', 'only what is ready is changed');
        must(action.name !== undefined || action.sizeGb !== undefined, 'there is something in it');
        if (action.sizeGb === undefined) return;
        must(action.sizeGb > (volume?.requestedSizeGb ?? volume?.sizeGb ?? Infinity), 'it grows');
        must(attachedTo.kind === 'none' || attachedTo.state === 'paused', 'its service is paused');
        must(!gates.spending, 'it may cost more');
      } else if (action.do === 'delete-volume') {
        must(object.deleting && object.spec.deletionPolicy === 'Delete', 'it was asked for');
        must(volume?.mode === 'independent', 'it is independent');
        must(attachedTo.kind === 'none' && !volume?.serviceId, 'nothing is attached');
        must(!gates.deletion, 'it may be deleted');
      } else {
        must(observation.kind === 'absent' && inputs.volumesInAccount < 50, 'there is room for it');
        must(!gates.creation && !gates.spending, 'it may be created');
      }
    }),
    { numRuns: 600 },
  );
  expect([...seen].sort()).toEqual(['create-volume', 'delete-volume', 'update-volume']);
});

// ---- templates and registries --------------------------------------------------------------------------

const anyTemplateFields = {
  command: fc.constantFrom(undefined, [], ['run']),
  resources: fc.option(anyResources, { nil: undefined }),
  httpPort: fc.constantFrom(undefined, 80, 8080),
  containerDiskGb: fc.constantFrom(undefined, 10, 20),
  workspaceGb: fc.constantFrom(undefined, 50),
  sleepAfterMinutes: fc.constantFrom(undefined, 5),
  requiredEnvironment: fc.constantFrom(undefined, [], ['A'], ['A', 'B']),
};
const baseTemplateSpec = aTemplateSpec();
const anyTemplateSpec = fc
  .record({
    ...anyTemplateFields,
    sleepAfterMinutes: fc.constantFrom(undefined, null, 0, 5),
    templateName: fc.constantFrom(undefined, 'other'),
    description: fc.constantFrom(undefined, '', 'Ours.', 'Ours.\nTwo lines.\n'),
    image: fc.constantFrom('postgres:17', 'a.example/b:2'),
    driftPolicy: mostly('Correct', 'Report'),
    deletionPolicy: mostly('Delete', 'Retain'),
  })
  .map(over(baseTemplateSpec));

const anyTemplate = fc
  .record({
    ...anyTemplateFields,
    name: fc.constantFrom('pytorch', 'theirs'),
    description: fc.constantFrom('', 'Theirs.', mark, `Theirs.\n${mark}`),
    image: fc.constantFrom('docker.io/library/postgres:17', 'theirs:1'),
    revision: mostly<number | undefined>(4, undefined),
  })
  .map((shown) => applyTemplate(shown as wire.TemplateSpec, aTemplate({ revision: shown.revision })));

/** As the contract has it: replaced, not merged, and what is left out takes its default again. */
function applyTemplate(spec: wire.TemplateSpec, template: wire.Template): wire.Template {
  const defaults = aTemplate({ id: template.id, revision: template.revision, description: '' });
  const given = Object.entries(spec).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}

test('a template: one replacement makes it as the spec says, and nothing that the spec does not give is lost', () => {
  const world = fc.record({
    spec: anyTemplateSpec,
    before: fc.oneof(anyTemplateSpec, fc.constant('nothing' as const)),
    template: fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom('gone' as const, 'new' as const) },
      { weight: 6, arbitrary: anyTemplate },
    ),
    deleting: mostly(false, true),
    annotations: anyAnnotations,
    templatesInAccount: fc.constantFrom(1, 49, 50),
    gates: anyGates,
  });
  const seen = new Set<string>();
  fc.assert(
    fc.property(world.map(templateInputs), (inputs) => {
      const plan = planTemplate(deepFreeze(inputs));
      must(sameValue(plan, planTemplate(inputs)), 'it is planned twice alike');
      if (plan.kind !== 'act') return;
      const { action } = plan.step;
      const { object, observation, gates } = inputs;
      const template = observation.kind === 'present' ? observation.value : undefined;
      seen.add(action.do);
      must(object.annotations[annotations.paused] === undefined, 'paused stops it');
      must(!('id' in action) || action.id === template?.id, 'it is on what was observed');
      if (action.do === 'delete-template') {
        must(object.deleting && object.spec.deletionPolicy === 'Delete', 'it was asked for');
        must(!gates.deletion, 'it may be deleted');
      } else if (action.do === 'create-template') {
        must(!template && inputs.templatesInAccount < 50 && !gates.creation, 'there is room for it');
      } else if (action.do === 'replace-template' && template) {
        must(!object.deleting && action.revision === template.revision, 'it rests on the read');
        expectReplaced(inputs, action.spec, template);
      }
    }),
    { numRuns: 600 },
  );
  expect([...seen].sort()).toEqual(['create-template', 'delete-template', 'replace-template']);
});

function expectReplaced(inputs: TemplateInputs, sent: wire.TemplateSpec, before: wire.Template): void {
  const after = applyTemplate(sent, before);
  const { spec } = inputs.object;
  const record = { ...inputs.record, applied: templateDigests(inputs) };
  const again = planTemplate({ ...inputs, record, observation: { kind: 'present', value: after } });
  must(again.kind === 'in-sync' && again.differences.length === 0, 'it is as the spec says');
  for (const field of Object.keys(anyTemplateFields) as (keyof typeof anyTemplateFields)[]) {
    const applied = inputs.record.applied[field];
    const isTakenOut = applied !== undefined && applied !== inputs.owner.digestKey.digest(undefined);
    if (spec[field] !== undefined || isTakenOut) continue;
    must(sameValue(after[field] ?? null, before[field] ?? null), `${field} is not lost`);
  }
}

test('a registry: never deleted while something is awake, never rotated without a reason, and no secret in a plan', () => {
  const password = 'pass-of-the-registry';
  const baseline = { id: registryId, revision: 4, state: undefined, at: 0 };
  const world = fc.record({
    spec: fc
      .record({
        driftPolicy: mostly('Correct', 'Report'),
        deletionPolicy: mostly('Delete', 'Retain'),
        repository: mostly('ghcr.io/acme/trainer', 'GHCR.io/acme/trainer', 'ghcr.io/acme/web'),
      })
      .map(over(aRegistrySpec())),
    registry: fc.oneof(
      fc.constantFrom('gone' as const, 'new' as const),
      fc
        .record({
          revision: mostly<number | undefined>(4, 5, undefined),
          repository: mostly('ghcr.io/acme/trainer', undefined),
        })
        .map((shown) => aRegistry(shown)),
    ),
    credentials: fc.constantFrom<RegistryInputs['credentials']>(
      credentials(password),
      credentials(`${password}-2`),
      { kind: 'unmanaged' },
      { kind: 'problem', reason: 'InvalidReference', path: ['spec'], message: 'no Secret' },
    ),
    before: fc.constantFrom<RegistryInputs['credentials']>(credentials(password), { kind: 'unmanaged' }),
    record: fc.constantFrom({}, { baseline }, { baseline, resentFor: 1 }, { doubted: ['credentials'] }),
    deleting: mostly(false, true, true),
    annotations: anyAnnotations,
    linked: fc.array(
      fc
        .constantFrom('sleeping', 'running', 'paused', 'provisioning', undefined)
        .map((state) => aLink(state)),
      { maxLength: 2 },
    ),
    registriesInAccount: fc.constantFrom(1, 19, 20),
    gates: anyGates,
  });
  const seen = new Set<string>();
  fc.assert(
    fc.property(world, (given) => {
      const inputs = registryInputs(given);
      const plan = planRegistry(deepFreeze(inputs));
      must(!JSON.stringify(plan).includes(password), 'no secret is in it');
      if (plan.kind !== 'act') return;
      const { action } = plan.step;
      const { object, observation, gates, linked, record } = inputs;
      const registry = observation.kind === 'present' ? observation.value : undefined;
      seen.add(action.do);
      must(object.annotations[annotations.paused] === undefined, 'paused stops it');
      must(!('id' in action) || action.id === registry?.id, 'it is on what was observed');
      if (action.do === 'delete-registry') {
        must(
          object.deleting && object.spec.deletionPolicy === 'Delete' && !gates.deletion,
          'it was asked for',
        );
        must(
          linked.every(({ state }) => state === 'sleeping'),
          'all of its services sleep',
        );
      } else if (action.do === 'create-registry') {
        must(!registry && inputs.registriesInAccount < 20 && !gates.creation, 'there is room for it');
      } else if (action.do === 'rotate-registry') {
        const isNew = !sameValue(registryDigests(inputs), record.applied);
        const isMoved = (registry?.revision ?? 0) > (record.baseline?.revision ?? Infinity);
        must(isNew || isMoved || record.doubted.length > 0, 'there is a reason');
        must([undefined, action.repository].includes(registry?.repository), 'the repository stays');
        must(
          linked.every(({ state }) => state !== 'provisioning'),
          'no rollout is under way',
        );
      }
    }),
    { numRuns: 800 },
  );
  expect([...seen].sort()).toEqual(['create-registry', 'delete-registry', 'rotate-registry']);
});
