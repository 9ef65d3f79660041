/** Jobs of a cluster, which may end objects. */
import { byNamespace, type DesiredSnapshot } from '../../desired/index.ts';
import { managedKinds, traitsOf, type ObjectKey } from '../../resources/index.ts';
import type { JobAnswer } from '../plan/index.ts';

/** Queries about Jobs of a cluster. */
export interface Jobs {
  answer(namespace: string, name: string): JobAnswer;
  /** From now on, `listener` is called when the answer for a requested Job changes. */
  listen(listener: (namespace: string, name: string) => void): void;
}

const kindsWithJobs = managedKinds.filter((kind) => traitsOf(kind).job !== undefined);

/** The objects that last as long as a Job. */
export function objectsOfJob({ objects }: DesiredSnapshot, namespace: string, job: string): ObjectKey[] {
  return kindsWithJobs.flatMap((kind) =>
    byNamespace(objects, kind, namespace)
      .filter(({ spec }) => traitsOf(kind).job?.(spec) === job)
      .map(({ key }) => key),
  );
}
