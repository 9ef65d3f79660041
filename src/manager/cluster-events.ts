/** Records what passes do as Events of their objects. */
import type { Clock } from '../base/index.ts';
import type { EventRecorder } from '../kubernetes/index.ts';
import type { ObjectNews, PassResult } from '../engine/index.ts';
import { reasons } from '../reasons/index.ts';
import { accountKey, apiVersion, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ObjectStatus, StateStore } from '../state/index.ts';
import { newEvents, nothingReported, type ReportedEvents } from '../engine/status/index.ts';

export interface ClusterEventsOptions {
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly store: StateStore;
  readonly clock: Clock;
}

export class ClusterEvents {
  readonly #options: ClusterEventsOptions;
  readonly #reported = new Map<ObjectKey, ReportedEvents>();
  readonly #sinceMs: number;

  constructor(options: ClusterEventsOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.wallMs();
  }

  /** The account of the environment has no object for Events. */
  ofAccount(account: string, { reason, message }: ObjectNews): void {
    const { store, recorder } = this.#options;
    const record = store.record(accountKey(account));
    if (!record) return;
    const about = { apiVersion, ...parseObjectKey(record.key), uid: record.uid };
    recorder.record({ about, type: 'Warning', reason, message });
  }

  passed(key: ObjectKey, { plan, removed, news: warnings = [] }: PassResult): void {
    if (removed) {
      this.#reported.delete(key);
      return;
    }
    const { store, recorder } = this.#options;
    const record = store.record(key);
    if (!record) return;
    const { externalId: id, status, uid } = record;
    const duplicates = duplicatesIn(status);
    const view = {
      plan,
      id,
      lastIntent: store.lastIntent(key),
      drift: status?.drift ?? [],
      ...(duplicates ? { duplicates } : {}),
    };
    const { reported, news } = newEvents(view, this.#reported.get(key) ?? nothingReported, this.#sinceMs);
    this.#reported.set(key, reported);
    const about = { apiVersion, ...parseObjectKey(key), uid };
    for (const { type, reason, message } of news) recorder.record({ about, type, reason, message });
    for (const { reason, message } of warnings) {
      const type = reasons[reason].severity === 'info' ? 'Normal' : 'Warning';
      recorder.record({ about, type, reason, message });
    }
  }
}

function duplicatesIn(status: ObjectStatus | undefined) {
  const message = status?.conditions.find(({ type }) => type === 'Duplicated')?.message;
  const ids = status?.duplicates?.map(({ id }) => id) ?? [];
  return message === undefined || ids.length === 0 ? undefined : { ids, message };
}
