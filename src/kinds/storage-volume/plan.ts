/**
 * The planner of a StorageVolume.
 *
 *     absent ── create ──> provisioning ──> ready ── grow ──> expanding ──> ready
 *                                             └── delete ──> deleting ──> gone
 *
 * A volume never shrinks. It grows at once when nothing is attached, or when the attached service is paused
 * (§3 rule 5). A service that is to be created with it waits for that. Attached to a service that is not paused, it
 * grows only with `expansion: PauseService`: this planner then waits, and the planner of the service, which sees that
 * it waits, stops the service. Done is an expansion when status, `sizeGb`, `requestedSizeGb` and `provisioned` agree;
 * only then is the service started again. A growth that its budget or balance does not allow pauses nobody; a service that is paused for it
 * already stays so, since it would be stopped once more.
 *
 * It is deleted only when it is independent and attached to nothing (§4 rule 9), and gone only when the
 * account no longer shows it: the answer `deleting` proves nothing (§3 rule 4).
 */
import { createVolume, deleteVolume, updateVolume } from '../../actions/index.ts';
import type { RefusalMeaning, wire } from '../../api/index.ts';
import { limits } from '../../api/wire.ts';
import {
  compareFields,
  dataLossConfirmed,
  fieldDigests,
  geographyField,
  hasVanished,
  holdFor,
  holdForMassDrift,
  inSync,
  isFormOfName,
  planLifecycle,
  possibleForms,
  proceed,
  readVolumeMark,
  recheckMs,
  regionField,
  shownDigests,
  spendingGateOf,
  providerText,
  unusableReason,
  markedUid,
  volumeMark,
  volumeMarkId,
  volumeMarkStart,
  waitFor,
  withVolumeMark,
  withUnrecorded,
  type Difference,
  type Field,
  type Plan,
  type Step,
  type Wait,
} from '../../engine/plan/index.ts';
import { annotations, remoteName } from '../../resources/index.ts';
import type { Refusal } from '../../state/index.ts';
import type { VolumeView } from '../container-service/inputs.ts';
import type { VolumeInputs } from './inputs.ts';

const pausingService = 'PausingService';
const expanding = 'Expanding';
const passingStatuses = new Set(['provisioning', 'expanding', 'deleting']);
/** After these no service is stopped for the same update. One that is paused for it stays so: the growth is tried again after ten minutes. */
const finalRefusals: ReadonlySet<string> = new Set<RefusalMeaning>([
  'Validation',
  'Forbidden',
  'EmailUnverified',
  'KeyConflict',
]);
/** Of records of older versions, which have no meaning. */
const retriedStatuses = new Set([401, 404, 408, 409, 425, 429, 503]);

export function planVolume(inputs: VolumeInputs): Plan {
  return planLifecycle(inputs, {
    noun: 'volume',
    create: () => planAbsent(inputs),
    change: (volume) => planPresent(inputs, volume),
    remove: (volume) => planRemoval(inputs, volume),
  });
}

function planAbsent(inputs: VolumeInputs): Plan {
  const { record, object, owner, volumesInAccount } = inputs;
  const { spec } = object;
  const name = remoteName('StorageVolume', object.name, spec);
  const vanished = hasVanished(inputs);
  const differences: Difference[] = [
    ...(vanished ? [{ path: 'volume', desired: record.externalId, observed: null, drift: true }] : []),
    ...fieldsOf(inputs, undefined)
      .filter(
        (field) =>
          field.desired !== undefined && (field.name !== 'geography' || spec.geography !== undefined),
      )
      .map(({ path, desired }) => ({
        path,
        desired: path === 'volumeName' ? shownName(name, inputs) : desired,
        observed: null,
        drift: vanished,
      })),
  ];
  if (vanished && spec.driftPolicy === 'Report') return inSync(differences);
  if (vanished && !dataLossConfirmed(object, name)) {
    return holdFor(
      'DataLost',
      `volume ${record.externalId} was deleted by somebody else, and its files with it; ` +
        `to create an empty one in its place, annotate the object with ${annotations.confirmDataLoss}: "${name}"`,
      { differences },
    );
  }
  const body = {
    name: `${name}${volumeMark(owner, markedUid(record))}`,
    region: spec.region,
    sizeGb: spec.sizeGb,
    ...(spec.geography === undefined ? {} : { geography: spec.geography }),
  };
  const reason = vanished ? 'Vanished' : 'Create';
  const step: Step = { action: createVolume({ body }), reason, disruptive: false, differences };
  if (volumesInAccount >= limits.volumesPerAccount) {
    return holdFor(
      'LimitReached',
      `the account already has ${volumesInAccount} volumes, and the API allows ${limits.volumesPerAccount} (§8); delete one that is not needed`,
      { steps: [step], differences },
    );
  }
  const { gates } = inputs;
  return proceed(object, [step], differences, gates.creation ?? spendingGateOf(gates, step));
}

