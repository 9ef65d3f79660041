/**
 * A request that the provider lacks something for (capacity, funds, room) is repeated with growing pauses, 10
 * s to 10 min. The pauses are recorded, and belong to the stock that is requested. So neither an unrelated
 * edit of the document nor a restart of the manager shortens them.
 *
 * Creations and starts that are refused for capacity are counted by their account, for all objects together
 * (engine/outcomes/capacity-memory.ts). The record of the object has the refusal, too: it is saved first.
 */
import { entryOfAction, type Action } from '../../actions/index.ts';
import type { Refused } from '../../api/index.ts';
import { backoffMs, type DigestKey, type Random } from '../../base/index.ts';
import type { ObjectRecord, Scarcity } from '../../state/index.ts';
import { classifyRefusal, scarceBackoff } from './refusals.ts';

/** Of an account, for all of its objects together. */
export interface Refusals {
  /** In a row, with this one. */
  readonly failures: number;
  readonly pauseMs: number;
}

/** What is recorded of a request if it is refused for capacity. It is the same at each call. */
export type IfRefused = () => Refusals;

/** After a refusal of `action`. If the refusal had another reason, the previous value stays. */
export function nextScarcity(
  record: ObjectRecord,
  action: Action,
  refused: Refused,
  { digestKey, random, wallMs, ifRefused }: ScarcityInputs,
): Scarcity | undefined {
  // If the wall clock was set back since, the age of that refusal is unknown.
  const isOfNow = record.refusal !== undefined && wallMs >= record.refusal.at;
  const before = isOfNow ? record.refusal?.scarcity : undefined;
  const verdict = classifyRefusal(refused);
  if (verdict.kind !== 'wait' || !verdict.isScarce) return before;
  const demand = digestKey.digest(demandOf(action));
  const own = before?.demand === demand ? before.failures + 1 : 1;
  const counted = verdict.reason === 'CapacityUnavailable' ? ifRefused?.() : undefined;
  const { failures, pauseMs: plainMs } = counted ?? {
    failures: own,
    pauseMs: backoffMs(own - 1, scarceBackoff, random),
  };
  const pauseMs = Math.max(refused.retryAfterMs ?? 0, plainMs);
  const message = `${action.do} was refused with ${refused.status} ${refused.code}: ${refused.message}; it is tried again with growing pauses`;
  return { demand, failures, retryAt: wallMs + pauseMs, reason: verdict.reason, message };
}

interface ScarcityInputs {
  readonly digestKey: DigestKey;
  readonly random: Random;
  readonly wallMs: number;
  readonly ifRefused?: IfRefused | undefined;
}

/** Why `action` is not sent yet, and for how long. Undefined if it may be sent. */
export function stillScarce(
  record: ObjectRecord,
  action: Action,
  digestKey: DigestKey,
  wallMs: number,
): (Scarcity & { readonly leftMs: number }) | undefined {
  const scarcity = ownScarcity(record, action, digestKey, wallMs);
  const leftMs = scarcity ? scarcity.retryAt - wallMs : 0;
  return scarcity && leftMs > 0 ? { ...scarcity, leftMs } : undefined;
}

/** What the provider lacked for `action` when this object asked for the same. Its pause may be over. */
export function ownScarcity(
  { refusal }: ObjectRecord,
  action: Action,
  digestKey: DigestKey,
  wallMs: number,
): Scarcity | undefined {
  const scarcity = refusal?.scarcity;
  if (!scarcity || scarcity.demand !== digestKey.digest(demandOf(action))) return undefined;
  // The wall clock was set back, so the age of the refusal is unknown, and its time may be far ahead.
  return wallMs < refusal.at ? undefined : scarcity;
}

/** The stock of the provider that an action needs. */
function demandOf(action: Action): object {
  const own = entryOfAction(action).demand?.(action);
  return own ?? { do: action.do, id: 'id' in action ? action.id : undefined };
}
