/**
 * The source of a cluster, connected to the store. The objects themselves hold the state, so the store takes
 * in each snapshot before anybody decides on it. Snapshots are published in order. The store may have to read more for one: the
 * revisions of a fleet. While the API server does not answer that, the snapshot waits, and all that follow.
 *
 * Of several namespaces, one holds up no other one. Where they were never listed, nothing is in the snapshots (desired/cluster/cluster-scopes.ts).
 * Where they can't be listed any more, the fleet is left until they can: it has no record, so nothing is done for it, and nothing written.
 */
import { backoffMs, sleep, type Clock, type Random } from '../base/index.ts';
import {
  changedKeys,
  type ClusterFacts,
  type DesiredSnapshot,
  type DesiredSource,
} from '../desired/index.ts';
import { KubernetesError } from '../kubernetes/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ClusterStore, Noticed, StoredObject } from '../state/index.ts';

export interface WatchedByStore {
  readonly source: DesiredSource;
  readonly store: Pick<ClusterStore, 'observe' | 'observeChanges'>;
  readonly onNoticed: (noticed: Noticed) => void;
  /** A snapshot could not be taken in; that is tried again. */
  readonly onFailure: (error: KubernetesError) => void;
  readonly clock: Clock;
  readonly random: Random;
}

const backoff = { firstMs: 100, longestMs: 5000 };

export interface WatchedSource extends DesiredSource {
  /** Resolves when everything that the source has published so far is passed on. */
  passedOn(): Promise<void>;
}

export function watchedByStore({ source, store, onNoticed, ...options }: WatchedByStore): WatchedSource {
  const stopping = new AbortController();
  let passing: Promise<void> = Promise.resolve();
  let taken: DesiredSnapshot | undefined;
  const take = async (snapshot: DesiredSnapshot) => {
    const changed = changedKeys(snapshot, taken);
    const noticed =
      changed === 'all'
        ? store.observe(storedObjects(snapshot), new Set(snapshot.unusable.keys()), snapshot.unread)
        : store.observeChanges(changed, (key) => shownIn(snapshot, key), snapshot.unread);
    onNoticed(await noticed);
    taken = snapshot;
  };
  /** False: it was stopped before that. */
  const takeAtLast = async (snapshot: DesiredSnapshot): Promise<boolean> => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      try {
        await take(snapshot);
        return true;
      } catch (error) {
        if (!(error instanceof KubernetesError)) throw error;
        options.onFailure(error);
        await sleep(options.clock, backoffMs(failures, backoff, options.random), stopping.signal);
      }
    }
    return false;
  };
  const passOn = async (
    before: Promise<void>,
    snapshot: DesiredSnapshot,
    onChange: (snapshot: DesiredSnapshot) => void,
  ): Promise<void> => {
    await before;
    if (await takeAtLast(snapshot)) onChange(snapshot);
  };
  return {
    description: source.description,
    async start(onChange) {
      const early: DesiredSnapshot[] = [];
      let isStarted = false;
      const first = await source.start((snapshot) => {
        if (!isStarted) {
          early.push(snapshot);
          return;
        }
        passing = passOn(passing, snapshot, onChange);
      });
      const latest = early.at(-1) ?? first;
      isStarted = true;
      await takeAtLast(latest);
      return latest;
    },
    passedOn: () => passing,
    async stop() {
      stopping.abort();
      await source.stop();
      await passing;
    },
  };
}

function* storedObjects(snapshot: DesiredSnapshot): Iterable<StoredObject> {
  for (const { key, cluster } of snapshot.objects.values()) if (cluster) yield storedObject(key, cluster);
}

function shownIn(
  { objects, unusable }: DesiredSnapshot,
  key: ObjectKey,
): StoredObject | 'unusable' | undefined {
  const facts = objects.get(key)?.cluster;
  return facts ? storedObject(key, facts) : unusable.has(key) ? 'unusable' : undefined;
}

/** The current object: the facts of a cluster are live. */
export function storedObject(key: ObjectKey, facts: ClusterFacts): StoredObject {
  const { uid, resourceVersion, finalizers, deletionRequestedAt, status } = facts;
  return { key, uid, resourceVersion, finalizers, deletionRequestedAt, status };
}
