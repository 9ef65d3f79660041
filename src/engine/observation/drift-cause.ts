import { describeCause, newDrift, type Plan } from '../plan/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Pass } from '../pass.ts';

/**
 * Reads the events of the thing, if its kind has any. They are read once, when a drift first appears and
 * before it is corrected.
 */
export async function causeOfNewDrift(
  pass: Pass,
  account: AccountHandle,
  plan: Plan,
  store: StateStore,
): Promise<string | undefined> {
  const record = pass.record();
  const observation = pass.observation();
  if (!pass.reportsEvents || observation.kind !== 'present') return undefined;
  if (newDrift(plan, record.report?.drift ?? []).length === 0) return undefined;
  const outcome = await pass.events(account);
  if (outcome?.kind !== 'applied') return undefined;
  const { baseline } = record;
  const { revision } = observation.value;
  const sinceMs = store.lastIntent(record.key)?.finishedAt;
  return describeCause(outcome.value, { baseline, revision, sinceMs }, pass.secrets());
}
