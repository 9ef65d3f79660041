/**
 * A request that the provider lacks something for (capacity, funds, room) is repeated with growing pauses, 10
 * s to 10 min. The pauses are recorded, and belong to the stock that is requested. So neither an unrelated
 * edit of the document nor a restart of the manager shortens them.
 */
import { entryOfAction, type Action } from '../../actions/index.ts';
import type { Refused } from '../../api/index.ts';
import { backoffMs, type DigestKey, type Random } from '../../base/index.ts';
import type { ObjectRecord, Scarcity } from '../../state/index.ts';
import { classifyRefusal, scarceBackoff } from './refusals.ts';

/** After a refusal of `action`. If the refusal had another reason, the previous value stays. */
export function nextScarcity(
  record: ObjectRecord,
  action: Action,
  refused: Refused,
  { digestKey, random, wallMs }: { digestKey: DigestKey; random: Random; wallMs: number },
): Scarcity | undefined {
  // If the wall clock was set back since, the age of that refusal is unknown.
  const isOfNow = record.refusal !== undefined && wallMs >= record.refusal.at;
  const before = isOfNow ? record.refusal?.scarcity : undefined;
  const verdict = classifyRefusal(refused);
  if (verdict.kind !== 'wait' || !verdict.isScarce) return before;
  const demand = digestKey.digest(demandOf(action));
  const failures = before?.demand === demand ? before.failures + 1 : 1;
  const pauseMs = Math.max(refused.retryAfterMs ?? 0, backoffMs(failures - 1, scarceBackoff, random));
  const message = `${action.do} was refused with ${refused.status} ${refused.code}: ${refused.message}; it is tried again with growing pauses`;
  return { demand, failures, retryAt: wallMs + pauseMs, reason: verdict.reason, message };
}

/** Why `action` is not sent yet, and for how long. Undefined if it may be sent. */
export function stillScarce(
  { refusal }: ObjectRecord,
  action: Action,
  digestKey: DigestKey,
  wallMs: number,
): (Scarcity & { readonly leftMs: number }) | undefined {
  const scarcity = refusal?.scarcity;
  if (!scarcity || scarcity.demand !== digestKey.digest(demandOf(action))) return undefined;
  // The wall clock was set back, so the age of the refusal is unknown, and its time may be far ahead.
  if (wallMs < refusal.at) return undefined;
  const leftMs = scarcity.retryAt - wallMs;
  return leftMs > 0 ? { ...scarcity, leftMs } : undefined;
}

/** The stock of the provider that an action needs. */
function demandOf(action: Action): object {
  const own = entryOfAction(action).demand?.(action);
  return own ?? { do: action.do, id: 'id' in action ? action.id : undefined };
}
