/**
 * Builders for planners: a world in few words. Unless told otherwise, a service exists, runs, carries our beacon
 * and is as its spec says; what is given in `before` is the spec that was last applied.
 */
import { wire } from '../../src/api/index.ts';
import { Sensitive, digestKey } from '../../src/base/index.ts';
import {
  type Action,
  type DesiredEnvironment,
  type Gates,
  type Observation,
  type Owner,
  type Plan,
  beaconName,
  compactUid,
  derivedUid,
  ownerId,
  volumeMark,
} from '../../src/engine/plan/index.ts';
import { planService } from '../../src/kinds/container-service/plan.ts';
import { planVolume, volumeDigests } from '../../src/kinds/storage-volume/plan.ts';
import { serviceDigests } from '../../src/kinds/container-service/fields.ts';
import type { ServiceInputs } from '../../src/kinds/container-service/inputs.ts';
import type { VolumeInputs } from '../../src/kinds/storage-volume/inputs.ts';
import {
  apiVersion,
  documents,
  objectKey,
  type ContainerServiceSpec,
  type ObjectKey,
  type StorageVolumeSpec,
} from '../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../src/state/index.ts';

/** As another process, or the same one after it lost its state, would have made them. */
export function anOwner(name = 'lab', keyByte = 7): Owner {
  return { id: ownerId(name), digestKey: digestKey(Buffer.alloc(32, keyByte)) };
}

export const owner = anOwner();
export const serviceKey = objectKey('ContainerService', 'default', 'trainer');
export const volumeKey = objectKey('StorageVolume', 'default', 'dataset');
export const serviceUid = derivedUid('lab', serviceKey);
export const volumeUid = derivedUid('lab', volumeKey);
export const serviceId = '11111111-1111-4111-8111-111111111111';
export const volumeId = '22222222-2222-4222-8222-222222222222';
/** Unix milliseconds of every plan, unless told otherwise: 2026-11-21T12:00:00Z, a Saturday. */
export const now = Date.UTC(2026, 10, 21, 12);
export const noGates: Gates = { creation: undefined, deletion: undefined, spending: undefined };

// ---- what people write -------------------------------------------------------------------------------

/** A spec as the schema gives it, with all its defaults. */
export function aSpec(more: Readonly<Record<string, unknown>> = {}): ContainerServiceSpec {
  const spec = {
    region: 'standard',
    image: 'ghcr.io/acme/trainer:1.4',
    resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
    ...more,
  };
  return documents.ContainerService.parse({
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: 'trainer' },
    spec,
  }).spec;
}

export function aVolumeSpec(more: Readonly<Record<string, unknown>> = {}): StorageVolumeSpec {
  const spec = { region: 'standard', sizeGb: 100, ...more };
  const metadata = { name: 'dataset' };
  return documents.StorageVolume.parse({ apiVersion, kind: 'StorageVolume', metadata, spec }).spec;
}

/** The map that `env` of a spec stands for; undefined when the spec gives none. */
export function environmentOf(spec: ContainerServiceSpec): DesiredEnvironment {
  if (spec.env === undefined) return { kind: 'unmanaged' };
  const values = Object.fromEntries(spec.env.map(({ name, value }) => [name, value ?? '']));
  return { kind: 'given', values: new Sensitive(values) };
}

