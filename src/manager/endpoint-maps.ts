/**
 * `publishEndpoints: true` of a fleet in a cluster: the ConfigMap NAME-endpoints, for gateways that read ConfigMaps. It belongs to the
 * fleet, so the garbage collector removes it with that.
 *
 * | the ConfigMap                    | `publishEndpoints`          | otherwise  |
 * |----------------------------------|-----------------------------|------------|
 * | is not there                     | it is applied               | none       |
 * | belongs to the fleet             | it is applied if it differs | is deleted |
 * | belongs to somebody else         | none, with an Event         | none       |
 *
 * What was written is remembered, so nothing is asked or written while nothing changes.
 */
import { backoffMs, messageOf, type Clock, type Random, type Timer } from '../base/index.ts';
import { endpointsOf } from '../kinds/index.ts';
import { serviceFleet } from '../kinds/service-fleet/declaration.ts';
import type { EventRecorder, KubernetesApi, ResourceType } from '../kubernetes/index.ts';
import { apiVersion, ownerLabel, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { fieldManager } from './owned-resources.ts';

export interface EndpointMapsOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'patch' | 'remove'>;
  readonly store: StateStore;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Whether this process may write now. */
  readonly mayAct: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn'>;
}

/** What a ConfigMap is to have. Undefined: there is to be none. */
interface Wanted {
  readonly uid: string;
  readonly text: string | undefined;
}

const configMapType: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
const dataKey = 'endpoints.json';
const backoff = { firstMs: 1000, longestMs: 60_000 };

export class EndpointMaps {
  readonly #options: EndpointMapsOptions;
  readonly #written = new Map<ObjectKey, Wanted>();
  readonly #busy = new Map<ObjectKey, Promise<void>>();
  readonly #retries = new Map<ObjectKey, Timer>();
  #failures = 0;
  #isStopped = false;

  constructor(options: EndpointMapsOptions) {
    this.#options = options;
  }

  /** An object has had a pass. */
  passed(key: ObjectKey): void {
    if (this.#isStopped || parseObjectKey(key).kind !== serviceFleet.name || this.#busy.has(key)) return;
    const wanted = this.#wanted(key);
    if (!wanted) return this.#forget(key);
    const written = this.#written.get(key);
    if (written?.uid === wanted.uid && written.text === wanted.text) return;
    this.#busy.set(key, this.#write(key, wanted));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#retries.values()) timer.cancel();
    await Promise.all(this.#busy.values());
  }

  #wanted(key: ObjectKey): Wanted | undefined {
    const { store, clock } = this.#options;
    const record = store.record(key);
    if (!record) return undefined;
    const { publishEndpoints } = record.manifest.spec as { readonly publishEndpoints?: boolean };
    if (publishEndpoints !== true) return { uid: record.uid, text: undefined };
    const { namespace, name } = parseObjectKey(key);
    const endpoints = endpointsOf(store, key, clock.wallMs()) ?? [];
    return { uid: record.uid, text: JSON.stringify({ namespace, name, endpoints }, undefined, 2) };
  }

  #forget(key: ObjectKey): void {
    this.#written.delete(key);
    this.#retries.get(key)?.cancel();
    this.#retries.delete(key);
  }

  async #write(key: ObjectKey, wanted: Wanted): Promise<void> {
    this.#forget(key);
    let isDone = false;
    try {
      isDone = await this.#follow(key, wanted);
      this.#failures = 0;
    } catch (error) {
      this.#options.logger.warn({ object: key, note: messageOf(error) }, 'the endpoints were not written');
    }
    this.#busy.delete(key);
    if (isDone) {
      this.#written.set(key, wanted);
      // It may have changed meanwhile.
      this.passed(key);
    } else this.#retryLater(key);
  }

  #retryLater(key: ObjectKey): void {
    const { clock, random } = this.#options;
    if (this.#isStopped) return;
    const delayMs = backoffMs(this.#failures++, backoff, random);
    this.#retries.set(
      key,
      clock.after(delayMs, () => this.passed(key)),
    );
  }

  /** False if this process does not lead now. */
  async #follow(key: ObjectKey, { uid, text }: Wanted): Promise<boolean> {
    const { api, mayAct } = this.#options;
    const { namespace, name } = parseObjectKey(key);
    const target = { type: configMapType, namespace, name: `${name}-endpoints` };
    const found = await api.get(target);
    const owner = found?.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const isOwn = owner?.uid === uid;
    if (found && !isOwn) {
      if (text !== undefined) this.#tellTaken(key, uid, target.name);
      return true;
    }
    const data = (found?.['data'] ?? {}) as Readonly<Record<string, string>>;
    if (data[dataKey] === text) return true;
    if (!mayAct()) return false;
    if (text === undefined) await api.remove(target, { uid: found?.metadata.uid ?? '' });
    else {
      const body = mapOf(key, uid, text);
      await api.patch(target, { kind: 'apply', body, fieldManager, force: found !== undefined });
    }
    return true;
  }

  #tellTaken(key: ObjectKey, uid: string, name: string): void {
    const message = `the ConfigMap ${name} is not of this fleet, and is left as it is: rename or delete it to have the endpoints published`;
    const about = { apiVersion, ...parseObjectKey(key), uid };
    this.#options.recorder.record({ about, type: 'Warning', reason: 'NameTaken', message });
  }
}

function mapOf(key: ObjectKey, uid: string, text: string): object {
  const { kind, namespace, name } = parseObjectKey(key);
  return {
    apiVersion: 'v1',
    kind: configMapType.kind,
    metadata: {
      name: `${name}-endpoints`,
      namespace,
      labels: { [ownerLabel]: name },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    data: { [dataKey]: text },
  };
}
