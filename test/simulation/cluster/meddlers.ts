/** Others in the cluster: controllers that label what is not theirs, and people with more rights than patience. */
import type { Target } from '../../../src/kubernetes/index.ts';
import { parseObjectKey, resourceTypes, type ObjectKey } from '../../../src/resources/index.ts';
import { readBookkeeping, type Standing } from '../../../src/state/bookkeeping.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Action } from '../script.ts';
import { hasOpenOutcome } from '../state.ts';
import type { Json } from '../watch.ts';
import type { ApiServer } from './api-server.ts';
import type { ClusterDocuments } from './cluster-documents.ts';
import type { ClusterState } from './state.ts';

export interface MeddlersOptions {
  readonly server: ApiServer;
  readonly documentStore: ClusterDocuments;
  readonly state: ClusterState;
  readonly scheduler: Scheduler;
  /** Without its status, too, nothing would lead to it any more. */
  readonly isUnmarked: (key: ObjectKey) => boolean;
}

const leaseTarget: Target = {
  type: {
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespaced: true,
  },
  namespace: 'fleetkeeper',
  name: 'fleetkeeper',
};

/** What stands for these is found again by its mark. */
const marked = new Set(['ContainerService', 'StorageVolume', 'ServiceTemplate']);

export class Meddlers {
  readonly #options: MeddlersOptions;
  #touches = 0;

  constructor(options: MeddlersOptions) {
    this.#options = options;
  }

  act({ do: deed, seed }: Action): void {
    const random = new SeededRandom(seed);
    const objects = this.#options.documentStore.objects();
    if (deed === 'touch-object' && objects.length > 0) this.touch(random.pick(objects).target);
    else if (deed === 'wipe-status') this.#wipe(random);
    else if (deed === 'take-lease') this.#takeLease();
  }

  /** A label of theirs. */
  touch(target: Target): void {
    const { server } = this.#options;
    if (!server.get(target)) return;
    this.#touches += 1;
    const body = { metadata: { labels: { 'example.com/seen': String(this.#touches) } } };
    server.patch(target, { kind: 'merge', body }, 'somebody');
  }

  copyStatus(from: ObjectKey, to: ObjectKey): void {
    const { server } = this.#options;
    const status = server.get(targetOf(from))?.status;
    if (status === undefined || !server.get(targetOf(to))) return;
    server.patch(targetOf(to), { kind: 'merge', body: { status }, subresource: 'status' }, 'somebody');
  }

  /** Whether there was one to write into: a service that is there, so that it can be found again by its mark. */
  forge(victim: string, seed: number): boolean {
    const { server, documentStore, state } = this.#options;
    const random = new SeededRandom(seed);
    const candidates = documentStore.objects().filter(({ key, target }) => {
      const intent = state.intent(key);
      const isOpen = intent !== undefined && hasOpenOutcome(intent);
      return (
        !isOpen && target.type.kind === 'ContainerService' && state.record(key)?.externalId !== undefined
      );
    });
    if (candidates.length === 0) return false;
    const { key, target } = random.pick(candidates);
    if (this.#options.isUnmarked(key)) return false;
    const unsigned = random.chance(0.5) ? { signature: null } : {};
    const status = { bookkeeping: { record: { externalId: victim }, ...unsigned } };
    server.patch(target, { kind: 'merge', body: { status }, subresource: 'status' }, 'somebody');
    return true;
  }

  /** Objects whose bookkeeping is not the operator's, whether or not one has read it yet. */
  forged(): ObjectKey[] {
    const { documentStore, state } = this.#options;
    const isForged = ({ standing }: { standing: Standing }) =>
      standing === 'unsigned' || standing === 'forged';
    return documentStore
      .objects()
      .filter(({ key, object }) => {
        const { uid } = object.metadata;
        return isForged(readBookkeeping(key, uid, object.status, state.owner.digestKey));
      })
      .map(({ key }) => key);
  }

  /** What the operator keeps of it is taken away. */
  forget(key: ObjectKey): void {
    const { server } = this.#options;
    if (!server.get(targetOf(key))) return;
    const body = { status: { bookkeeping: null } };
    server.patch(targetOf(key), { kind: 'merge', body, subresource: 'status' }, 'somebody');
  }

  /** All of it, or what the operator keeps for itself; not while something is open that only the status tells of. */
  #wipe(random: SeededRandom): void {
    const { server, documentStore, state } = this.#options;
    const candidates = documentStore.objects().filter(({ key, target, object }) => {
      const intent = state.intent(key);
      const isOpen = intent !== undefined && hasOpenOutcome(intent);
      return !isOpen && marked.has(target.type.kind) && object.status !== undefined;
    });
    if (candidates.length === 0) return;
    const { key, target, object } = random.pick(candidates);
    if (this.#options.isUnmarked(key)) return;
    const status = object.status as Json;
    const nothing = Object.fromEntries(Object.keys(status).map((name) => [name, null]));
    const change = random.pick([nothing, { bookkeeping: null }, { conditions: null }]);
    const patch = { kind: 'merge', body: { status: change }, subresource: 'status' } as const;
    server.patch(target, patch, 'somebody');
  }

  /** What the operator has written down of it is not there as it wrote it. */
  isWiped(key: ObjectKey): boolean {
    const { server, state } = this.#options;
    const object = server.get(targetOf(key));
    if (!object) return false;
    const { status, metadata } = object;
    return readBookkeeping(key, metadata.uid, status, state.owner.digestKey).standing !== 'signed';
  }

  #takeLease(): void {
    const { server } = this.#options;
    if (!server.get(leaseTarget)) return;
    const body = { spec: { holderIdentity: 'somebody', leaseDurationSeconds: 5 } };
    server.patch(leaseTarget, { kind: 'merge', body }, 'somebody');
  }
}

function targetOf(key: ObjectKey): Target {
  const { kind, namespace, name } = parseObjectKey(key);
  return { type: resourceTypes[kind], namespace, name };
}
