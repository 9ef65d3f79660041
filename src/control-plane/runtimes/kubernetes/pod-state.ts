/**
 * What the status of a Pod means.
 *
 *     waiting ──> running ──> ended
 *        │  │         └──(deleted by somebody)──> leaving ──> (absent)
 *        │  └──(the container was started and ended at once)──> ended
 *        └──(image, command, node)──> failed
 *
 * `waiting` shows whether no node has room: the cluster continues to try, and the runtime gives up after a bound. `leaving` is also a Pod whose node is lost: it is gone when the cluster reports that, not before.
 */
import type { KubernetesObject } from '../../../kubernetes/index.ts';
import { containerName } from './names.ts';
import type { LaunchReason } from '../containers/reasons.ts';
import { reasonOfStart, reasonOfWaiting, sentenceOfPod } from './reasons.ts';

export interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly Container[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly hostIP?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface Container {
  readonly name?: string;
  readonly resources?: Resources;
}

interface Resources {
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

interface ContainerStatus {
  readonly name?: string;
  /** Those that the node has given it. */
  readonly resources?: Resources;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: object;
    readonly terminated?: {
      readonly exitCode?: number;
      readonly reason?: string;
      readonly message?: string;
    };
  };
}

export type PodState =
  | { readonly kind: 'waiting'; readonly isUnschedulable: boolean }
  | { readonly kind: 'running' }
  /** `message`: the cluster's, only for the operator. */
  | { readonly kind: 'failed'; readonly reason: LaunchReason; readonly message: string }
  | { readonly kind: 'ended'; readonly sentence: string }
  | { readonly kind: 'leaving'; readonly sentence: string };

/** The bounds that a sentence names. */
export interface Bounds {
  readonly memoryGb: number;
  readonly ephemeralStorageGb: number;
}

export function stateOf(pod: Pod, bounds: Bounds): PodState {
  const ended = endOf(pod, bounds);
  if (ended) return ended;
  if (pod.metadata.deletionTimestamp !== undefined) return leavingOf(pod, bounds);
  const { waiting, running } = containerOf(pod)?.state ?? {};
  if (running && pod.status?.phase === 'Running') return { kind: 'running' };
  const message = waiting?.message ?? '';
  const reason = reasonOfWaiting(waiting?.reason ?? '', message);
  if (reason !== undefined) return { kind: 'failed', reason, message };
  return { kind: 'waiting', isUnschedulable: isUnschedulable(pod) };
}

const removed = 'the container was removed at the cluster';

/** Of a Pod that has vanished; `last`: as it was seen before, if it was. */
export function sentenceOfAbsence(last: Pod | undefined, bounds: Bounds): string {
  return (last && leavingOf(last, bounds).sentence) ?? removed;
}

function leavingOf(pod: Pod, { ephemeralStorageGb }: Bounds): { kind: 'leaving'; sentence: string } {
  const { reason = '', message = '', conditions = [] } = pod.status ?? {};
  const target = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  const sentence =
    sentenceOfPod(reason, message, ephemeralStorageGb) ??
    sentenceOfPod(target?.reason ?? '', target?.message ?? '', ephemeralStorageGb) ??
    removed;
  return { kind: 'leaving', sentence };
}

function endOf(pod: Pod, bounds: Bounds): PodState | undefined {
  const { phase, reason = '', message = '' } = pod.status ?? {};
  const terminated = containerOf(pod)?.state?.terminated;
  if (!terminated && phase !== 'Failed' && phase !== 'Succeeded') return undefined;
  const ofPod = sentenceOfPod(reason, message, bounds.ephemeralStorageGb);
  if (ofPod !== undefined) return { kind: 'ended', sentence: ofPod };
  if (terminated && neverStarted.has(terminated.reason ?? '')) {
    const text = terminated.message ?? '';
    return { kind: 'failed', reason: reasonOfStart(text), message: text };
  }
  if (!terminated) return { kind: 'ended', sentence: 'the container was ended by its node' };
  const unknown = sentenceOfPod(terminated.reason ?? '', '', bounds.ephemeralStorageGb);
  return { kind: 'ended', sentence: unknown ?? exitSentence(terminated, bounds) };
}

const neverStarted = new Set([
  'StartError',
  'ContainerCannotRun',
  'CreateContainerError',
  'RunContainerError',
]);
const killed = 137;

/** As the Docker runtime has it. */
function exitSentence(
  { exitCode = 0, reason }: { readonly exitCode?: number; readonly reason?: string },
  { memoryGb }: Bounds,
): string {
  const ended = `the container ended with exit code ${exitCode}`;
  const memory = `${memoryGb} GB of memory`;
  if (reason === 'OOMKilled') return `${ended}: it ran out of its ${memory}`;
  if (exitCode !== killed) return ended;
  return `${ended}: it was killed, for using more than its ${memory} or by somebody at the cluster`;
}

export function containerOf({ status }: Pod): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === containerName);
}

function isUnschedulable({ status }: Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
}