/** As the creation names it. The last part is made with the key of a state, which may not be there yet. */
function shownName(name: string, { owner, record }: VolumeInputs): string {
  return owner.digestKey.isProvisional
    ? `${name}${volumeMarkStart}…`
    : `${name}${volumeMark(owner, markedUid(record))}`;
}

function planPresent(inputs: VolumeInputs, volume: wire.Volume): Plan {
  const { object, record, owner } = inputs;
  const { spec } = object;
  const fields = fieldsOf(inputs, volume);
  const differences = withUnrecorded(inputs, compareFields(fields, record, owner.digestKey));
  const status = volume.status ?? '(none)';
  if (status === 'error') {
    const detail = volume.error ? `: ${providerText(volume.error)}` : '';
    return holdFor('VolumeError', `the volume is in error${detail}`, { differences });
  }
  if (passingStatuses.has(status)) {
    const reason = status === 'deleting' ? 'Deleting' : status === 'expanding' ? expanding : 'Provisioning';
    return waitFor(reason, `the volume is ${status}`, { differences });
  }
  if (status !== 'ready') return waitInUnknownStatus(status, differences);
  if (!isSettled(volume)) {
    return waitFor(expanding, `the volume is not complete yet: ${describeSize(volume)}`, { differences });
  }
  const kept = differences.filter(({ drift }) => drift && spec.driftPolicy === 'Correct');
  const correctable = differences.filter(
    (item) => !item.drift || (kept.includes(item) && !inputs.driftBrake(item)),
  );
  const region = correctable.find((item) => item.path === 'region' || item.path === 'geography');
  if (region) {
    return holdFor('ImmutableFieldChanged', `${region.path} of a volume can't be changed; undo the change`, {
      path: ['spec', region.path],
      differences,
    });
  }
  if (correctable.length > 0) return planUpdate(inputs, volume, correctable, differences);
  return holdForMassDrift(kept, inputs.driftBrake, { steps: [], differences }) ?? inSync(differences);
}

function waitInUnknownStatus(status: string, differences: readonly Difference[]): Wait {
  const message = `the API reports the status "${providerText(status, [], 100)}", which is not known; nothing is done in it`;
  return waitFor('UnknownState', message, { recheckAfterMs: recheckMs.protection, differences });
}

function planUpdate(
  inputs: VolumeInputs,
  volume: wire.Volume,
  correctable: readonly Difference[],
  differences: readonly Difference[],
): Plan {
  const { object, gates, attachedTo } = inputs;
  const { spec } = object;
  const observedGb = shownSizeGb(volume);
  const resizes = correctable.some((item) => item.path === 'sizeGb');
  if (resizes && observedGb === undefined) {
    const message = 'the API shows no size of the volume, and it must not be made smaller';
    return waitFor('AwaitingObservation', message, { differences });
  }
  if (resizes && observedGb !== undefined && spec.sizeGb < observedGb) {
    return holdFor(
      'ShrinkRefused',
      `the volume has ${observedGb} GB and can't be made smaller (${spec.sizeGb} GB); set sizeGb to at least ${observedGb}`,
      { path: ['spec', 'sizeGb'], differences },
    );
  }
  if (volume.revision === undefined) {
    return waitFor(
      'AwaitingObservation',
      'the API shows no revision of the volume, and an update needs one (§4 rule 3)',
      {
        differences,
      },
    );
  }
  const name = correctable.some((item) => item.path === 'volumeName') ? wantedName(inputs) : undefined;
  const sizeGb = resizes ? spec.sizeGb : undefined;
  const action = updateVolume({ id: volume.id, revision: volume.revision, name, sizeGb });
  const reason = correctable.every((item) => item.drift) ? 'Drift' : 'SpecChanged';
  const step: Step = { action, reason, disruptive: false, differences: correctable };
  const plan = proceed(object, [step], differences, resizes ? spendingGateOf(gates, step) : undefined);
  const waitsForPause = resizes && attachedTo.kind !== 'none' && attachedTo.state !== 'paused';
  return plan.kind === 'act' && waitsForPause ? planWhileAttached(inputs, step, differences) : plan;
}

