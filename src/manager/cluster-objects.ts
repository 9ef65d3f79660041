/**
 * The source of a cluster, connected to the store. The objects themselves hold the state, so the store takes
 * in each snapshot before anybody decides on it. Snapshots are published in order.
 */
import {
  changedKeys,
  type ClusterFacts,
  type DesiredSnapshot,
  type DesiredSource,
} from '../desired/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ClusterStore, Noticed, StoredObject } from '../state/index.ts';

export interface WatchedByStore {
  readonly source: DesiredSource;
  readonly store: Pick<ClusterStore, 'observe' | 'observeChanges'>;
  readonly onNoticed: (noticed: Noticed) => void;
}

export interface WatchedSource extends DesiredSource {
  /** Resolves when everything that the source has published so far is passed on. */
  passedOn(): Promise<void>;
}

export function watchedByStore({ source, store, onNoticed }: WatchedByStore): WatchedSource {
  let passing: Promise<void> = Promise.resolve();
  let taken: DesiredSnapshot | undefined;
  const take = async (snapshot: DesiredSnapshot) => {
    const changed = changedKeys(snapshot, taken);
    const noticed =
      changed === 'all'
        ? store.observe(storedObjects(snapshot), new Set(snapshot.unusable.keys()))
        : store.observeChanges(changed, (key) => shownIn(snapshot, key));
    onNoticed(await noticed);
    taken = snapshot;
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
        passing = passing.then(() => take(snapshot)).then(() => onChange(snapshot));
      });
      const latest = early.at(-1) ?? first;
      isStarted = true;
      await take(latest);
      return latest;
    },
    passedOn: () => passing,
    async stop() {
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
