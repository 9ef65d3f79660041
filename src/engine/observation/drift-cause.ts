import { describeCause, newDrift, type Plan } from '../plan/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Pass } from '../pass.ts';

/** Whether `plan` shows a drift that was not reported, of a thing that may have events about it. */
export function hasNewDrift(pass: Pass, plan: Plan): boolean {
  if (!pass.reportsEvents || pass.observation().kind !== 'present') return false;
  return newDrift(plan, pass.record().report?.drift ?? []).length > 0;
}

/** Reads the events of the thing. They are read once, when a drift first appears and before it is corrected. */
export async function causeOfNewDrift(
  pass: Pass,
  account: AccountHandle,
  store: StateStore,
): Promise<string | undefined> {
  const record = pass.record();
  const observation = pass.observation();
  if (observation.kind !== 'present') return undefined;
  const outcome = await pass.events(account);
  if (outcome?.kind !== 'applied') return undefined;
  const { baseline } = record;
  const { revision } = observation.value;
  const sinceMs = store.lastIntent(record.key)?.finishedAt;
  return describeCause(outcome.value, { baseline, revision, sinceMs }, pass.secrets());
}
