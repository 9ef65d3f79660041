/**
 * What is seen of a fleet while a command waits for it: for each object what is done or waited for, since when, and why. Passes are
 * put in, changes and views come out; how they are shown is decided elsewhere (lines.ts, table.ts).
 */
import { actions } from '../../actions/index.ts';
import type { PassResult } from '../../engine/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { isReady, needsPerson } from '../output/settled.ts';

/**
 * `sending`: a request is sent for it. `waiting`: it continues by itself. `held`: somebody has to change something. `checking`: it is Ready
 * and will be read once more. `gone`: it was deleted, or left at the provider.
 */
export type Progress = 'sending' | 'waiting' | 'held' | 'checking' | 'ready' | 'gone';

export interface ProgressRow {
  /** `Kind namespace/name`. */
  readonly object: string;
  readonly progress: Progress;
  /** What is being sent. */
  readonly action?: string;
  /** The same as people say it: `creating`. */
  readonly doing?: string;
  readonly reason: string;
  readonly message: string;
  /** Monotonic milliseconds of the first pass that showed this progress with this reason. */
  readonly sinceMs: number;
}

export interface ProgressView {
  readonly elapsedMs: number;
  readonly nowMs: number;
  readonly rows: readonly ProgressRow[];
  readonly counts: Readonly<Record<Progress, number>>;
}

/** A pass whose plan only waits for the next read shows nothing new. */
const nothingNew: ReadonlySet<string> = new Set(['AwaitingObservation']);

const unread = { progress: 'waiting', reason: 'AwaitingObservation', message: 'not read yet' } as const;

export class FleetProgress {
  readonly #startedAtMs: number;
  readonly #rows = new Map<ObjectKey, ProgressRow>();
  readonly #counts: Record<Progress, number> = {
    sending: 0,
    waiting: 0,
    held: 0,
    checking: 0,
    ready: 0,
    gone: 0,
  };
  /** Objects that the state had before: of others, nothing can be gone. */
  readonly #known: Set<ObjectKey>;

  constructor(nowMs: number, known: Iterable<ObjectKey> = []) {
    this.#startedAtMs = nowMs;
    this.#known = new Set(known);
  }

  /** Objects that have had no pass yet. */
  expect(keys: Iterable<ObjectKey>, nowMs: number): void {
    for (const key of keys) {
      this.#known.add(key);
      if (this.#rows.has(key)) continue;
      this.#set(key, { ...unread, object: identity(key), sinceMs: nowMs });
    }
  }

  /** After a pass. Returns the new row of the object if it shows another step, wait or hold than before. */
  observe(
    key: ObjectKey,
    record: ObjectRecord | undefined,
    result: PassResult,
    nowMs: number,
  ): ProgressRow | undefined {
    // A document that can't be used has no object yet.
    if (result.removed && !this.#known.delete(key)) return undefined;
    if (!result.removed) this.#known.add(key);
    const before = this.#rows.get(key);
    const now = rowOf(key, record, result);
    if (now.progress === 'waiting' && nothingNew.has(now.reason)) {
      if (!before) this.#set(key, { ...now, sinceMs: nowMs });
      return undefined;
    }
    const isChecked = before?.progress === 'checking' && now.progress === 'ready';
    const progress = isChecked ? before.progress : now.progress;
    const isSame = before !== undefined && before.progress === progress && labelOf(before) === labelOf(now);
    const row: ProgressRow = { ...now, progress, sinceMs: isSame ? before.sinceMs : nowMs };
    this.#set(key, row);
    return isSame ? undefined : row;
  }

  /** It is Ready, and counts as such when it has stayed so. */
  check(key: ObjectKey, nowMs: number): void {
    const before = this.#rows.get(key);
    if (before?.progress !== 'ready') return;
    this.#set(key, { ...before, progress: 'checking', sinceMs: nowMs });
  }

  /** It has stayed Ready. */
  confirm(key: ObjectKey, nowMs: number): void {
    const before = this.#rows.get(key);
    if (before?.progress === 'checking') {
      this.#set(key, { ...before, progress: 'ready', sinceMs: nowMs });
    }
  }

  /** Nothing is read again any more. */
  end(nowMs: number): void {
    for (const key of this.#rows.keys()) this.confirm(key, nowMs);
  }

  get counts(): Readonly<Record<Progress, number>> {
    return this.#counts;
  }

  view(nowMs: number): ProgressView {
    return {
      elapsedMs: nowMs - this.#startedAtMs,
      nowMs,
      rows: [...this.#rows.values()],
      counts: { ...this.#counts },
    };
  }

  #set(key: ObjectKey, row: ProgressRow): void {
    const before = this.#rows.get(key);
    if (before) this.#counts[before.progress] -= 1;
    if (row.progress === 'gone') {
      this.#rows.delete(key);
      return;
    }
    this.#counts[row.progress] += 1;
    this.#rows.set(key, row);
  }
}

export function identity(key: ObjectKey): string {
  const { kind, namespace, name } = parseObjectKey(key);
  return `${kind} ${namespace}/${name}`;
}

/** What makes two rows of an object different, beside the message. */
function labelOf({ action, reason }: Pick<ProgressRow, 'action' | 'reason'>): string {
  return action ?? reason;
}

function rowOf(
  key: ObjectKey,
  record: ObjectRecord | undefined,
  { plan, removed, leaves }: PassResult,
): Omit<ProgressRow, 'sinceMs'> {
  const object = identity(key);
  if (removed) {
    const reason = leaves === undefined ? 'gone' : `left at the provider, as ${leaves}`;
    return { object, progress: 'gone', reason, message: '' };
  }
  if (plan.kind === 'act') {
    const { action, reason, differences } = plan.step;
    const { progressive, effect } = actions[action.do];
    const message = effect === 'change' ? differences.map(({ path }) => path).join(', ') : '';
    return { object, progress: 'sending', action: action.do, doing: progressive, reason, message };
  }
  const ready = record?.status?.conditions.find(({ type }) => type === 'Ready');
  const { reason = plan.kind, message = '' } = ready ?? {};
  const isHeld = record !== undefined && needsPerson(record);
  const progress = isHeld ? 'held' : record && isReady(record) ? 'ready' : 'waiting';
  return { object, progress, reason, message };
}
