/** Jobs of a cluster, with which objects may end. */
import { byNamespace, type DesiredSnapshot } from '../../desired/index.ts';
import { managedKinds, traitsOf, type ObjectKey } from '../../resources/index.ts';
import type { JobAnswer } from '../plan/index.ts';

/** What is asked about Jobs of a cluster. */
export interface Jobs {
  answer(namespace: string, name: string): JobAnswer;
  /** From now on, who asked for an answer is told when it is another one. */
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
