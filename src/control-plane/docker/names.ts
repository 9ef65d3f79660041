/**
 * How things are called at the engine. Names hold the id of the service, volume or account; labels say whose they
 * are, and only what carries this installation's label is ever looked at. There is one name per service, so the
 * engine itself refuses a second container for it, whoever asks.
 */
import type { RuntimeRequest } from '../runtime.ts';

export const labels = {
  installation: 'dev.fleetkeeper.installation',
  account: 'dev.fleetkeeper.account',
  service: 'dev.fleetkeeper.service',
  volume: 'dev.fleetkeeper.volume',
  /** The operation that made the container. */
  operation: 'dev.fleetkeeper.operation',
} as const;

export function containerName(serviceId: string): string {
  return `fleetkeeper-${serviceId}`;
}

export function volumeName(volumeId: string): string {
  return `fleetkeeper-${volumeId}`;
}

export function networkName(accountId: string): string {
  return `fleetkeeper-${accountId}`;
}

export function containerLabels(
  installation: string,
  { accountId, subjectId, id }: RuntimeRequest,
): Record<string, string> {
  return {
    [labels.installation]: installation,
    [labels.account]: accountId,
    [labels.service]: subjectId,
    [labels.operation]: id,
  };
}
