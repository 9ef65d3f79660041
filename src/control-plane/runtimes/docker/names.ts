/**
 * Names and labels at the engine. Names hold the id of the service, volume or account; labels show the owner. Only
 * things with this installation's label are ever read. There is one name per service, so the engine itself refuses a
 * second container for it, whoever asks.
 */
import type { RuntimeRequest } from '../../domain/runtime.ts';

export const labels = {
  installation: 'dev.fleetkeeper.installation',
  account: 'dev.fleetkeeper.account',
  service: 'dev.fleetkeeper.service',
  volume: 'dev.fleetkeeper.volume',
  /** The operation that made the container. */
  operation: 'dev.fleetkeeper.operation',
  /** The GPUs that the container has, separated by commas. */
  gpus: 'dev.fleetkeeper.gpus',
} as const;

export function containerName(serviceId: string): string {
  return `fleetkeeper-${serviceId}`;
}

export function volumeName(volumeId: string): string {
  return `fleetkeeper-${volumeId}`;
}

/** Its bridge has a name by which the egress rules know it (egress-rules.ts). */
export function networkName(accountId: string): string {
  return `fleetkeeper-net-${accountId}`;
}

/** As version 0.1.0 made it: its bridge has no such name. */
export function formerNetworkName(accountId: string): string {
  return `fleetkeeper-${accountId}`;
}

export function containerLabels(
  installation: string,
  { accountId, subjectId, id }: RuntimeRequest,
  gpus: readonly string[],
): Record<string, string> {
  return {
    [labels.installation]: installation,
    [labels.account]: accountId,
    [labels.service]: subjectId,
    [labels.operation]: id,
    ...(gpus.length > 0 && { [labels.gpus]: gpus.join(',') }),
  };
}
