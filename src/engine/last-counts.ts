/** What kinds store only from time to time is stored once more when the process ends. */
import { sleep, type Clock } from '../base/index.ts';
import { type ManagedKind, type ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Kinds } from './kind.ts';

interface LastCounts {
  readonly store: Pick<StateStore, 'recordsOfKind'>;
  readonly kinds: Kinds;
  readonly clock: Clock;
  readonly mode: 'manage' | 'preview';
  /** Nothing can be saved. */
  readonly isSuspended: () => boolean;
}

/** In a cluster each is a request, and whoever waits for the end of the process kills it in half a minute. What is left counts as after a kill. */
const patienceMs = 5000;
const atOnce = 16;

/** `pass`: of one object. It reports its failures itself. */
export async function storeLastCounts(
  { store, kinds, clock, mode, isSuspended }: LastCounts,
  pass: (key: ObjectKey) => Promise<void>,
): Promise<void> {
  if (mode === 'preview' || isSuspended()) return;
  const counting = (Object.keys(kinds) as ManagedKind[]).filter((kind) => kinds[kind].storesAtEnd);
  const keys = counting.flatMap((kind) => store.recordsOfKind(kind).map(({ key }) => key));
  const left = keys.values();
  const over = new AbortController();
  const lane = async () => {
    for (const key of left) {
      if (over.signal.aborted) return;
      await pass(key);
    }
  };
  const all = Promise.all(Array.from({ length: atOnce }, lane));
  await Promise.race([all, sleep(clock, patienceMs, over.signal)]);
  over.abort();
}
