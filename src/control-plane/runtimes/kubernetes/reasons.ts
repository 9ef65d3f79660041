/**
 * Which sentence a tenant learns of a failed launch (containers/reasons.ts), or of an end that nobody asked for, by the
 * reasons and messages of the cluster. None of these is repeated.
 */
import { firstOf, sentenceOf, type Form, type LaunchReason } from '../containers/reasons.ts';

const pullForms: readonly Form[] = [
  [
    /denied|unauthorized|authentication|forbidden|manifest unknown|not found|name unknown|not exist/i,
    'ImageNotAvailable',
  ],
];
const startForms: readonly Form[] = [
  // Of the network or the volume of a Pod. The command is not to blame.
  [/cni|sandbox|failed to mount/i, 'NotStarted'],
  [/executable file.*not found|no such file or directory/i, 'CommandNotFound'],
  [/permission denied|exec format error|is a directory/i, 'CommandNotExecutable'],
];

/** By the reason of a container that waits. Others are no failures: the cluster is busy with it. */
const ofWaiting: Readonly<Record<string, (message: string) => LaunchReason>> = {
  InvalidImageName: () => 'ImageNameInvalid',
  ErrImageNeverPull: () => 'ImageMissing',
  ErrImagePull: (message) => firstOf(pullForms, message, 'ImageNotPulled'),
  ImagePullBackOff: (message) => firstOf(pullForms, message, 'ImageNotPulled'),
  RegistryUnavailable: () => 'ImageNotPulled',
  SignatureValidationFailed: () => 'ImageNotPulled',
  ImageInspectError: () => 'ImageNotPulled',
  CreateContainerError: (message) => firstOf(startForms, message, 'NotCreated'),
  RunContainerError: (message) => firstOf(startForms, message, 'NotStarted'),
};

/** Undefined: nothing is wrong with a container that waits for this reason. */
export function reasonOfWaiting(reason: string, message: string): LaunchReason | undefined {
  return Object.hasOwn(ofWaiting, reason) ? ofWaiting[reason]?.(message) : undefined;
}

/** Of a container that the node could not start. */
export function reasonOfStart(message: string): LaunchReason {
  return firstOf(startForms, message, 'NotStarted');
}

/** By the reason of a Pod, or of its condition `DisruptionTarget`. */
const ofPod: Readonly<Record<string, string>> = {
  Evicted: 'the container was removed, because its node ran out of memory or disk',
  NodeLost: 'the node of the container is lost',
  NodeShutdown: 'the node of the container was shut down',
  Shutdown: 'the node of the container was shut down',
  Terminated: 'the node of the container was shut down',
  TerminationByKubelet: 'the node of the container was shut down, or ran out of memory or disk',
  DeletionByTaintManager: 'the node of the container does not answer, or is not for it any more',
  DeletionByPodGC: 'the node of the container is gone',
  EvictionByEvictionAPI: 'the container was removed, because its node is being emptied',
  PreemptionByScheduler: 'the container was removed for one that is more important',
  Preempted: 'the container was removed for one that is more important',
  Preempting: 'the container was removed for one that is more important',
  OutOfcpu: sentenceOf('Unschedulable'),
  OutOfmemory: sentenceOf('Unschedulable'),
  OutOfpods: sentenceOf('Unschedulable'),
  'OutOfephemeral-storage': sentenceOf('Unschedulable'),
  NodeAffinity: sentenceOf('Unschedulable'),
  UnexpectedAdmissionError: 'the node of the container did not accept it',
  ContainerStatusUnknown: 'the node of the container was lost for a while, and the container with it',
};
const diskForm = /ephemeral[ -]?local storage|ephemeral-storage|emptydir/i;

/** Undefined for a reason without a sentence. */
export function sentenceOfPod(
  reason: string,
  message: string,
  ephemeralStorageGb: number,
): string | undefined {
  if (reason === 'Evicted' && diskForm.test(message) && /exceed/i.test(message)) {
    return `the container was removed: it wrote more than ${ephemeralStorageGb} GB beside its volume`;
  }
  return Object.hasOwn(ofPod, reason) ? ofPod[reason] : undefined;
}