function planWhileAttached(inputs: VolumeInputs, step: Step, differences: readonly Difference[]): Plan {
  const { attachedTo, object } = inputs;
  if (attachedTo.kind === 'foreign') {
    return holdFor(
      'AttachedElsewhere',
      `the volume is attached to service ${attachedTo.id}, which is not managed here, and grows only while that is paused (§3 rule 5); pause it`,
      { steps: [step], differences },
    );
  }
  const name = attachedTo.kind === 'ours' ? attachedTo.name : '';
  if (object.spec.expansion === 'Never') {
    return holdFor(
      'ExpansionNeedsPause',
      `the volume is attached to ContainerService ${name} and grows only while that is paused (§3 rule 5); ` +
        'allow the pause with `expansion: PauseService`, or set `desiredState: Stopped` on the service for a while',
      { path: ['spec', 'expansion'], steps: [step], differences },
    );
  }
  return waitFor(pausingService, `ContainerService ${name} has to be paused before the volume can grow`, {
    steps: [step],
    differences,
  });
}

function planRemoval({ object, gates, attachedTo }: VolumeInputs, volume: wire.Volume): Plan {
  const differences = [{ path: 'volume', desired: null, observed: volume.id, drift: false }];
  const status = volume.status ?? '(none)';
  if (status === 'deleting') return waitFor('Deleting', 'the volume is being deleted', { differences });
  if (status !== 'ready' && status !== 'error' && !passingStatuses.has(status)) {
    return waitInUnknownStatus(status, differences);
  }
  const action = deleteVolume({ id: volume.id });
  const step: Step = { action, reason: 'Deleted', disruptive: false, destroysData: true, differences };
  if (attachedTo.kind !== 'none' || volume.serviceId) {
    const name =
      attachedTo.kind === 'ours'
        ? `ContainerService ${attachedTo.name}`
        : `service ${providerText(volume.serviceId ?? 'of another account', [], 100)}`;
    return waitFor(
      'Attached',
      `the volume is attached to ${name}; it is deleted when nothing uses it (§4 rule 9)`,
      {
        recheckAfterMs: recheckMs.gate,
        steps: [step],
        differences,
      },
    );
  }
  if (volume.mode !== undefined && volume.mode !== null && volume.mode !== 'independent') {
    return holdFor(
      'NotIndependent',
      'the volume belongs to a service and is deleted with it (§3 rule 3); delete the service',
      {
        steps: [step],
        differences,
      },
    );
  }
  return proceed(object, [step], differences, gates.deletion);
}

/** What the service attached to (or waiting for) this volume has to know. */
export function viewVolume(inputs: VolumeInputs): VolumeView {
  const { object, observation, record } = inputs;
  const id = record.externalId;
  const label = `StorageVolume ${object.name}`;
  if (object.deleting) return { kind: 'not-ready', id, message: `${label} is being deleted` };
  if (observation.kind !== 'present') return { kind: 'not-ready', id, message: `${label} is not there yet` };
  const volume = observation.value;
  const unusable = unusableReason(volume);
  if (unusable !== undefined) return { kind: 'not-ready', id: volume.id, message: `${label}: ${unusable}` };
  const plan = planVolume(inputs);
  const { generation } = record;
  const latest = record.refusal?.generation === generation ? record.refusal : undefined;
  const refusal = latest?.action === updateVolume.name ? latest : undefined;
  const refused = refusal !== undefined && isFinal(refusal);
  const grows =
    (plan.kind === 'wait' && (plan.reason === pausingService || plan.reason === expanding)) ||
    (plan.kind === 'act' && isGrowth(plan.step));
  if (
    object.spec.expansion === 'PauseService' &&
    (grows || (volume.status === 'error' && record.externalId))
  ) {
    const message = refusal?.message ?? `${label}: ${describeSize(volume)}`;
    const needsPause = plan.kind === 'wait' && plan.reason === pausingService;
    return {
      kind: 'growing',
      id: volume.id,
      message,
      needsPause,
      failed: refused || volume.status === 'error',
    };
  }
  const growsFirst = plan.kind === 'act' && grows && refusal === undefined;
  if (growsFirst && inputs.attachedTo.kind === 'none') {
    return { kind: 'not-ready', id: volume.id, message: `${label} grows first` };
  }
  if (volume.status !== 'ready' || !isSettled(volume)) {
    return {
      kind: 'not-ready',
      id: volume.id,
      message: `${label} is ${volume.status ?? 'in an unknown status'}`,
    };
  }
  const isGated = plan.kind === 'wait' && !grows && isGrowth(plan.steps[0]);
  const waits = isGated && object.spec.expansion === 'PauseService' && inputs.attachedTo.kind === 'ours';
  return { kind: 'usable', id: volume.id, ...(waits ? { growthWaits: plan.message } : {}) };
}

