/**
 * Bounds a request that has to be sent repeatedly although it took effect, because something undoes it. For example, the
 * provider shows other values from one read to the next, or somebody changes them back. Or it refuses the request because of its revision
 * (`refusals`), and has perhaps carried it out all the same. Each repetition may cost money or
 * restart a service, so the pauses grow.
 *
 *     sent, sent again ── differs again ──> pause of 10 s, 20 s, 40 s … 10 min ──> sent again
 *                                 └── from the fourth time on: `KeepsChanging`, Stalled, until it has stayed as desired for the pause and two minutes
 *
 * The count is per object, action, content and generation: an edit is applied at once. A correction that was not sent for
 * ten minutes after its pause is forgotten. Restarts by `onError` have a count of their own (restarts.ts), as do requests
 * without visible effect (`NotTakingEffect`).
 */
import { elapsedMs, rfc3339 } from '../../base/index.ts';
import type { Correction, ObjectRecord } from '../../state/index.ts';

export const keepsChangingReason = 'KeepsChanging';
/** The number of times that it is sent without a pause. */
const freeOfPause = 2;
const reportedFrom = 4;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;
const quietMs = 120_000;
const forgottenMs = 600_000;
/** Per object: only the newest corrections are kept. */
const mostKept = 8;

/** The request to send. `mark`: digest of the action without id and revision. */
export interface Sent {
  readonly mark: string;
  readonly action: string;
  readonly revision: number | undefined;
  readonly idempotencyKey: string;
}

/** To be recorded with the intent. `nowMs`: Unix milliseconds. */
export function withCorrection(record: ObjectRecord, sent: Sent, nowMs: number): readonly Correction[] {
  const { generation } = record;
  const known = remembered(record, nowMs);
  const before = known.find(({ mark }) => mark === sent.mark);
  const others = known.filter((each) => each !== before);
  const isStill = before !== undefined && sent.revision !== undefined && before.revision === sent.revision;
  const { count, refusals } = inEffect(before, sent.revision);
  const refused = refusals === 0 ? {} : { refusals };
  const now = { ...sent, generation, isStill, count: count + 1, at: nowMs, ...refused };
  return [...others, now].slice(-mostKept);
}

/** For a request that is known not to have happened. */
export function withoutCorrection({ corrections }: ObjectRecord, key: string): readonly Correction[] {
  return corrections
    .map((each) => (each.idempotencyKey === key ? { ...each, count: each.count - 1 } : each))
    .filter(({ count }) => count > 0);
}

/** How often it was sent. A refused request has changed nothing if the revision has not moved since: every accepted change advances it (§2). */
function inEffect(
  before: Correction | undefined,
  revision: number | undefined,
): { readonly count: number; readonly refusals: number } {
  const { count = 0, refusals = 0 } = before ?? {};
  const isVoid = before?.isRefused === true && revision !== undefined && before.revision === revision;
  return isVoid ? { count: count - 1, refusals: refusals - 1 } : { count, refusals };
}

export interface Pause {
  readonly leftMs: number;
  readonly message: string;
  readonly isReported: boolean;
}

/** Why it is not sent now. Undefined if it may be sent. `revision`: what it would be sent with. */
export function correctionPause(
  record: ObjectRecord,
  mark: string,
  revision: number | undefined,
  nowMs: number,
): Pause | undefined {
  const sent = remembered(record, nowMs).find((each) => each.mark === mark);
  if (!sent) return undefined;
  const before = { ...sent, ...inEffect(sent, revision) };
  const leftMs = pauseMs(before) - elapsedMs(before.at, nowMs);
  if (leftMs <= 0) return undefined;
  const message = `${whatHappened(before)}; it is sent again after ${rfc3339(before.at + pauseMs(before))}`;
  return { leftMs, isReported: before.count >= reportedFrom, message };
}

/** It matches the spec, but was corrected repeatedly. Undefined: it counts as stable. */
export function unsettled(record: ObjectRecord, nowMs: number): Pause | undefined {
  const frequent = remembered(record, nowMs).filter(({ count }) => count >= reportedFrom);
  const lefts = frequent.map((each) => ({
    each,
    leftMs: pauseMs(each) + quietMs - elapsedMs(each.at, nowMs),
  }));
  const [longest] = lefts.sort((one, other) => other.leftMs - one.leftMs);
  if (!longest || longest.leftMs <= 0) return undefined;
  const { each, leftMs } = longest;
  const until = rfc3339(each.at + pauseMs(each) + quietMs);
  return {
    leftMs,
    isReported: true,
    message: `${whatHappened(each)}; it is as desired if it stays so until ${until}`,
  };
}

function whatHappened(correction: Correction): string {
  const { action, count, isStill, revision, refusals = 0 } = correction;
  if (refusals > 0) return whatWasRefused(correction, refusals);
  const what = `${action} was sent ${count} times within a short time, and something undid it each time`;
  return isStill
    ? `${what}. The revision (${revision}) has not moved meanwhile, so nobody changed it: the API shows other values from one read to the next; ask the provider`
    : `${what}: somebody else changes it, or the provider does. Find out who (\`fleetkeeper events\`), remove the field from the document, or set \`driftPolicy: Report\``;
}

function whatWasRefused({ action, count }: Correction, refusals: number): string {
  const often = refusals < count ? `${refusals} times` : 'each time';
  const what = `${action} was sent ${count} times within a short time, and the API refused it ${often} because something else was in the way`;
  return `${what}. The revision has moved since: the request may have been carried out all the same, or somebody else changes the thing at the same time (\`fleetkeeper events\`); if neither, ask the provider`;
}

function remembered({ corrections, generation }: ObjectRecord, nowMs: number): readonly Correction[] {
  return corrections.filter(
    (each) => each.generation === generation && elapsedMs(each.at, nowMs) < pauseMs(each) + forgottenMs,
  );
}

function pauseMs({ count }: Correction): number {
  if (count < freeOfPause) return 0;
  return Math.min(firstPauseMs * 2 ** Math.min(count - freeOfPause, 30), longestPauseMs);
}
