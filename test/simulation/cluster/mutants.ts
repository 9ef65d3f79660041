/**
 * Operators that break one rule of a cluster each: beside those of `../mutants/`, which are found in a folder. The rule is broken by
 * other methods while a run lasts, or by an API server that shows something else than there is.
 */
import { ControlApi } from '../../../src/api/index.ts';
import { Election, type KubernetesApi } from '../../../src/kubernetes/index.ts';
import { Settlement } from '../../../src/engine/outcomes/settlement.ts';
import { ClusterStore, MemoryStore, type Intent, type ObjectRecord } from '../../../src/state/index.ts';
import { keys } from '../mutants/keys.ts';
import { overlaid, replaced, type Mutant } from '../mutants/tools.ts';
import type { Json } from '../watch.ts';
import type { ReplicaSabotage } from './place.ts';
import { taskPart } from '../../support/kind-state.ts';

/** The Kubernetes API with some of its methods replaced. */
function withApi(change: (api: KubernetesApi) => Partial<KubernetesApi>): ReplicaSabotage {
  return (options) => {
    const { api } = options;
    return { ...options, api: overlaid(api, change(api)) };
  };
}

/** Another answer to the read that a process makes before its heartbeats when it does not lead. */
function withListBeforeHeartbeats(answer: () => Awaited<ReturnType<ControlApi['activities']>>): () => void {
  return replaced(
    ControlApi.prototype,
    'activities',
    (original): ControlApi['activities'] =>
      function activities(this: ControlApi, id, signal, lane) {
        return lane === 'heartbeat' ? Promise.resolve(answer()) : original.call(this, id, signal, lane);
      },
  );
}

type SaveIntent = ClusterStore['saveIntent'];
type SaveIdentityPin = ClusterStore['saveIdentityPin'];
type IdentityPinOf = ClusterStore['identityPin'];

export const clusterMutants: readonly Mutant<ReplicaSabotage>[] = [
  ...keys,
  {
    breaks: 'a leader acts on although its Lease has run out',
    // What it does not send, it writes over what the next one has written.
    foundBy: ['S9', 'S16', 'L1'],
    crowd: 'small',
    seed: 52,
    patch: () => replaced(Election.prototype, 'mayAct', () => () => true),
  },
  {
    breaks: 'a leader without API server lets its activities expire',
    foundBy: ['L5'],
    seed: 792,
    patch: () => withListBeforeHeartbeats(() => ({ kind: 'not-sent', reason: 'no leader beats alone' })),
  },
  {
    breaks: 'who does not lead beats for what another one may have released',
    foundBy: ['S16'],
    seed: 260,
    patch: () => {
      const anything = Object.assign([], { filter: () => [{}] });
      return withListBeforeHeartbeats(() => ({ kind: 'applied', status: 200, value: anything }));
    },
  },
  {
    breaks: 'a Lease that could not be written is taken for ours',
    foundBy: ['S9', 'L9'],
    seed: 104,
    sabotage: withApi((api) => ({
      replace: async (type, object, signal) => {
        try {
          return await api.replace(type, object, signal);
        } catch (error) {
          if (type.plural !== 'leases') throw error;
          return object;
        }
      },
    })),
  },
  {
    breaks: 'a key is used before its origin is written down',
    foundBy: ['S11'],
    patch: () =>
      replaced(
        ClusterStore.prototype,
        'saveIdentityPin',
        (original): SaveIdentityPin =>
          async function saveIdentityPin(this: ClusterStore, account, pin) {
            void original.call(this, account, pin).catch(() => undefined);
          },
      ),
  },
  {
    breaks: 'it is forgotten where the key of an account was used',
    foundBy: ['S11'],
    crowd: 'small',
    seed: 5,
    patch: () =>
      replaced(
        ClusterStore.prototype,
        'identityPin',
        (original): IdentityPinOf =>
          function identityPin(this: ClusterStore, account) {
            const pin = original.call(this, account);
            return pin && { ...pin, origin: undefined };
          },
      ),
  },
  {
    breaks: 'a request is sent before the API server has its intent',
    foundBy: ['S2'],
    patch: () =>
      replaced(
        ClusterStore.prototype,
        'saveIntent',
        (original): SaveIntent =>
          async function saveIntent(this: ClusterStore, intent: Intent, record: ObjectRecord) {
            void original.call(this, intent, record).catch(() => undefined);
          },
      ),
  },
  {
    breaks: 'what stands in a status is believed, signed or not',
    crowd: 'forged',
    foundBy: ['S5', 'S7', 'L5'],
    patch: () =>
      replaced(
        MemoryStore.prototype,
        'saveAll',
        (original): MemoryStore['saveAll'] =>
          function saveAll(this: MemoryStore, records) {
            return original.call(
              this,
              records.map((record) => ({ ...record, distrusted: undefined })),
            );
          },
      ),
  },
  {
    breaks: 'the finalizer goes when the deletion is accepted',
    foundBy: ['S13'],
    seed: 104,
    patch: () =>
      replaced(
        ClusterStore.prototype,
        'saveIntent',
        (original): SaveIntent =>
          async function saveIntent(this: ClusterStore, intent: Intent, record: ObjectRecord) {
            await original.call(this, intent, record);
            const isAccepted = intent.action.startsWith('delete-') && intent.outcome === 'applied';
            if (isAccepted && record.deletionRequestedAt !== undefined) await this.remove(record.key);
          },
      ),
  },
  {
    breaks: 'what is to stay is forgotten while nobody knows whether it was made',
    crowd: 'forged',
    foundBy: ['S13'],
    seed: 20142,
    patch: () =>
      replaced(
        Settlement.prototype,
        'settle',
        (original): Settlement['settle'] =>
          async function settle(this: Settlement, intent, kind, account) {
            const { deletionRequestedAt, manifest } = kind.record();
            const isToStay = (manifest.spec as Json).deletionPolicy === 'Retain';
            return deletionRequestedAt !== undefined && isToStay
              ? undefined
              : original.call(this, intent, kind, account);
          },
      ),
  },
  {
    breaks: 'another replica takes a new activity for a task',
    foundBy: ['S2', 'S16'],
    crowd: 'small',
    seed: 50,
    patch: () => {
      const changed = new WeakMap<ClusterStore, Set<string>>();
      return replaced(
        ClusterStore.prototype,
        'observe',
        (original): ClusterStore['observe'] =>
          async function observe(this: ClusterStore, ...of) {
            const noticed = await original.apply(this, of);
            const done = changed.get(this) ?? new Set(Array.from(this.records(), ({ key }) => key));
            if (!changed.has(this)) {
              for (const key of done)
                await withAnotherActivity(this, this.record(key as ObjectRecord['key']));
            }
            changed.set(this, done);
            return noticed;
          },
      );
    },
  },
];

/** As long as nobody looks, it is only in memory. */
async function withAnotherActivity(store: ClusterStore, record: ObjectRecord | undefined): Promise<void> {
  const { registration, releasedAt } = taskPart(record);
  if (!record || !registration || releasedAt !== undefined) return;
  const activityId = registration.activityId.replace(/^......../, 'ffffffff');
  await store.saveAll([{ ...record, kind: { registration: { ...registration, activityId } } }]);
}
