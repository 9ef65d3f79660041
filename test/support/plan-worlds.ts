/** Arbitrary specs, and a fleet of one service and perhaps one volume that runs pass by pass on the model. */
import * as fc from 'fast-check';
import pino from 'pino';
import { ManualClock } from './manual-clock.ts';
import { ModelApi, type ModelChoices } from './model-api.ts';
import {
  aRecord,
  aSpec,
  aVolumeSpec,
  deepFreeze,
  env,
  environmentOf,
  noGates,
  now,
  owner,
  serviceKey,
  volumeKey,
} from './plan.ts';
import { systemRandom } from '../../src/base/index.ts';
import type { wire } from '../../src/api/index.ts';
import { execute, type ExecutorOptions, type Target } from '../../src/engine/mutation/index.ts';
import { planService } from '../../src/kinds/container-service/plan.ts';
import { type Observation, type Plan, observed, rememberedDigests } from '../../src/engine/plan/index.ts';
import { planVolume, viewVolume, volumeDigests } from '../../src/kinds/storage-volume/plan.ts';
import { serviceDigests, shownService } from '../../src/kinds/container-service/fields.ts';
import type { ServiceInputs, VolumeView } from '../../src/kinds/container-service/inputs.ts';
import type { VolumeInputs } from '../../src/kinds/storage-volume/inputs.ts';
import { serviceMarks } from '../../src/kinds/container-service/marks.ts';
import { volumeMarks } from '../../src/kinds/storage-volume/marks.ts';
import { identify } from '../../src/engine/observation/observe.ts';
import {
  annotations,
  type ContainerServiceSpec,
  type ObjectKey,
  type StorageVolumeSpec,
} from '../../src/resources/index.ts';
import { MemoryStore, type ObjectRecord } from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';

// ---- arbitrary specs ---------------------------------------------------------------------------------

/** Parsed once: the schema is not what is tried here, and costs more than a plan. */
const baseSpec = aSpec();
const baseVolumeSpec = aVolumeSpec();
export const over =
  <Base>(base: Base) =>
  (fields: object): Base => ({ ...base, ...fields });

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
export const anyResources = fc.constantFrom(
  { gpuCount: 1, cpu: 8, memoryGb: 32 },
  { gpuCount: 0, cpu: 2, memoryGb: 4 },
  { gpuCount: 1, cpu: 4, memoryGb: 32 },
);
const anyEnv = fc
  .dictionary(fc.constantFrom('A', 'B', 'TOKEN'), fc.constantFrom('', '1', '2'), { maxKeys: 3 })
  .map(env);

/** `storage`: which forms of it. */
export function anySpec(storage: fc.Arbitrary<object | undefined>): fc.Arbitrary<ContainerServiceSpec> {
  return fc
    .record({
      serviceName: maybe(fc.constantFrom('trainer', 'other')),
      region: fc.constantFrom('standard', 'standard', 'economy'),
      geography: maybe(fc.constantFrom('auto', 'europe')),
      image: fc.constantFrom('a:1', 'b:2'),
      command: maybe(fc.constantFrom([], ['run'], ['run', 'it'])),
      resources: anyResources,
      httpPort: maybe(fc.constantFrom(80, 8080)),
      env: maybe(anyEnv),
      storage,
      sleepAfterMinutes: fc.constantFrom(undefined, null, 0, 5, 30),
      desiredState: fc.constantFrom('Running', 'Running', 'Stopped'),
      restartToken: fc.constantFrom(undefined, '1', '2'),
      disruption: fc.constantFrom('WhenUnprotected', 'Always', 'WhenUnprotected', 'Never'),
      driftPolicy: fc.constantFrom('Correct', 'Report'),
      replacement: fc.constantFrom('Never', 'Recreate'),
      deletionPolicy: fc.constantFrom('Delete', 'Retain'),
    })
    .map(over(baseSpec));
}

export const noStorage = fc.constant(undefined);
export const ownStorage = fc.constantFrom(
  undefined,
  { volumeGb: 20 },
  { volumeGb: 30 },
  { volumeGb: 20, volumeMode: 'independent' },
);
export const sharedStorage = fc.constant({ volumeRef: { name: 'dataset' } });

export const anyVolumeSpec: fc.Arbitrary<StorageVolumeSpec> = fc
  .record({
    volumeName: maybe(fc.constantFrom('dataset', 'corpus')),
    region: fc.constantFrom('standard', 'standard', 'standard', 'economy'),
    geography: maybe(fc.constantFrom('auto', 'europe')),
    sizeGb: fc.constantFrom(10, 20, 50),
    expansion: fc.constantFrom('PauseService', 'PauseService', 'Never'),
    driftPolicy: fc.constantFrom('Correct', 'Report'),
    deletionPolicy: fc.constantFrom('Delete', 'Retain'),
  })
  .map(over(baseVolumeSpec));

