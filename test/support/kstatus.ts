/**
 * What Flux and other tools make of a status: the rules of kstatus (sigs.k8s.io/cli-utils) for kinds that it does not know. Written from its
 * documentation; the first row that applies counts.
 *
 * | object                                        | result        |
 * |-----------------------------------------------|---------------|
 * | it is being deleted                           | `Terminating` |
 * | `observedGeneration` is not the generation    | `InProgress`  |
 * | `Reconciling` is True                         | `InProgress`  |
 * | `Stalled` is True                             | `Failed`      |
 * | `Ready` is there, and not True                | `InProgress`  |
 * | anything else, also without conditions        | `Current`     |
 */
import type { Json } from './processes/fleet.ts';

export type KStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

export function kstatusOf({ metadata, status = {} }: Json): KStatus {
  const { observedGeneration = metadata.generation, conditions = [] } = status;
  const condition = (type: string): string | undefined =>
    conditions.find((each: Json) => each.type === type)?.status;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (observedGeneration !== metadata.generation) return 'InProgress';
  if (condition('Reconciling') === 'True') return 'InProgress';
  if (condition('Stalled') === 'True') return 'Failed';
  return (condition('Ready') ?? 'True') === 'True' ? 'Current' : 'InProgress';
}
