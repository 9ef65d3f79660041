/** The activity of a task: where it is registered, and what the heartbeat loop is asked to do for it. */
import type { AccountHandle, KeptRegistration, View } from '../../engine/index.ts';
import {
  remoteName,
  type ProtectedTaskSpec,
  type Registration,
  type TaskState,
} from '../../resources/index.ts';
import type { RegistrationView } from './plan.ts';
import { protectedService } from './service.ts';

export type TaskView = View<ProtectedTaskSpec, never, RegistrationView, TaskState>;

/** Where the activity is to be registered is known from here on. Whether it gets its id, or another service, now. */
export async function prepare(view: TaskView, account: AccountHandle): Promise<boolean> {
  const service = protectedService(view);
  if (service.kind !== 'there' || view.record.kind.registration?.serviceId === service.id) return false;
  // A release may have been sent to the service that it was registered in before: its key is used up.
  await saveRegistration(view, account, { serviceId: service.id, releaseKey: view.random.uuid() });
  return true;
}

export async function saveRegistration(
  { latest, store, random }: TaskView,
  account: AccountHandle,
  changes: Partial<Registration>,
): Promise<void> {
  const record = latest();
  const { kind, uid } = record;
  const before = kind.registration ?? { serviceId: '', activityId: uid, releaseKey: random.uuid() };
  const registration = { ...before, ...changes };
  await store.save({ ...record, kind: { ...kind, registration }, account: account.name });
}

/**
 * Writes what an earlier pass could not write. Heartbeats need only the activity registration to be durable: an API server that
 * refuses a status must not end protection.
 */
export async function writeDown({ key, store }: TaskView, ends = false): Promise<void> {
  try {
    await store.flush(key);
  } catch (error) {
    if (ends || !store.isKindStateDurable(key)) throw error;
  }
}

/** Undefined while nothing is to be registered. `isNew`: the activity got its id, or its service, in this pass. */
export function keepActivity(
  { key, latest, registrations, clock, object }: TaskView,
  account: AccountHandle,
  { ends, isNew }: { readonly ends: boolean; readonly isNew: boolean },
): { readonly kept: KeptRegistration; readonly view: RegistrationView } | undefined {
  const { registration } = latest().kind;
  if (!registration) return undefined;
  const kept = registrations.keep(key, {
    account: account.name,
    api: account.api,
    ...registration,
    name: remoteName('ProtectedTask', object.name, object.spec),
    wanted: ends ? 'released' : 'held',
    isNew,
    visibilityMs: account.spec.visibilitySeconds * 1000,
  });
  const { phase, failure, expiresAtMs } = kept;
  const expiresInMs = expiresAtMs === undefined ? undefined : expiresAtMs - clock.monotonicMs();
  return { kept, view: { phase, failure, expiresInMs } };
}
