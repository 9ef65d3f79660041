/**
 * What the provider has too little of (capacity, funds, room) is asked for again with growing pauses, 10 s to 10 min. They
 * count for what is asked of its stock, and are written down: neither an edit of the rest of the document nor a restart
 * of the manager makes it ask sooner.
 */
import { entryOfAction, type Action } from '../../actions/index.ts';
import type { Refused } from '../../api/index.ts';
import { backoffMs, type DigestKey, type Random } from '../../base/index.ts';
import type { ObjectRecord, Scarcity } from '../../state/index.ts';
import { classifyRefusal, scarceBackoff } from './refusals.ts';

/** After a refusal of `action`; what was known stays if the refusal had another reason. */
export function nextScarcity(
  record: ObjectRecord,
  action: Action,
  refused: Refused,
  { digestKey, random, wallMs }: { digestKey: DigestKey; random: Random; wallMs: number },
): Scarcity | undefined {
  // Of before the wall clock was set back nobody can tell how long ago it was.
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

/** Why `action` is not to be sent yet, and for how long; undefined when it may be. */
export function stillScarce(
  { refusal }: ObjectRecord,
  action: Action,
  digestKey: DigestKey,
  wallMs: number,
): (Scarcity & { readonly leftMs: number }) | undefined {
  const scarcity = refusal?.scarcity;
  if (!scarcity || scarcity.demand !== digestKey.digest(demandOf(action))) return undefined;
  // The wall clock was set back: how long ago it was nobody can tell, and waiting for that time to come again may take for ever.
  if (wallMs < refusal.at) return undefined;
  const leftMs = scarcity.retryAt - wallMs;
  return leftMs > 0 ? { ...scarcity, leftMs } : undefined;
}

/** What of the provider's stock an action needs. */
function demandOf(action: Action): object {
  const own = entryOfAction(action).demand?.(action);
  return own ?? { do: action.do, id: 'id' in action ? action.id : undefined };
}
