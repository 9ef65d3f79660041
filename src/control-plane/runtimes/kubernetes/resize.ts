/**
 * Processor and memory of a Pod that runs, changed in place (its `resize` subresource, Kubernetes 1.33 and later).
 *
 *     runs ──(asked for)──> the node is at it ──> it has them: the same container runs on
 *      │                          │
 *      │ refused: no such         │ no room on the node, or it can't be done there; it failed; the
 *      │ subresource, no right,   │ container has ended; it takes longer than 30 s
 *      │ quota, less memory       v
 *      └────────────────> a launch: another Pod, wherever there is room
 *
 * It may be begun again from the start: what the Pod has already is not asked for twice.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/user-error.ts';
import { KubernetesError, type Target } from '../../../kubernetes/index.ts';
import type { Cluster } from './cluster.ts';
import { failureOf } from './failures.ts';
import { containerName } from './names.ts';
import type { PodResources } from './pod.ts';
import { containerOf, stateOf, type Bounds, type Pod } from './pod-state.ts';
import { amountOf } from './quantity.ts';

const longestMs = 30_000;
/** All that can be changed in place, and by how much less or more a node may give: some round to 10 ms of a processor, or to pages. */
const roundings: Readonly<Record<string, number>> = { cpu: 0.01, memory: 65_536 };
const resizable = Object.keys(roundings);

export interface ResizeParts {
  readonly cluster: Pick<Cluster, 'resize' | 'until'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly subjectId: string;
  readonly target: Target;
  /** The Pod as it is now. */
  readonly read: () => Promise<Pod | undefined>;
  /** Makes what is around the Pod as it is to be. */
  readonly surround: () => Promise<void>;
  /** Whether what the cluster `failed` at is not tried again: a quota, say, that another resize is about to leave room in. */
  readonly isLast: boolean;
  readonly wanted: PodResources;
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
}

/** The Pod that has the resources now; undefined where only a launch gives them to the service. */
export async function resizeInPlace(parts: ResizeParts): Promise<Pod | undefined> {
  const { read, surround, wanted, bounds, isLast, logger, subjectId } = parts;
  const pod = await read();
  if (!pod || stateOf(pod, bounds).kind !== 'running' || !differsAtMostIn(resizable, pod, wanted))
    return undefined;
  try {
    await surround();
    if (!differsAtMostIn([], pod, wanted)) await ask(parts, pod);
  } catch (error) {
    const isNotServed = error instanceof KubernetesError && error.status === 404;
    const failure = failureOf(error);
    if (failure === 'away' || (failure === 'failed' && !isLast && !isNotServed)) throw error;
    logger.info({ service: subjectId, error: messageOf(error) }, 'not resized in place');
    return undefined;
  }
  return untilResized(parts, pod);
}

/** With all containers as they are: another one may have been added to the Pod on its way into the cluster. */
async function ask({ cluster, target, wanted }: ResizeParts, pod: Pod): Promise<void> {
  const containers = pod.spec?.containers?.map((container) =>
    container.name === containerName ? Object.assign({}, container, { resources: wanted }) : container,
  );
  const { resourceVersion } = pod.metadata;
  await cluster.resize(target, { metadata: { resourceVersion }, spec: { containers } });
}

async function untilResized(parts: ResizeParts, { metadata: { uid } }: Pod): Promise<Pod | undefined> {
  const { cluster, clock, subjectId, signal, read, wanted, bounds, logger } = parts;
  const startMs = clock.monotonicMs();
  const result = await cluster.until(subjectId, signal, async () => {
    const pod = await read();
    if (pod?.metadata.uid !== uid || stateOf(pod, bounds).kind !== 'running')
      return 'its container has ended';
    const { problem, isInProgress } = progressOf(pod);
    if (problem !== undefined) return problem;
    if (!isInProgress && isGiven(wanted, pod)) return pod;
    return clock.monotonicMs() - startMs < longestMs ? undefined : 'the node was not done within 30 s';
  });
  if (typeof result !== 'string') return result;
  logger.info({ service: subjectId, error: result }, 'not resized in place');
  return undefined;
}

interface Progress {
  /** Why the node does not do it, at least not now. */
  readonly problem: string | undefined;
  readonly isInProgress: boolean;
}

function progressOf({ status }: Pod): Progress {
  const ofType = (wanted: string) =>
    status?.conditions?.find((condition) => condition.type === wanted && condition.status === 'True');
  const inProgress = ofType('PodResizeInProgress');
  const refusal = ofType('PodResizePending') ?? (inProgress?.reason === 'Error' ? inProgress : undefined);
  return {
    problem: refusal && [refusal.reason, refusal.message].join(': '),
    isInProgress: inProgress !== undefined,
  };
}

/** Whether the container may use what it is to have. Of what is reserved, a node shows only what it made of it. */
function isGiven({ limits }: PodResources, pod: Pod): boolean {
  const given = containerOf(pod)?.resources?.limits;
  return Object.entries(roundings).every(
    ([name, rounding]) => Math.abs(amountOf(given?.[name]) - amountOf(limits[name])) < rounding,
  );
}

function differsAtMostIn(names: readonly string[], { spec }: Pod, wanted: PodResources): boolean {
  const asked = spec?.containers?.find(({ name }) => name === containerName)?.resources;
  return (['limits', 'requests'] as const).every((part) => {
    const all = new Set([...Object.keys(wanted[part]), ...Object.keys(asked?.[part] ?? {})]);
    return [...all].every(
      (name) => names.includes(name) || amountOf(asked?.[part]?.[name]) === amountOf(wanted[part][name]),
    );
  });
}
