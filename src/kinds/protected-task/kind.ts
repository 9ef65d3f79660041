/**
 * ProtectedTask: its pass requests the wanted registration from the heartbeat loop (activities/), and reports its
 * state. The service where an activity may be registered, and the key of its release, are saved before the first
 * request is sent. So a restart knows everything that a crash at any moment leaves.
 */
import { holdFor, inSync, taskEnd, type Plan } from '../../engine/plan/index.ts';
import {
  defineKind,
  type AccountHandle,
  type AccountOfObject,
  type KeptRegistration,
} from '../../engine/index.ts';
import type { ProtectedTaskSpec, TaskState } from '../../resources/index.ts';
import { keepActivity, prepare, saveRegistration, writeDown, type TaskView } from './activity.ts';
import { hasNeverBegun } from './begun.ts';
import { planTask, type RegistrationView, type TaskInputs } from './plan.ts';
import { protectedService } from './service.ts';
import { observedTask, taskHealth } from './status.ts';
import { jobOf, serviceKeyOf } from './tasks.ts';
import { isOpen, leftUntilDeadline, taskTime } from './time.ts';

interface TaskLook extends TaskInputs {
  /** A manager sends its heartbeats: not this process, which only previews. */
  readonly isKeptElsewhere: boolean;
}

/** What requests to a service that is gone may be refused with. */
const goneStatuses: ReadonlySet<number> = new Set([400, 404, 409, 410]);

function taskLook(view: TaskView): TaskLook {
  const { fleet, object, record, mode, seen } = view;
  const { handle } = accountOf(view);
  const [job, time] = [jobOf(fleet, record), taskTime(view, handle)];
  const { registration, releasedAt } = record.kind;
  const isOver = taskEnd(object, job, time) === 'DeadlinePassed';
  const isUnregistered = registration === undefined && releasedAt === undefined;
  return {
    object,
    record,
    service: protectedService(view),
    lease: seen.local,
    job,
    time,
    hasNeverBegun: isOver && isUnregistered && hasNeverBegun(view, serviceKeyOf(record, object.spec), handle),
    isKeptElsewhere: mode === 'preview' && record.kind.registration !== undefined,
  };
}

function plan(look: TaskLook): Plan {
  const planned = planTask(look);
  return look.isKeptElsewhere && planned.kind === 'wait' && planned.reason === 'Registering'
    ? inSync()
    : planned;
}

/** That of the service; when its document is gone, the one in which the activity was registered. */
function accountOf({ fleet, accounts, record }: TaskView): AccountOfObject {
  const reference = fleet.accountOf(record);
  if (!reference) return { handle: undefined, problem: undefined };
  const resolved = accounts.resolve(reference.namespace, reference.name);
  if (resolved.kind === 'usable') return { handle: resolved.handle, problem: undefined };
  const path = ['spec', 'serviceRef', 'name'];
  return { handle: undefined, problem: holdFor(resolved.reason, resolved.message, { path }) };
}

/** A document that can't be read, or has gone with many others, ends no protection; not even when the process starts anew meanwhile. */
async function whileHeld(view: TaskView, account: AccountHandle | undefined) {
  const { key, fleet, mode, registrations, object, record } = view;
  if (record.kind.releasedAt !== undefined || mode === 'preview') return undefined;
  const time = taskTime(view, account);
  const end = taskEnd(object, jobOf(fleet, record), time);
  const isDeleted = fleet.snapshot.cluster?.get(key)?.deletionRequestedAt !== undefined;
  // Nothing is released by a document that may mean something else by now; a release that is under way is seen through.
  if (end === 'DeadlinePassed' || (end !== undefined && !account)) registrations.drop(key);
  if (end !== undefined || isDeleted) return undefined;
  await writeDown(view);
  // Without its Account its heartbeats go on as before.
  const local = account ? keepActivity(view, account, { ends: false, isNew: false })?.view : undefined;
  return { local, forMs: leftUntilDeadline(object.spec, time) };
}

async function observe(view: TaskView, account: AccountHandle): Promise<RegistrationView | undefined> {
  const { key, store, registrations, mode, clock, random, fleet, object, record, latest } = view;
  if (mode === 'preview') return undefined;
  if (record.kind.releasedAt !== undefined) {
    // It may have been written down without an answer.
    registrations.forget(key);
    return undefined;
  }
  const job = jobOf(fleet, record);
  const time = taskTime(view, account);
  const ends = taskEnd(object, job, time) !== undefined;
  const mayBegin = !ends && job === 'running' && !isOpen(object.spec, time);
  const isNew = mayBegin && (await prepare(view, account));
  // A task that is over gets no heartbeat, also while its end can't be written.
  await writeDown(view, ends).catch((error: unknown) => {
    if (ends) registrations.drop(key);
    throw error;
  });
  const activity = keepActivity(view, account, { ends, isNew });
  if (activity?.kept.phase === 'released' || (ends && isServiceGone(view, account, activity?.kept))) {
    const known = latest();
    await store.save({ ...known, kind: { ...known.kind, releasedAt: clock.wallMs() } });
    registrations.forget(key);
  } else if (activity?.kept.phase === 'spent' && latest().kind.registration) {
    await saveRegistration(view, account, { activityId: random.uuid(), releaseKey: random.uuid() });
    return keepActivity(view, account, { ends, isNew })?.view;
  } else if (activity?.kept.isShownAgain) {
    await saveRegistration(view, account, { releaseKey: random.uuid() });
    return keepActivity(view, account, { ends, isNew })?.view;
  }
  return activity?.view;
}

/** With its service an activity is gone, too: its requests are refused, and nothing answers its release any more. */
function isServiceGone(
  { store, latest }: TaskView,
  { informer }: AccountHandle,
  kept: KeptRegistration | undefined,
): boolean {
  const { registration } = latest().kind;
  const { current, failure } = informer;
  if (!goneStatuses.has(kept?.refusedWith ?? 0)) return false;
  if (!registration || !current || failure || (current.unidentified?.services.length ?? 0) > 0) return false;
  return (
    !current.services.has(registration.serviceId) && store.recordOf(registration.serviceId) === undefined
  );
}

export const protectedTask = defineKind<ProtectedTaskSpec, never, TaskLook, RegistrationView, TaskState>({
  name: 'ProtectedTask',
  needsNoAccountRead: true,
  account: accountOf,
  released({ record: { deletionRequestedAt, kind } }) {
    const isReleased = kind.registration === undefined || kind.releasedAt !== undefined;
    return deletionRequestedAt !== undefined && isReleased;
  },
  observe,
  whileHeld,
  look: taskLook,
  plan,
  status: (look) => ({ health: taskHealth(look), observed: observedTask(look), revision: undefined }),
});
