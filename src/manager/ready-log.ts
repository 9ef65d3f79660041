/**
 * One line of the log for each transition of `Ready`:
 *
 *     (not seen by this process) ── Ready, as recorded before ──> no line
 *          └── not Ready ──> `not ready` or `held`, once        Ready ── not Ready ──> `not ready` (warn)
 *     not Ready ── Ready ──> `ready`                            not Ready ── a person is needed ──> `held` (warn)
 *
 * The wait for the first read of an object is no line. An object that is not Ready may wait for one thing after another, and messages
 * may change with each pass: neither is a transition. Another status is one, and so is another reason while a person is needed. So every object has a line at most for each of these.
 *
 * And one line when something else carries the mark of an object (`Duplicated`), whatever `Ready` is, and again when that is another thing: the
 * state may be that of two managers, which both buy.
 */
import { keptFailure } from '../engine/index.ts';
import type { Condition, ObjectKey } from '../resources/index.ts';
import type { ObjectStatus, StateStore } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

interface Logged {
  readonly ready: Condition['status'];
  /** Why a person is needed. */
  readonly held: string | undefined;
  /** It has not been observed by this process: `ready` is as recorded before. */
  readonly isPending?: true;
}

export interface ReadyLogOptions {
  readonly store: Pick<StateStore, 'everyKey' | 'record'>;
  readonly logger: Logger;
}

export class ReadyLog {
  readonly #logged = new Map<ObjectKey, Logged>();
  /** Ids of what else carries the mark of an object. */
  readonly #duplicates = new Map<ObjectKey, readonly string[]>();
  readonly #options: ReadyLogOptions;

  /** What is recorded now is what an earlier process has seen. */
  constructor(options: ReadyLogOptions) {
    this.#options = options;
    const { store } = options;
    for (const key of store.everyKey()) {
      const ready = store.record(key)?.status?.conditions.find(({ type }) => type === 'Ready');
      if (ready) this.#logged.set(key, { ready: ready.status, held: undefined, isPending: true });
    }
  }

  /** After a pass. */
  passed(key: ObjectKey): void {
    const { store, logger } = this.#options;
    const record = store.record(key);
    const shown = record?.status;
    this.#logDuplicates(key, shown);
    const now = shown?.conditions;
    if (!now) {
      this.#logged.delete(key);
      return;
    }
    const ready = now.find(({ type }) => type === 'Ready');
    if (!ready) return;
    const stalled = now.find(({ type, status }) => type === 'Stalled' && status === 'True');
    const isReady = ready.status === 'True';
    const held = isReady ? undefined : (stalled ?? (record && keptFailure(record)))?.reason;
    const last = this.#logged.get(key);
    const known = last?.isPending ? undefined : last;
    const wasReady = last?.ready === 'True';
    // It waits for its first read.
    if (!known && held === undefined && ready.reason === 'AwaitingObservation') return;
    this.#logged.set(key, { ready: ready.status, held });
    if (known ? known.ready === ready.status && known.held === held : isReady && wasReady) return;
    const { reason, message } = (!isReady && stalled) || ready;
    const level = !isReady && (wasReady || held !== undefined) ? 'warn' : 'info';
    const text = isReady ? 'ready' : held === undefined ? 'not ready' : 'held';
    logger[level]({ object: key, ready: ready.status, reason, message }, text);
  }

  #logDuplicates(key: ObjectKey, status: ObjectStatus | undefined): void {
    const ids = (status?.duplicates ?? []).map(({ id }) => id);
    const known = this.#duplicates.get(key) ?? [];
    if (ids.length === 0) this.#duplicates.delete(key);
    else this.#duplicates.set(key, ids);
    if (!status || ids.every((id) => known.includes(id))) return;
    const found = status.conditions.find(({ type }) => type === 'Duplicated');
    this.#options.logger.warn({ object: key, reason: found?.reason, message: found?.message }, 'duplicated');
  }
}
