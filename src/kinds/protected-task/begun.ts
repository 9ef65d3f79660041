/**
 * A deadline that has passed before anything was registered: either the document has a wrong time, or the task was over before the state was lost.
 * The second is no error: a document with a deadline of the past may stay in a repository for years. So the first one has to be certain.
 *
 * | what is known                                              | it has never begun                        |
 * |------------------------------------------------------------|-------------------------------------------|
 * | the state has had the document since before its deadline   | certain: a registration is saved first    |
 * | the state has had the service since after the deadline, and a minute before the document | certain: no run ended by it, and no state was lost since |
 * | this state has created the service after the deadline, or is about to | certain: there was none to be protected |
 * | it was reported so                                         | certain until the document changes        |
 * | otherwise                                                  | open: the task counts as over             |
 */
import type { AccountHandle, View } from '../../engine/index.ts';
import { markedUid, readMark } from '../../engine/plan/index.ts';
import { isCreation } from '../../actions/index.ts';
import type { ObjectKey, ProtectedTaskSpec, TaskState } from '../../resources/index.ts';

const earlierMs = 60_000;

type Begun = Pick<
  View<ProtectedTaskSpec, unknown, unknown, TaskState>,
  'fleet' | 'store' | 'object' | 'record'
>;

/** `key`: of its service. Of a task whose deadline has passed, and that has no registration. */
export function hasNeverBegun(
  { fleet, store, object, record }: Begun,
  key: ObjectKey,
  account: AccountHandle | undefined,
): boolean {
  const deadlineMs = Date.parse(object.spec.until?.deadline ?? '');
  const { createdAt, report } = record;
  if (createdAt !== undefined && createdAt < deadlineMs) return true;
  if (report?.ready?.reason === 'InvalidSpec') return true;
  const service = store.record(key);
  if (!service) return false;
  const { createdAt: serviceSince } = service;
  // A document that was away for a while looks new, too: its task may have ended by this deadline.
  if (createdAt !== undefined && isWithin(serviceSince, deadlineMs, createdAt - earlierMs)) return true;
  const last = store.lastIntent(key);
  if (last && isCreation(last.action) && last.createdAt >= deadlineMs) return true;
  const current = account?.informer.current;
  const adopts = 'adopt' in service.manifest.spec;
  if (!current || adopts || service.externalId !== undefined) return false;
  if ((current.unidentified?.services.length ?? 0) > 0) return false;
  const uid = markedUid(service);
  return ![...current.services.values()].some(
    ({ environmentNames }) => readMark(environmentNames, fleet.owner, uid).ours,
  );
}

function isWithin(atMs: number | undefined, fromMs: number, toMs: number): boolean {
  return atMs !== undefined && atMs >= fromMs && atMs < toMs;
}
