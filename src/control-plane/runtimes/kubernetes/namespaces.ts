/**
 * The namespace of each account.
 *
 *     absent ──(the first launch or volume)──> there ──(no Pod and no claim is left)──> terminating ──> absent
 *
 * Whatever is put into one is put there by `within`, so that it is not removed at the same time. One that terminates is
 * waited for: the attempt fails, and is repeated.
 */
import type { KubernetesObject } from '../../../kubernetes/index.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import type { RuntimeHost } from '../../domain/runtime.ts';
import type { KeyedLock } from '../containers/keyed-lock.ts';
import type { Cluster } from './cluster.ts';
import { accountLabels, namespaceName } from './names.ts';
import { surroundingsOf } from './namespace.ts';
import { networksOf } from './nodes.ts';
import { resources } from './resources.ts';

export class Namespaces {
  readonly #cluster: Cluster;
  readonly #config: ControlPlaneConfig;
  readonly #host: RuntimeHost;
  readonly #locks: KeyedLock;

  constructor(cluster: Cluster, config: ControlPlaneConfig, host: RuntimeHost, locks: KeyedLock) {
    this.#cluster = cluster;
    this.#config = config;
    this.#host = host;
    this.#locks = locks;
  }

  within<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#locks.run(accountId, work);
  }

  find(accountId: string): Promise<KubernetesObject | undefined> {
    return this.#cluster.api.get(this.#target(accountId));
  }

  /** Within `within`. */
  async ensure(accountId: string): Promise<void> {
    const { installation, quotaOf } = this.#host;
    const { egress, kubernetes } = this.#config.containers;
    const found = await this.find(accountId);
    const name = namespaceName(installation, accountId);
    if (found && !this.#isOf(found, accountId)) {
      throw new Error(
        `the namespace ${name} exists, and is not of this installation: remove or rename what made it`,
      );
    }
    if (found?.metadata.deletionTimestamp !== undefined) {
      throw new Error(`the namespace ${name} is terminating`);
    }
    const networks = networksOf(this.#cluster.nodes.items.values(), kubernetes.podNetworks);
    const quota = quotaOf(accountId);
    for (const part of surroundingsOf({ installation, accountId, quota, egress, ...networks })) {
      await this.#cluster.apply(part);
    }
  }

  /** Removes it if nothing of the account runs or is kept there. */
  async tidy(accountId: string): Promise<void> {
    await this.within(accountId, async () => {
      const found = await this.find(accountId);
      if (!found || !this.#isOf(found, accountId)) return;
      if (found.metadata.deletionTimestamp !== undefined) return;
      for (const type of [resources.pods, resources.claims]) {
        // Of whoever: with the namespace, everything in it is removed.
        const { items } = await this.#cluster.api.list(type, { namespace: found.metadata.name, limit: 1 });
        if (items.length > 0) return;
      }
      await this.#cluster.remove(this.#target(accountId), found);
    });
  }

  #isOf({ metadata: { labels = {} } }: KubernetesObject, accountId: string): boolean {
    const wanted = accountLabels(this.#host.installation, accountId);
    return Object.entries(wanted).every(([name, value]) => labels[name] === value);
  }

  #target(accountId: string) {
    const name = namespaceName(this.#host.installation, accountId);
    return { type: resources.namespaces, namespace: undefined, name };
  }
}