function isGrowth(step: Step | undefined): boolean {
  return step?.action.do === updateVolume.name && step.action.sizeGb !== undefined;
}

function isFinal({ meaning, status }: Pick<Refusal, 'meaning' | 'status'>): boolean {
  return meaning === undefined ? !retriedStatuses.has(status) : finalRefusals.has(meaning);
}

/** Provisioned allocation is checked apart from the status (§2 Volume). */
export function isSettled(volume: wire.Volume): boolean {
  const { sizeGb, requestedSizeGb, provisioned } = volume;
  const agrees = (requestedSizeGb ?? sizeGb ?? null) === (sizeGb ?? requestedSizeGb ?? null);
  return agrees && provisioned !== false;
}

/** What it is to have, or has; undefined when the API shows neither. */
function shownSizeGb({ sizeGb, requestedSizeGb }: wire.Volume): number | undefined {
  return requestedSizeGb ?? sizeGb ?? undefined;
}

function describeSize({ status, sizeGb, requestedSizeGb, provisioned }: wire.Volume): string {
  const part = provisioned === false ? ', not provisioned' : '';
  return `${status ?? 'no status'}, ${sizeGb ?? '?'} of ${requestedSizeGb ?? sizeGb ?? '?'} GB${part}`;
}

function wantedName({ object, owner, record }: VolumeInputs): string {
  return `${remoteName('StorageVolume', object.name, object.spec)}${volumeMark(owner, markedUid(record))}`;
}

function fieldsOf(inputs: VolumeInputs, volume: wire.Volume | undefined): Field[] {
  const { spec } = inputs.object;
  return [
    { name: 'volumeName', path: 'volumeName', ...nameField(inputs, volume), mayBeForm: isFormOfName },
    regionField(spec.region, volume?.region),
    geographyField(spec.geography, volume?.geography),
    {
      name: 'sizeGb',
      path: 'sizeGb',
      desired: spec.sizeGb,
      observed: volume && shownSizeGb(volume),
    },
  ];
}

/** An adopted volume may go without the mark: its id is written in the spec. */
function nameField(
  inputs: VolumeInputs,
  volume: wire.Volume | undefined,
): { desired: unknown; observed: unknown } {
  const { spec } = inputs.object;
  const observed = withOurMark(inputs, volume?.name);
  if (!spec.adopt) return { desired: wantedName(inputs), observed };
  if (spec.volumeName === undefined) return { desired: undefined, observed };
  return readVolumeMark(observed)
    ? { desired: wantedName(inputs), observed }
    : { desired: spec.volumeName, observed };
}

/** A mark of this owner that another state file made (before this one was lost) counts as one that this one makes. */
function withOurMark({ owner, record }: VolumeInputs, name: string | undefined): string | undefined {
  const mark = readVolumeMark(name);
  const own = volumeMark(owner, markedUid(record));
  if (name === undefined || mark === undefined || volumeMarkId(mark) !== volumeMarkId(own)) return name;
  return withVolumeMark(name, own);
}

export function volumeDigests(inputs: VolumeInputs): Record<string, string> {
  return fieldDigests(fieldsOf(inputs, undefined), inputs.owner.digestKey);
}

/** What an answer of the API shows of the fields that the spec gives, as digests. */
export function shownVolume(inputs: VolumeInputs, volume: wire.Volume): Record<string, string> {
  return shownDigests(fieldsOf(inputs, volume), inputs.owner.digestKey);
}

export function volumeForms(inputs: VolumeInputs, volume: wire.Volume): readonly string[] {
  return possibleForms(fieldsOf(inputs, volume));
}
