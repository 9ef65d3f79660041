/**
 * A node that is only played, with the controllers that matter to Pods and claims: it binds Pods, shows their states as
 * they were recorded, ends them when they are deleted, binds and grows claims.
 *
 *     created ──> bound, creating ──> what `plays` has for its image (default: running)
 *     deleted ──> removed at once, or when a lost node is back, or its object is
 *
 * It follows each write a moment later, as another process would. What Pods write and what commands answer is the test's.
 */
import {
  disrupted,
  recordings,
  resizeDeferred,
  resizeInProgress,
  withResources,
  type Recording,
} from './node-recordings.ts';
import {
  fieldsOf,
  isSame,
  listOf,
  textOf,
  timestamp,
  valueAt,
  type Fields,
  type StoredObject,
} from './objects.ts';
import type { Change, Entry, Store } from './store.ts';

export interface CommandAnswer {
  readonly stdout?: string;
  readonly stderr?: string;
  /** Default: 0. */
  readonly exitCode?: number;
  /** It was not started; with the node's message. */
  readonly failure?: string;
  /** It writes this, and does not end. */
  readonly endless?: boolean;
}

export const nodeName = 'node-1';
const hostIp = '10.228.255.2';

export class PlayedNode {
  /** By the name of an image. */
  readonly plays = new Map<string, Recording>();
  /** By the name of a Pod. */
  readonly logs = new Map<string, string>();
  /** Commands that were run, oldest first. */
  readonly commands: (readonly string[])[] = [];
  /** What each container wrote when it ended. */
  farewell = '';
  onCommand: (command: readonly string[]) => CommandAnswer = () => ({});
  /** Whether claims of the class get a volume at once. */
  bindsClaims = true;
  /** Received bytes of each running Pod, as the kubelet measures them; undefined: it measures none. */
  receivedBytes: number | undefined = 0;
  /** What becomes of other resources for a container that runs; `notServed`: an API server from before that was there. */
  resizes: 'atOnce' | 'never' | 'deferred' | 'notServed' = 'atOnce';
  readonly #store: Store;
  #allocatable: Readonly<Record<string, string>> = { cpu: '8', memory: '16Gi', pods: '110' };
  #isLost = false;

  constructor(store: Store) {
    this.#store = store;
    this.#putNode('True');
    store.subscribeToAll((storage, change) => {
      if (storage === 'pods') setImmediate(() => this.#followPod(change));
      if (storage === 'persistentvolumeclaims') setImmediate(() => this.#followClaim(change));
    });
  }

  /** As the node shows it from now on. */
  show(podName: string, recording: Recording): void {
    const entry = this.#pods().find(({ object }) => object.metadata.name === podName);
    if (entry) this.#putStatus(entry, recordings[recording]);
  }

  /** The node answers no more; the control plane of the cluster notices, and wants its Pods elsewhere. */
  lose(): void {
    this.#isLost = true;
    this.#putNode('Unknown');
    for (const entry of this.#pods()) {
      const message = `Taint manager: deleting due to NoExecute taint`;
      const status = disrupted(fieldsOf(entry.object['status']), 'DeletionByTaintManager', message);
      const metadata = { ...entry.object.metadata, deletionTimestamp: timestamp() };
      this.#store.put('pods', { ...entry.object, metadata, status });
    }
  }

  /** Its object is deleted, and so the Pods that were on it are, too. */
  vanish(): void {
    for (const entry of this.#pods()) this.#store.remove('pods', entry);
    const node = this.#store.get('nodes', undefined, nodeName);
    if (node) this.#store.remove('nodes', node);
  }

  /** It notices a Pod that it has left alone. */
  resume(podName: string): void {
    const entry = this.#pods().find(({ object }) => object.metadata.name === podName);
    if (entry) this.#followPod({ type: 'MODIFIED', entry });
  }

  resize(allocatable: Readonly<Record<string, string>>): void {
    this.#allocatable = allocatable;
    this.#putNode('True');
  }

  /** It answers again, and ends what was deleted meanwhile. */
  comeBack(): void {
    this.#isLost = false;
    this.#putNode('True');
    for (const entry of this.#pods()) this.#endIfDeleted(entry);
  }

  /** What the kubelet of the node measures. */
  summary(): object {
    return {
      node: { nodeName },
      pods: this.#pods().map(({ object: { metadata } }) => ({
        podRef: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
        cpu: { time: timestamp(), usageCoreNanoSeconds: 1e9 },
        memory: { workingSetBytes: 2 ** 20 },
        network: this.receivedBytes === undefined ? undefined : { rxBytes: this.receivedBytes },
      })),
    };
  }

  run(command: readonly string[]): CommandAnswer {
    this.commands.push(command);
    return this.onCommand(command);
  }

  #followPod({ type, entry }: Pick<Change, 'type' | 'entry'>): void {
    if (type === 'DELETED') return;
    const current = this.#current('pods', entry);
    if (!current || current.object.metadata.resourceVersion !== entry.object.metadata.resourceVersion) return;
    if (entry.object.metadata.deletionTimestamp !== undefined) return this.#endIfDeleted(current);
    const spec = fieldsOf(entry.object['spec']);
    if (spec['nodeName'] === undefined) return this.#bind(current, spec);
    if (this.#isToResize(entry.object, spec)) return this.#resize(current, spec);
    const waits = valueAt(listOf(fieldsOf(entry.object['status'])['containerStatuses'])[0], [
      'state',
      'waiting',
      'reason',
    ]);
    if (waits !== 'ContainerCreating') return;
    const image = textOf(valueAt(listOf(spec['containers'])[0], ['image']));
    if (!this.#hasSecrets(entry.object, spec)) return;
    const recording = this.plays.get(image) ?? 'running';
    const resources = valueAt(listOf(spec['containers'])[0], ['resources']);
    const status = recordings[recording];
    this.#putStatus(current, recording === 'running' ? withResources(status, resources) : status);
  }

  #isToResize({ status }: StoredObject, spec: Fields): boolean {
    const has = valueAt(listOf(fieldsOf(status)['containerStatuses'])[0], ['resources']);
    return has !== undefined && !isSame(has, valueAt(listOf(spec['containers'])[0], ['resources']));
  }

  /** First it is at it, then it is done; or it does nothing, or puts it off. */
  #resize(entry: Entry, spec: Fields): void {
    const status = fieldsOf(entry.object['status']);
    const isAtIt = listOf(status['conditions']).some(
      (condition) => fieldsOf(condition)['type'] === 'PodResizeInProgress',
    );
    if (this.resizes === 'never') return;
    if (this.resizes === 'deferred') return this.#putStatus(entry, resizeDeferred(status));
    if (!isAtIt) return this.#putStatus(entry, resizeInProgress(status));
    const resources = valueAt(listOf(spec['containers'])[0], ['resources']);
    this.#putStatus(entry, withResources(recordings.running, resources));
  }

