/** What is recorded of a refused request. */
import type { Refused, RefusalMeaning } from '../../api/index.ts';
import type { Step } from '../plan/index.ts';
import type { ObjectRecord, Refusal } from '../../state/index.ts';
import { hasDerivedKey } from './creation-keys.ts';
import type { ExecutorOptions, Target } from './executor.ts';
import { fingerprint } from './requests.ts';
import { nextScarcity } from './scarcity.ts';

export interface SentRequest {
  readonly idempotencyKey: string;
  /** It had been sent before with the same key. */
  readonly isRepetition: boolean;
}

/** Of a request with a revision, these may hide that it was carried out: the revision has moved, by itself or by somebody else. */
const conflicts: ReadonlySet<RefusalMeaning> = new Set(['RevisionConflict', 'StateConflict', 'Conflict']);

/** Reverts what was recorded for the request, apart from the number of times that it was sent in vain. */
export function recordRefused(
  { store, clock, random }: ExecutorOptions,
  record: ObjectRecord,
  step: Step,
  target: Target,
  outcome: Refused,
  { idempotencyKey, isRepetition }: SentRequest,
): ObjectRecord {
  const { action } = step;
  const { status, code, message, meaning } = outcome;
  const counts = conflicts.has(meaning) && 'revision' in action;
  return {
    ...target.record,
    ...(hasDerivedKey(store, action.do) ? afterRefusal(idempotencyKey, meaning) : {}),
    ...(counts ? { corrections: withRefusal(record, idempotencyKey) } : {}),
    refusal: {
      fingerprint: fingerprint(action, store.digestKey),
      generation: record.generation,
      action: action.do,
      status,
      code,
      message,
      meaning,
      keyDigest: target.keyDigest,
      ...(isRepetition ? { isRepetition } : {}),
      ...resent(record, step, target, outcome),
      at: clock.wallMs(),
      scarcity: nextScarcity(record, action, outcome, {
        digestKey: store.digestKey,
        random,
        wallMs: clock.wallMs(),
        ifRefused: target.ifRefused,
      }),
    },
  };
}

function withRefusal({ corrections }: ObjectRecord, key: string): ObjectRecord['corrections'] {
  return corrections.map((each) =>
    each.idempotencyKey === key ? { ...each, refusals: (each.refusals ?? 0) + 1, isRefused: true } : each,
  );
}

/** That hidden fields were sent again counts, even if the answer is a conflict: see revision-drift.ts of services. */
function resent(
  { refusal, generation }: ObjectRecord,
  { differences }: Step,
  { revision }: Target,
  { status, code, meaning }: Refused,
): Pick<Refusal, 'resent'> {
  if (conflicts.has(meaning) && differences.some(({ revisionMoved }) => revisionMoved)) {
    return { resent: { revision, answer: `${status} ${code}` } };
  }
  return refusal?.generation === generation && refusal.resent ? { resent: refusal.resent } : {};
}

/** If the API knows the key, another process may have used it, and its creation may still appear. */
function afterRefusal(idempotencyKey: string, meaning: RefusalMeaning): Partial<ObjectRecord> {
  const isSeen = meaning === 'KeyConflict';
  return { refusedKey: idempotencyKey, ...(isSeen ? { creationInDoubt: { idempotencyKey } } : {}) };
}
