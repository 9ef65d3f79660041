/** What the status of a volume shows. */
import type { wire } from '../../api/index.ts';
import { providerText, volumeBurn, type Observation } from '../../engine/plan/index.ts';
import {
  allocation,
  no,
  notReady,
  present,
  shownMicros,
  yes,
  type Health,
  type ConditionEntry,
} from '../../engine/status/index.ts';

export function volumeHealth(observation: Observation<wire.Volume>): Health {
  if (observation.kind === 'pending') return notReady('AwaitingObservation', observation.message);
  if (observation.kind !== 'present') return notReady('NotThere', 'the volume does not exist');
  const { status, error } = observation.value;
  if (status === 'ready') return { ready: 'True', reason: 'Provisioned', message: '' };
  return notReady(
    status === 'error' ? 'VolumeError' : 'NotReady',
    error
      ? providerText(error)
      : `the volume is ${status === undefined ? 'in no status' : providerText(status, [], 100)}`,
  );
}

export function observedVolume(observation: Observation<wire.Volume>): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const { status, region, geography, sizeGb, requestedSizeGb, provisioned, serviceId } = observation.value;
  const hourlyMicros = shownMicros(volumeBurn(observation.value));
  const size = { sizeGb, requestedSizeGb, provisioned };
  return present({ state: status, region, geography, ...size, serviceId, hourlyMicros });
}

/** Provisioned allocation is checked apart from the status (§2 Volume). */
export function volumeAllocation(observation: Observation<wire.Volume>): ConditionEntry[] {
  return allocation(observation, ({ status, provisioned }) =>
    (provisioned ?? status === 'ready')
      ? yes('StorageHeld')
      : no('NotAllocated', `the volume is ${status ?? 'in no status'} and not provisioned`),
  );
}