  /** A kubelet starts no container whose variables it can't read. */
  #hasSecrets({ metadata: { namespace } }: StoredObject, spec: Fields): boolean {
    const variables = listOf(valueAt(listOf(spec['containers'])[0], ['env']));
    return variables.every((variable) => {
      const name = valueAt(variable, ['valueFrom', 'secretKeyRef', 'name']);
      const key = textOf(valueAt(variable, ['valueFrom', 'secretKeyRef', 'key']));
      if (name === undefined) return true;
      const secret = this.#store.get('secrets', namespace, textOf(name));
      return secret !== undefined && Object.hasOwn(fieldsOf(secret.object['data']), key);
    });
  }

  #bind(entry: Entry, spec: Fields): void {
    const image = textOf(valueAt(listOf(spec['containers'])[0], ['image']));
    if (this.plays.get(image) === 'unschedulable') {
      if (!this.#isUnschedulable(entry)) this.#putStatus(entry, recordings.unschedulable);
      return;
    }
    if (this.#isLost) return;
    const object = { ...entry.object, spec: { ...spec, nodeName } };
    this.#store.put('pods', { ...object, status: { ...recordings.creating, hostIP: hostIp } });
  }

  #isUnschedulable({ object }: Entry): boolean {
    return listOf(fieldsOf(object['status'])['conditions']).length > 0;
  }

  #endIfDeleted(entry: Entry): void {
    if (this.#isLost || entry.object.metadata.deletionTimestamp === undefined) return;
    const { name } = entry.object.metadata;
    if (this.farewell) this.logs.set(name, `${this.logs.get(name) ?? ''}${this.farewell}`);
    this.#store.remove('pods', entry);
  }

  #followClaim({ type, entry }: Change): void {
    const current = type === 'DELETED' ? undefined : this.#current('persistentvolumeclaims', entry);
    if (!current || !this.bindsClaims) return;
    const storage = valueAt(current.object['spec'], ['resources', 'requests', 'storage']);
    const isDone = valueAt(current.object['status'], ['capacity', 'storage']) === storage;
    if (isDone) return;
    const status = { phase: 'Bound', capacity: { storage } };
    this.#store.put('persistentvolumeclaims', { ...current.object, status });
  }

  #putStatus(entry: Entry, status: Fields): void {
    this.#store.put('pods', { ...entry.object, status: { ...status, hostIP: hostIp } });
  }

  #putNode(ready: string): void {
    const known = this.#store.get('nodes', undefined, nodeName);
    const metadata = known?.object.metadata ?? {
      name: nodeName,
      uid: 'uid-of-node-1',
      resourceVersion: '',
      creationTimestamp: timestamp(),
      labels: { 'kubernetes.io/hostname': nodeName },
    };
    this.#store.put('nodes', {
      metadata,
      spec: { podCIDRs: ['10.228.0.0/24'] },
      status: {
        allocatable: this.#allocatable,
        addresses: [{ type: 'InternalIP', address: hostIp }],
        conditions: [{ type: 'Ready', status: ready }],
      },
    });
  }

  #current(storage: string, { object: { metadata } }: Entry): Entry | undefined {
    return this.#store.get(storage, metadata.namespace, metadata.name);
  }

  #pods(): Entry[] {
    return this.#store
      .list('pods')
      .filter(({ object }) => fieldsOf(object['spec'])['nodeName'] === nodeName)
      .slice();
  }
}