export function env(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

// ---- what the API shows ------------------------------------------------------------------------------

/** A running service that is as `aSpec()` says. */
export function aService(more: Readonly<Record<string, unknown>> = {}): wire.Service {
  return wire.service.parse({
    id: serviceId,
    name: 'trainer',
    state: 'running',
    revision: 5,
    region: 'standard',
    geography: 'eu-north',
    image: 'ghcr.io/acme/trainer:1.4',
    command: null,
    httpPort: null,
    endpoint: null,
    resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
    environmentNames: [beacon()],
    volumeId: null,
    sleepAfterMinutes: null,
    ...more,
  });
}

/** Our beacon over the given environment; without one, over one that is not managed. */
export function beacon(values?: Readonly<Record<string, string>>, of: Owner = owner): string {
  return beaconName(of, serviceUid, values && new Sensitive(values));
}

/** The names that a service shows after we sent `values`. */
export function names(values: Readonly<Record<string, string>>, of: Owner = owner): string[] {
  return [...Object.keys(values), beacon(values, of)];
}

/** A ready volume that is as `aVolumeSpec()` says. */
export function aVolume(more: Readonly<Record<string, unknown>> = {}): wire.Volume {
  return wire.volume.parse({
    id: volumeId,
    name: `dataset${volumeMark(owner, volumeUid)}`,
    mode: 'independent',
    serviceId: null,
    status: 'ready',
    revision: 3,
    region: 'standard',
    geography: 'eu-north',
    sizeGb: 100,
    requestedSizeGb: 100,
    provisioned: true,
    ...more,
  });
}

export function anActivity(more: Readonly<Record<string, unknown>> = {}): wire.Activity {
  return { id: compactUid(serviceUid), name: 'epoch 7', fresh: true, ...more };
}

// ---- what we remember --------------------------------------------------------------------------------

export function aRecord(key: ObjectKey, more: Partial<ObjectRecord> = {}): ObjectRecord {
  return {
    ...newRecord(key, derivedUid('lab', key)),
    file: 'fleet.yaml',
    line: 1,
    account: 'default/default',
    ...more,
  };
}

// ---- inputs ------------------------------------------------------------------------------------------

export interface ServiceWorld {
  readonly spec?: ContainerServiceSpec;
  /** The spec that was last applied; the present one unless given. `nothing`: none ever was. */
  readonly before?: ContainerServiceSpec | 'nothing';
  /** What the account shows; `gone`: not there any more, `new`: never was. */
  readonly service?: wire.Service | 'gone' | 'new';
  readonly observation?: Observation<wire.Service>;
  readonly record?: Partial<ObjectRecord>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly restartedFor?: string;
  readonly environment?: DesiredEnvironment;
  readonly volume?: ServiceInputs['volume'];
  readonly replacementVolume?: ServiceInputs['volume'];
  readonly template?: ServiceInputs['template'];
  readonly registry?: ServiceInputs['registry'];
  readonly attachedVolume?: wire.Volume;
  readonly volumesInAccount?: number;
  readonly ownsStorage?: boolean;
  readonly gates?: Partial<Gates>;
  readonly activities?: readonly wire.Activity[];
  readonly remediations?: ServiceInputs['remediations'];
  readonly declaredTasks?: readonly string[];
  readonly holdsActivity?: boolean;
  readonly shed?: ServiceInputs['shed'];
  readonly nowMs?: number;
  readonly owner?: Owner;
}

export function serviceInputs(world: ServiceWorld = {}): ServiceInputs {
  const { spec = aSpec(), service = aService(), before = spec, volume = { kind: 'none' } } = world;
  const inputs = (of: ContainerServiceSpec): ServiceInputs => ({
    object: {
      name: 'trainer',
      annotations: world.annotations ?? {},
      spec: of,
      deleting: world.deleting ?? false,
      restartedFor: world.restartedFor,
    },
    record: aRecord(serviceKey, {
      externalId: service === 'new' ? undefined : serviceId,
      restartToken: before === 'nothing' ? undefined : before.restartToken,
    }),
    owner: world.owner ?? owner,
    observation: world.observation ?? observationOf(service),
    environment: world.environment ?? environmentOf(of),
    secretValues: () => {
      const environment = world.environment ?? environmentOf(of);
      return environment.kind === 'given' ? Object.values(environment.values.reveal()) : [];
    },
    volume,
    replacementVolume: world.replacementVolume ?? { kind: 'none' },
    template: world.template ?? { kind: 'none' },
    registry: world.registry ?? { kind: 'none' },
    attachedVolume: world.attachedVolume,
    volumesInAccount: world.volumesInAccount ?? 1,
    ownsStorage: world.ownsStorage ?? false,
    gates: { ...noGates, ...world.gates },
    driftBrake: () => undefined,
    activities: world.activities,
    declaredTasks: world.declaredTasks ?? [],
    holdsActivity: () => world.holdsActivity ?? false,
    remediations: world.remediations ?? { services: 1, underWay: 0 },
    shed: world.shed,
    nowMs: world.nowMs ?? now,
  });
  const applied = before === 'nothing' || service === 'new' ? {} : serviceDigests(inputs(before));
  const current = inputs(spec);
  return { ...current, record: { ...current.record, applied, ...world.record } };
}

export interface VolumeWorld {
  readonly spec?: StorageVolumeSpec;
  readonly before?: StorageVolumeSpec | 'nothing';
  readonly volume?: wire.Volume | 'gone' | 'new';
  readonly observation?: Observation<wire.Volume>;
  readonly record?: Partial<ObjectRecord>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly attachedTo?: VolumeInputs['attachedTo'];
  readonly volumesInAccount?: number;
  readonly gates?: Partial<Gates>;
}

export function volumeInputs(world: VolumeWorld = {}): VolumeInputs {
  const { spec = aVolumeSpec(), volume = aVolume(), before = spec } = world;
  const inputs = (of: StorageVolumeSpec): VolumeInputs => ({
    object: {
      name: 'dataset',
      annotations: world.annotations ?? {},
      spec: of,
      deleting: world.deleting ?? false,
    },
    record: aRecord(volumeKey, { externalId: volume === 'new' ? undefined : volumeId }),
    owner,
    observation: world.observation ?? observationOf(volume),
    attachedTo: world.attachedTo ?? { kind: 'none' },
    volumesInAccount: world.volumesInAccount ?? 1,
    gates: { ...noGates, ...world.gates },
    driftBrake: () => undefined,
  });
  const applied = before === 'nothing' || volume === 'new' ? {} : volumeDigests(inputs(before));
  const current = inputs(spec);
  return { ...current, record: { ...current.record, applied, ...world.record } };
}

function observationOf<Value>(value: Value | 'gone' | 'new'): Observation<Value> {
  return typeof value === 'string' ? { kind: 'absent', confirmed: true } : { kind: 'present', value };
}

export const servicePlan = (world?: ServiceWorld): Plan => planService(serviceInputs(world));
export const volumePlan = (world?: VolumeWorld): Plan => planVolume(volumeInputs(world));

// ---- plans in words ----------------------------------------------------------------------------------

/** `in-sync`, `wait REASON`, `hold REASON`, or the action with its reason: `patch-service (SpecChanged)`. */
export function said(plan: Plan): string {
  switch (plan.kind) {
    case 'in-sync':
      return 'in-sync';
    case 'act':
      return `${plan.step.action.do} (${plan.step.reason})`;
    case 'arrange':
    case 'wait':
    case 'hold':
      return `${plan.kind} ${plan.reason}`;
  }
}

/** Everything that the plan does or would do, in order. */
export function stepsOf(plan: Plan): Action['do'][] {
  const steps =
    plan.kind === 'in-sync' || plan.kind === 'arrange'
      ? []
      : plan.kind === 'act'
        ? [plan.step, ...plan.later]
        : plan.steps;
  return steps.map((step) => step.action.do);
}

/** The action of the plan, which has to be of this name. */
export function actionOf<Name extends Action['do']>(plan: Plan, name: Name): Extract<Action, { do: Name }> {
  const action = plan.kind === 'act' ? plan.step.action : undefined;
  if (action?.do !== name) throw new Error(`${name} was expected, the plan is ${said(plan)}`);
  return action as Extract<Action, { do: Name }>;
}

/** Paths that differ, those that somebody else moved with an asterisk. */
export function differing(plan: Plan): string[] {
  return plan.differences.map(({ path, drift }) => (drift ? `${path}*` : path));
}

/** The map that an action sends, or undefined when it sends none. */
export function sentEnvironment(action: Action): Readonly<Record<string, string>> | undefined {
  return 'environment' in action ? action.environment?.reveal() : undefined;
}

/** The same value, so that nobody can change it. `Sensitive` keeps its own value out of reach anyway. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
