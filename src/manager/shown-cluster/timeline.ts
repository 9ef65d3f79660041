/**
 * The newest mutations and Events of a cluster, in memory. A status has only the newest mutation of its object, so what changes from one
 * status to the next is remembered here: 10,000 entries, of which the oldest is forgotten first.
 *
 * - The number of an entry follows from its time, so a position in the list stays valid when something older arrives late.
 * - A mutation that was known before keeps its number, and gets its outcome. An Event that is repeated moves to its new time.
 * - The operator writes an Event of type Normal for each mutation. Those are shown only from before the first mutation that is known of
 *   their object.
 */
import type { ObjectKey } from '../../resources/index.ts';
import type { Intent } from '../../state/index.ts';

/** A Kubernetes Event about one of our objects. */
export interface ClusterEvent {
  readonly uid: string;
  readonly object: ObjectKey;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** How often it has happened. */
  readonly count: number;
  /** The last time, in Unix milliseconds. */
  readonly at: number;
}

export type TimelineEntry =
  | { readonly number: number; readonly intent: Intent }
  | { readonly number: number; readonly event: ClusterEvent };

const mostEntries = 10_000;
/** Entries of one object. */
const mostOfObject = 20;
/** Entries of one millisecond. */
const perMs = 1000;

export class ClusterTimeline {
  readonly #most: number;
  /** By number, the oldest first. */
  #entries: TimelineEntry[] = [];
  readonly #numbers = new Map<string, number>();
  /** The mutations that are known of an object, and the time of the first one. */
  readonly #known = new Map<ObjectKey, { readonly count: number; readonly firstAt: number }>();

  constructor(most = mostEntries) {
    this.#most = most;
  }

  /** `nowMs`: what claims to be later counts as of now. */
  putIntent(intent: Intent, nowMs: number): void {
    const { object, idempotencyKey, createdAt } = intent;
    const isNew = this.#put(`${object} ${idempotencyKey}`, createdAt, nowMs, (number) => ({
      number,
      intent,
    }));
    if (!isNew) return;
    const { count, firstAt } = this.#known.get(object) ?? { count: 0, firstAt: createdAt };
    this.#known.set(object, { count: count + 1, firstAt: Math.min(firstAt, createdAt) });
    this.#forgetOldest();
  }

  putEvent(event: ClusterEvent, nowMs: number): void {
    const known = this.#entryOf(event.uid);
    if (known && 'event' in known && known.event.at !== event.at) this.#remove(event.uid, known.number);
    this.#put(event.uid, event.at, nowMs, (number) => ({ number, event }));
    this.#forgetOldest();
  }

  /** Those with a lower number that are wanted, newest first; at most `limit`. */
  page(
    before: number | undefined,
    limit: number,
    isWanted: (entry: TimelineEntry) => boolean = () => true,
  ): TimelineEntry[] {
    const found: TimelineEntry[] = [];
    const end = before === undefined ? this.#entries.length : this.#indexOf(before);
    for (let index = end - 1; index >= 0 && found.length < limit; index -= 1) {
      const entry = this.#entries[index];
      if (entry && !this.#isRepeated(entry) && isWanted(entry)) found.push(entry);
    }
    return found;
  }

  /** Its newest mutations, newest first. */
  ofObject(object: ObjectKey): Intent[] {
    const left = this.#known.get(object)?.count ?? 0;
    const found: Intent[] = [];
    for (let index = this.#entries.length - 1; index >= 0; index -= 1) {
      if (found.length === Math.min(left, mostOfObject)) break;
      const entry = this.#entries[index];
      if (entry && 'intent' in entry && entry.intent.object === object) found.push(entry.intent);
    }
    return found;
  }

  #entryOf(id: string): TimelineEntry | undefined {
    const number = this.#numbers.get(id);
    return number === undefined ? undefined : this.#entries[this.#indexOf(number)];
  }

  #remove(id: string, number: number): void {
    this.#entries.splice(this.#indexOf(number), 1);
    this.#numbers.delete(id);
  }

  /** True if it is a new one. */
  #put(id: string, at: number, nowMs: number, make: (number: number) => TimelineEntry): boolean {
    const known = this.#numbers.get(id);
    if (known !== undefined) {
      this.#entries[this.#indexOf(known)] = make(known);
      return false;
    }
    let number = Math.max(0, Math.min(at, nowMs)) * perMs;
    let index = this.#indexOf(number);
    while (this.#entries[index]?.number === number) {
      number += 1;
      index += 1;
    }
    this.#entries.splice(index, 0, make(number));
    this.#numbers.set(id, number);
    return true;
  }

  #forgetOldest(): void {
    if (this.#entries.length <= this.#most) return;
    const oldest = this.#entries.shift();
    if (!oldest) return;
    if ('event' in oldest) {
      this.#numbers.delete(oldest.event.uid);
      return;
    }
    const { object, idempotencyKey } = oldest.intent;
    this.#numbers.delete(`${object} ${idempotencyKey}`);
    const known = this.#known.get(object);
    if (!known || known.count <= 1) this.#known.delete(object);
    else this.#known.set(object, { ...known, count: known.count - 1 });
  }

  /** Where the number is, or would be. */
  #indexOf(number: number): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#entries[middle]?.number ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isRepeated(entry: TimelineEntry): boolean {
    if (!('event' in entry) || entry.event.type === 'Warning') return false;
    const first = this.#known.get(entry.event.object)?.firstAt;
    return first !== undefined && entry.event.at >= first;
  }
}