export const anyChoices: fc.Arbitrary<ModelChoices> = fc.record({
  stopsAtOnce: fc.boolean(),
  shows: fc.constant('everything'),
});

// ---- a fleet, pass by pass ---------------------------------------------------------------------------

const metrics = createMetrics();
const logger = pino({ level: 'silent' });

export interface Wanted {
  readonly service: ContainerServiceSpec;
  readonly volume?: StorageVolumeSpec | undefined;
  readonly word?: boolean;
}

/** The passes of the reconciler without its clock: observe, plan, execute, remember. */
export class ModelFleet {
  readonly api: ModelApi;
  readonly store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  readonly #options: ExecutorOptions;
  mutations: { readonly key: ObjectKey; readonly plan: Plan }[] = [];
  /** Of all passes. */
  readonly plans: Plan[] = [];

  constructor(choices: ModelChoices) {
    this.api = new ModelApi(choices);
    this.#options = {
      store: this.store,
      clock: new ManualClock(),
      random: systemRandom,
      logger,
      metrics,
    };
  }

  /**
   * Passes until nothing moves any more, and then some. Throws when that takes more than `most` mutations of
   * one object.
   */
  async converge(wanted: Wanted, most = 8): Promise<{ service: Plan; volume: Plan | undefined }> {
    this.mutations = [];
    for (let quiet = 0; quiet < 3;) {
      const before = this.mutations.length;
      const volume = wanted.volume && (await this.#passOverVolume(wanted, wanted.volume));
      const service = await this.#passOverService(wanted);
      const moved = this.api.tick() || this.mutations.length > before;
      quiet = moved ? 0 : quiet + 1;
      for (const key of [serviceKey, volumeKey]) {
        const own = this.mutations.filter((mutation) => mutation.key === key);
        if (own.length > most) throw new Error(`no end: ${own.map(({ plan }) => actName(plan)).join(', ')}`);
      }
      if (quiet === 3) return { service, volume };
    }
    throw new Error('not reached');
  }

  record(key: ObjectKey): ObjectRecord {
    return this.store.record(key) ?? aRecord(key);
  }

  /** What the planner of the service sees now. */
  inputsOf(wanted: Wanted): ServiceInputs {
    return this.#serviceInputs(wanted, confirmed(this.#identified(wanted).observation));
  }

  #identified({ service: { adopt } }: Wanted) {
    const identity = {
      record: this.record(serviceKey),
      owner,
      adoptId: adopt?.id,
      adoptFrom: undefined,
      takenBy: undefined,
      awaits: false,
      holderOf: () => undefined,
      others: () => [],
      needsKey: false,
      inCluster: false,
    };
    return identify(identity, this.api.services, serviceMarks);
  }

  async #passOverService(wanted: Wanted): Promise<Plan> {
    const { observation, found } = this.#identified(wanted);
    if (found !== undefined) {
      const { restartToken } = wanted.service;
      const bound = { externalId: found, deletedByUs: false, restartToken };
      await this.store.save({ ...this.record(serviceKey), ...bound });
    }
    const inputs = this.#serviceInputs(wanted, confirmed(observation));
    const plan = planTwice(planService, inputs);
    const value = observation.kind === 'present' ? observation.value : undefined;
    const { restartToken } = wanted.service;
    const shownIn = (answer: { id: string }) => shownService(inputs, answer);
    const shownBefore = value ? shownIn(value) : {};
    const { record } = inputs;
    const target = { record, digests: serviceDigests(inputs), restartToken, shownIn, shownBefore };
    await this.#carryOut(plan, { ...target, revision: value?.revision, state: value?.state }, observation);
    return plan;
  }

  async #passOverVolume(wanted: Wanted, spec: StorageVolumeSpec): Promise<Plan> {
    const inputs = this.#volumeInputs(wanted, spec);
    const plan = planTwice(planVolume, inputs);
    const value = inputs.observation.kind === 'present' ? inputs.observation.value : undefined;
    const target = { record: inputs.record, digests: volumeDigests(inputs), restartToken: undefined };
    const seen = { ...target, revision: value?.revision, state: value?.status };
    await this.#carryOut(plan, seen, inputs.observation);
    return plan;
  }

  /** One mutation, or what is remembered of an object that is as desired. */
  async #carryOut(
    plan: Plan,
    target: Target,
    observation: Observation<{ id: string; revision?: number | undefined }>,
  ): Promise<void> {
    const { key } = target.record;
    this.plans.push(plan);
    if (plan.kind === 'act') {
      this.mutations.push({ key, plan });
      const doubted = withUnconfirmed(target, plan);
      await execute(this.#options, this.api.client, plan.step, doubted, () => true);
    } else if (plan.kind === 'in-sync') {
      const { record, digests, restartToken } = target;
      const applied = rememberedDigests(record, digests);
      const settled = { ...record, applied, restartToken, refusal: undefined, repeated: undefined };
      await this.store.save({ ...settled, unconfirmed: [], ...observed(record, observation, plan, now) });
    } else {
      await this.store.save(target.record);
    }
  }

  #serviceInputs(wanted: Wanted, observation: Observation<wire.Service>): ServiceInputs {
    const { service: spec, volume, word = false } = wanted;
    const record = this.record(serviceKey);
    const value = observation.kind === 'present' ? observation.value : undefined;
    let view: VolumeView = { kind: 'none' };
    if (volume && (spec.storage?.volumeRef || this.#isAttached(value)))
      view = viewVolume(this.#volumeInputs(wanted, volume));
    const owned = [...this.api.volumes.values()].some(
      ({ serviceId, mode }) => value && serviceId === value.id && mode !== 'independent',
    );
    const asksForOwn = spec.storage?.volumeGb !== undefined && spec.storage.volumeMode !== 'independent';
    return {
      object: {
        name: 'trainer',
        annotations: word ? { [annotations.confirmDataLoss]: spec.serviceName ?? 'trainer' } : {},
        spec,
        deleting: record.deletionRequestedAt !== undefined,
      },
      record,
      owner,
      observation,
      environment: environmentOf(spec),
      secretValues: () => [],
      volume: view,
      replacementVolume: view,
      template: { kind: 'none' },
      registry: { kind: 'none' },
      attachedVolume: undefined,
      volumesInAccount: this.api.volumes.size,
      ownsStorage: owned || asksForOwn,
      shed: undefined,
      gates: noGates,
      driftBrake: () => undefined,
      activities: [],
      declaredTasks: [],
      holdsActivity: () => false,
      remediations: { services: 1, underWay: 0 },
      nowMs: now,
    };
  }

  /** The volume may be attached to a service whose document does not name it any more. */
  #isAttached(service: wire.Service | undefined): boolean {
    const volume = this.api.volumes.get(this.record(volumeKey).externalId ?? '');
    return service !== undefined && volume?.serviceId === service.id;
  }

  #volumeInputs({ word = false }: Wanted, spec: StorageVolumeSpec): VolumeInputs {
    const record = this.record(volumeKey);
    const { volumes, services } = this.api;
    const identity = {
      record,
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
    const observation = confirmed(identify(identity, volumes, volumeMarks).observation);
    const id = observation.kind === 'present' ? observation.value.serviceId : undefined;
    const state = id ? services.get(id)?.state : undefined;
    return {
      object: {
        name: 'dataset',
        annotations: word ? { [annotations.confirmDataLoss]: spec.volumeName ?? 'dataset' } : {},
        spec,
        deleting: record.deletionRequestedAt !== undefined,
      },
      record,
      owner,
      observation,
      attachedTo: id ? { kind: 'ours', id, name: 'trainer', state } : { kind: 'none' },
      volumesInAccount: volumes.size,
      gates: noGates,
      driftBrake: () => undefined,
    };
  }
}

/** Twice the same, from inputs that nobody can change: a planner is pure. */
function planTwice<Inputs>(planner: (inputs: Inputs) => Plan, inputs: Inputs): Plan {
  deepFreeze(inputs);
  const plan = planner(inputs);
  if (JSON.stringify(planner(inputs)) !== JSON.stringify(plan)) throw new Error('the planner is not pure');
  return plan;
}

function withUnconfirmed(target: Target, { differences }: Plan): Target {
  const paths = differences.filter(({ revisionMoved }) => revisionMoved).map(({ path }) => path);
  const doubted = [...new Set([...target.record.doubted, ...paths])];
  return { ...target, record: { ...target.record, doubted } };
}

/** The settle window has passed, as it were. */
function confirmed<Value>(observation: Observation<Value>): Observation<Value> {
  return observation.kind === 'absent' ? { kind: 'absent', confirmed: true } : observation;
}

function actName(plan: Plan): string {
  return plan.kind === 'act' ? `${plan.step.action.do} (${plan.step.reason})` : plan.kind;
}
