/**
 * Lines of `run --timeline`: what passes did, for whoever wants to see how an object spends its time. Pure.
 *
 * | a pass                                               | its line has                                                  |
 * |------------------------------------------------------|---------------------------------------------------------------|
 * | sent a request, or learned what became of one        | `intent`, `attempt`, `action`, `outcome`                      |
 * | began to wait, or is held, for a reason              | `waitReason`                                                  |
 * | ended a wait, also by beginning another one          | `waitedMs`: how long that one lasted, in this process         |
 * | none of these                                        | there is no line                                              |
 *
 * `intent` is the Idempotency-Key of the request. `attempt` counts how often this process sent it. No line has a value or a message of
 * anybody: only names, reasons of the reason table, actions and times.
 */
import type { Clock } from '../base/index.ts';
import type { PassResult } from '../engine/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { Intent } from '../state/index.ts';

export interface TimelineLine {
  /** RFC 3339 with milliseconds: the end of the pass. */
  readonly at: string;
  readonly object: ObjectKey;
  readonly intent?: string;
  readonly attempt?: number;
  readonly action?: string;
  readonly outcome?: string;
  /** Why the object waits from now on. */
  readonly waitReason?: string;
  readonly waitedMs?: number;
  readonly durationMs: number;
}

type Sent = Pick<Intent, 'idempotencyKey' | 'createdAt' | 'action' | 'outcome'>;

/** What is remembered of an object. */
interface Seen {
  readonly wait: { readonly reason: string; readonly sinceMs: number } | undefined;
  readonly sent: { readonly intent: Sent; readonly attempt: number } | undefined;
}

export class Timeline {
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #seen = new Map<ObjectKey, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAtMs = clock.wallMs();
  }

  /** `lastIntent`: of the object, after the pass. */
  passed(
    object: ObjectKey,
    { plan, removed }: Pick<PassResult, 'plan' | 'removed'>,
    durationMs: number,
    lastIntent: Sent | undefined,
  ): TimelineLine | undefined {
    const before = this.#seen.get(object);
    const nowMs = this.#clock.monotonicMs();
    const reason = plan.kind === 'wait' || plan.kind === 'hold' ? plan.reason : undefined;
    const waits = before?.wait?.reason === reason;
    const wait = waits ? before?.wait : reason === undefined ? undefined : { reason, sinceMs: nowMs };
    const sent = this.#sent(lastIntent, before?.sent);
    if (removed) this.#seen.delete(object);
    else this.#seen.set(object, { wait, sent });
    const acted = sent !== undefined && sent !== before?.sent;
    if (!acted && waits) return undefined;
    return {
      at: new Date(this.#clock.wallMs()).toISOString(),
      object,
      ...(acted ? intentOf(sent) : {}),
      ...(waits || reason === undefined ? {} : { waitReason: reason }),
      ...(waits || !before?.wait ? {} : { waitedMs: Math.round(nowMs - before.wait.sinceMs) }),
      durationMs: Math.round(durationMs),
    };
  }

  /** The same as before if nothing became of it. What an earlier process sent is known only when its outcome changes. */
  #sent(intent: Sent | undefined, before: Seen['sent']): Seen['sent'] {
    if (!intent) return before;
    const isSame = before?.intent.idempotencyKey === intent.idempotencyKey;
    if (isSame && before.intent.createdAt === intent.createdAt) {
      return before.intent.outcome === intent.outcome ? before : { intent, attempt: before.attempt };
    }
    if (!before && intent.createdAt < this.#startedAtMs) return undefined;
    return { intent, attempt: isSame ? before.attempt + 1 : 1 };
  }
}

function intentOf({ intent, attempt }: NonNullable<Seen['sent']>): Partial<TimelineLine> {
  const { idempotencyKey, action, outcome } = intent;
  return { intent: idempotencyKey, attempt, action, outcome };
}
