/**
 * What follows for the ProtectedTask of a Job or a Pod. Pure.
 *
 * | Job or Pod                                  | its task                              | step                              |
 * |---------------------------------------------|---------------------------------------|-----------------------------------|
 * | annotated, running                          | none, or not as it should be          | apply: a Job's until it is over, a Pod's until further notice |
 * | annotated, finished                         | of a Pod                              | apply `released: true`            |
 * |                                             | none, or of a Job                     | none: the engine reads the Job    |
 * | no longer annotated, or gone                | created here                          | remove, which releases it         |
 * | another one of that name, or another service | created here, of the one before      | remove, and apply when that is gone |
 * | any                                         | being deleted                         | none, until it is gone            |
 * | any                                         | a foreign one of that name            | none; it is reported              |
 *
 * The annotation has precedence over a person who deletes a task by hand: as long as it exists, so does the task.
 */
import { createHash } from 'node:crypto';
import { protectedTask } from '../kinds/protected-task/declaration.ts';
import type { KubernetesObject, OwnerReference } from '../kubernetes/index.ts';
import { apiVersion } from '../resources/index.ts';
import {
  isFinished,
  protectedService,
  workloadKey,
  workloadTypes,
  type WorkloadKey,
  type WorkloadKind,
} from './workload.ts';

export type Step =
  | { readonly do: 'nothing' }
  | { readonly do: 'apply'; readonly object: object }
  | { readonly do: 'remove' }
  | { readonly do: 'tell'; readonly note: string };

const managedBy = { label: 'app.kubernetes.io/managed-by', name: 'fleetkeeper' } as const;
/** §8: of an activity, whose name the task's is. */
const longestName = 128;

export function taskNameOf(kind: WorkloadKind, name: string): string {
  const whole = `${kind.toLowerCase()}-${name}`;
  if (whole.length <= longestName) return whole;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 10);
  const start = whole.slice(0, longestName - digest.length - 1).replace(/[-.]+$/, '');
  return `${start}-${digest}`;
}

/** The Job or Pod that we made the task for; undefined when we did not make it. */
export function workloadOf({ metadata }: KubernetesObject): WorkloadKey | undefined {
  const owner = ownerOf(metadata.ownerReferences);
  if (!owner || metadata.labels?.[managedBy.label] !== managedBy.name) return undefined;
  return metadata.name === taskNameOf(owner.kind, owner.name)
    ? workloadKey(owner.kind, metadata.namespace ?? 'default', owner.name)
    : undefined;
}

/** `workload` is undefined when it is gone, `task` when there is none of its name. */
export function stepFor(
  kind: WorkloadKind,
  workload: KubernetesObject | undefined,
  task: KubernetesObject | undefined,
): Step {
  const service = workload && protectedService(workload);
  const isOurs = task !== undefined && workloadOf(task) !== undefined;
  if (task && !isOurs) return service === undefined ? nothing : foreign(task);
  if (task?.metadata.deletionTimestamp !== undefined) return nothing;
  if (!workload || service === undefined) return task ? { do: 'remove' } : nothing;
  if (task && !isFor(task, workload, service)) return { do: 'remove' };
  const finished = isFinished(kind, workload);
  const released = kind === 'Pod' && finished;
  const isAsItShouldBe = task ? kind === 'Job' || isReleased(task) === released : finished;
  if (isAsItShouldBe) return nothing;
  return { do: 'apply', object: taskFor(kind, workload, service, released) };
}

const nothing: Step = { do: 'nothing' };

function foreign({ metadata }: KubernetesObject): Step {
  const note = `there is a ${protectedTask.name} ${metadata.name} that fleetkeeper did not make; it is left alone, and nothing else protects for the annotation. Rename or delete it`;
  return { do: 'tell', note };
}

function isFor(task: KubernetesObject, workload: KubernetesObject, service: string): boolean {
  const { serviceRef } = (task.spec ?? {}) as { serviceRef?: { name?: unknown } };
  return (
    ownerOf(task.metadata.ownerReferences)?.uid === workload.metadata.uid && serviceRef?.name === service
  );
}

function isReleased({ spec }: KubernetesObject): boolean {
  return (spec as { released?: unknown } | undefined)?.released === true;
}

function ownerOf(
  references: readonly OwnerReference[] | undefined,
): (OwnerReference & { readonly kind: WorkloadKind }) | undefined {
  return references?.find(
    (reference): reference is OwnerReference & { kind: WorkloadKind } =>
      reference.kind in workloadTypes &&
      reference.apiVersion === apiVersionOf(reference.kind as WorkloadKind),
  );
}

function apiVersionOf(kind: WorkloadKind): string {
  const { group, version } = workloadTypes[kind];
  return group === '' ? version : `${group}/${version}`;
}

/** Whole, as server-side apply wants it: what is left out is given up. */
function taskFor(
  kind: WorkloadKind,
  { metadata }: KubernetesObject,
  service: string,
  released: boolean,
): object {
  const name = taskNameOf(kind, metadata.name);
  return {
    apiVersion,
    kind: protectedTask.name,
    metadata: {
      name,
      namespace: metadata.namespace,
      labels: { [managedBy.label]: managedBy.name },
      ownerReferences: [{ apiVersion: apiVersionOf(kind), kind, name: metadata.name, uid: metadata.uid }],
    },
    spec: {
      serviceRef: { name: service },
      taskName: name,
      ...(kind === 'Job' ? { until: { jobRef: { name: metadata.name } } } : { released }),
    },
  };
}
