/**
 * The cluster as this runtime sees and changes it. Reflectors show what there is of this installation, and wake who waits
 * for a service or volume. Whoever decides reads anew: what a reflector has may be a moment old.
 */
import { sleep } from '../../../base/clock.ts';
import {
  KubernetesError,
  Reflector,
  type Change,
  type KubernetesApi,
  type KubernetesObject,
  type PodApi,
  type ResourceType,
  type Target,
} from '../../../kubernetes/index.ts';
import type { Metrics } from '../../../telemetry/index.ts';
import type { ObservedBounds } from '../../domain/capacity.ts';
import type { RuntimeHost } from '../../domain/runtime.ts';
import type { StorageClass } from './claim.ts';
import { fenceAnnotation, labels, selectorOf } from './names.ts';
import { Office } from './office.ts';
import { resourceOf, resources } from './resources.ts';

/** An event that got lost delays whoever waits for it so long. */
const recheckMs = 5000;

export interface ClusterParts {
  readonly api: KubernetesApi;
  readonly pods: PodApi;
  readonly metrics: Metrics;
  readonly onDeposed: (reason: string) => void;
  /** What the nodes had before the start. */
  readonly bounds?: ObservedBounds | undefined;
}

export class Cluster {
  readonly api: KubernetesApi;
  readonly podApi: PodApi;
  readonly office: Office;
  readonly pods: Reflector;
  readonly claims: Reflector;
  readonly nodes: Reflector;
  readonly #classes: Reflector;
  readonly #host: RuntimeHost;
  readonly #onChange: (subjectId: string, change: Change) => void;
  /** By service or volume. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(
    { api, pods, metrics, onDeposed }: ClusterParts,
    host: RuntimeHost,
    onNodes: () => void,
    onChange: (subjectId: string, change: Change) => void,
  ) {
    const { installation, clock, random, logger } = host;
    this.api = api;
    this.podApi = pods;
    this.#host = host;
    this.#onChange = onChange;
    this.office = new Office({ api, installation, clock, random, logger, metrics, onDeposed });
    const reflector = (
      type: ResourceType,
      label?: string,
      noticed = (change: Change) => this.#changed(change, label),
    ) =>
      new Reflector({
        api,
        type,
        ...(label !== undefined && {
          scope: { labelSelector: selectorOf({ [labels.installation]: installation }) },
        }),
        onChange: noticed,
        clock,
        random,
        logger,
        metrics,
      });
    this.pods = reflector(resources.pods, labels.service);
    this.claims = reflector(resources.claims, labels.volume);
    this.nodes = reflector(resources.nodes, undefined, onNodes);
    this.#classes = reflector(resources.storageClasses);
  }

  start(): void {
    this.office.start();
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** Everything of this installation was read once. */
  async whenSynced(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.whenSynced()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    await this.office.stop();
    await Promise.all([this.api.close(), this.podApi.close()]);
  }

  /** As it was observed; undefined when there is none, or none was named. */
  storageClass(name: string | undefined): StorageClass | undefined {
    return name === undefined ? undefined : this.#classes.items.get(name);
  }

  /** The name of the class that claims without one get. */
  get defaultClass(): string | undefined {
    for (const [name, { metadata }] of this.#classes.items) {
      if (metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true') return name;
    }
    return undefined;
  }

  /** Refused where one of that name exists (409). */
  create(manifest: object): Promise<KubernetesObject> {
    return this.api.create(resourceOf(manifest), this.#fenced(manifest));
  }

  /** As wanted, whether it exists or not. */
  apply(manifest: object): Promise<KubernetesObject> {
    const { name, namespace } = metadataOf(manifest);
    const target: Target = { type: resourceOf(manifest), namespace, name };
    return this.api.patch(target, { kind: 'apply', force: true, body: this.#fenced(manifest) });
  }

  merge(target: Target, body: object): Promise<KubernetesObject> {
    this.office.requireTerm();
    return this.api.patch(target, { kind: 'merge', body });
  }

  /** What a Pod that runs may use; as with `replace`, refused (409) when somebody was faster. */
  resize(target: Target, body: object): Promise<KubernetesObject> {
    this.office.requireTerm();
    return this.api.patch(target, { kind: 'merge', body, subresource: 'resize' });
  }

  /** Exactly this object; one that has taken its place stays. */
  async remove(target: Target, { metadata: { uid } }: KubernetesObject): Promise<void> {
    this.office.requireTerm();
    try {
      await this.api.remove(target, { uid });
    } catch (error) {
      if (!(error instanceof KubernetesError && error.status === 409)) throw error;
    }
  }

  /** Whatever has this name. */
  async removeNamed(target: Target): Promise<void> {
    this.office.requireTerm();
    await this.api.remove(target);
  }

  async removeAll(
    type: ResourceType,
    namespace: string,
    selected: Readonly<Record<string, string>>,
  ): Promise<void> {
    this.office.requireTerm();
    await this.podApi.removeAll(type, namespace, selectorOf(selected));
  }

  /** Removes an object, and waits until the cluster reports that it is gone. */
  async retire(
    subjectId: string,
    target: Target,
    object: KubernetesObject,
    signal: AbortSignal,
  ): Promise<void> {
    const isGone = async () => {
      const now = await this.api.get(target, signal);
      return now?.metadata.uid === object.metadata.uid ? undefined : true;
    };
    if (object.metadata.deletionTimestamp === undefined) await this.remove(target, object);
    await this.until(subjectId, signal, isGone);
  }

  /** Asks again after each change of the service or volume; rejects when `signal` is aborted. */
  async until<Found>(
    subjectId: string,
    signal: AbortSignal,
    check: () => Promise<Found | undefined>,
  ): Promise<Found> {
    for (;;) {
      signal.throwIfAborted();
      const change = new AbortController();
      const waiting = this.#waitersOf(subjectId);
      const wake = () => change.abort();
      waiting.add(wake);
      try {
        const found = await check();
        if (found !== undefined) return found;
        await sleep(this.#host.clock, recheckMs, AbortSignal.any([signal, change.signal]));
      } finally {
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(subjectId);
      }
    }
  }

  get #reflectors(): readonly Reflector[] {
    return [this.pods, this.claims, this.nodes, this.#classes];
  }

  #waitersOf(subjectId: string): Set<() => void> {
    let waiting = this.#waiting.get(subjectId);
    if (!waiting) this.#waiting.set(subjectId, (waiting = new Set()));
    return waiting;
  }

  #changed(change: Change, label: string | undefined): void {
    const { object } = change;
    if (label === undefined) return;
    this.office.notice(object);
    const subjectId = object.metadata.labels?.[label];
    if (subjectId === undefined) return;
    for (const wake of this.#waiting.get(subjectId) ?? []) wake();
    this.#onChange(subjectId, change);
  }

  #fenced(manifest: object): object {
    const { metadata } = manifest as { readonly metadata: object };
    const annotations = { [fenceAnnotation]: String(this.office.requireTerm()) };
    return { ...manifest, metadata: { ...metadata, annotations } };
  }
}

function metadataOf(manifest: object): { readonly name: string; readonly namespace: string | undefined } {
  return (
    manifest as { readonly metadata: { readonly name: string; readonly namespace: string | undefined } }
  ).metadata;
}
