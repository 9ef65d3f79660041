import { isCreation } from '../actions/index.ts';
import type { wire } from '../api/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  linkedServices,
  planRegistry,
  registryDigests,
  type LinkedService,
  type Plan,
  type RegistryInputs,
} from '../plan/index.ts';
import { normalRepository, shownRepository } from '../resources/index.ts';
import { isCreationLost, type ObjectRecord } from '../state/index.ts';
import { observedRegistry, registryHealth } from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { KindPass } from './kind-pass.ts';
import { ListedPass } from './listed-pass.ts';
import { identifyRegistry, showsLostState, type Observed } from './observe.ts';

export class RegistryPass extends ListedPass<wire.Registry> implements KindPass {
  readonly kind = 'ImageRegistry';

  protected listing({ registries }: AccountSnapshot) {
    return registries;
  }

  protected list(account: AccountHandle) {
    return account.api.registries();
  }

  /**
   * There is no mark: an entry is ours if we made it, and so is the one that appears while a creation of ours is open,
   * or that is there after our state was lost.
   */
  protected find(
    items: ReadonlyMap<string, wire.Registry>,
    madeId: string | undefined,
  ): Observed<wire.Registry> {
    const isLost = isCreationLost(this.record());
    const isInDoubt = this.record().creationInDoubt !== undefined && !isLost;
    const isAwaited = isInDoubt || isCreation(this.store.openIntent(this.key)?.action ?? '');
    return identifyRegistry(this.fleet.identity(this.record(), madeId), items, this.#repository(), {
      isAwaited,
      isLost,
      stateLost: this.snapshot !== undefined && showsLostState(this.snapshot, this.fleet.owner),
      holderOf: (id) => this.store.recordOf(id)?.key,
    });
  }

  protected markedByKey(): boolean {
    return false;
  }

  /** After a lost state, the credentials are taken for those of the Secret: they can't be looked at. */
  protected override bound(id: string, byMark: boolean): Partial<ObjectRecord> {
    const applied = byMark ? { applied: registryDigests(this.#inputs()) } : {};
    return { ...super.bound(id, byMark), ...applied };
  }

  protected couldBeMine({ repository }: wire.Registry | wire.Unidentified<wire.Registry>): boolean {
    return this.#mayBeFor(repository);
  }

  plan(): Plan {
    return planRegistry(this.#inputs());
  }

  secrets(): readonly string[] {
    const { credentials } = this.#inputs();
    return credentials.kind === 'given' ? Object.values(credentials.values.reveal()) : [];
  }

  override claim(id: string): string | undefined {
    const problem = super.claim(id);
    if (problem !== undefined || !this.snapshot) return problem;
    const { repository } = this.shown(this.snapshot).get(id) ?? {};
    return this.#mayBeFor(repository) ? undefined : `${id} is for another repository (${repository})`;
  }

  protected override hidesMarks({ repository }: wire.Registry): boolean {
    return shownRepository(repository) === undefined;
  }

  target(): Target {
    return this.targetOf(registryDigests(this.#inputs()), undefined);
  }

  settledRecord(): Partial<ObjectRecord> {
    return {
      applied: { ...this.record().applied, ...registryDigests(this.#inputs()) },
      repeated: undefined,
      unconfirmed: [],
      refusal: undefined,
    };
  }

  told() {
    const observation = this.lastSeen();
    const registry = observation.kind === 'present' ? observation.value : undefined;
    const linked = this.#linked(registry);
    return {
      health: registryHealth(observation, linked),
      observed: observedRegistry(observation, this.#repository(), linked),
      revision: registry?.revision,
      reconcileAt: this.reconcileAt(),
    };
  }

  #inputs(): RegistryInputs {
    const record = this.record();
    const { seen } = this;
    return {
      object: this.fleet.planned<'ImageRegistry'>(record),
      record,
      owner: this.fleet.owner,
      observation: seen,
      credentials: this.fleet.credentials(this.key, this.handle),
      linked: this.#linked(seen.kind === 'present' ? seen.value : undefined),
      registriesInAccount: this.snapshot ? this.shown(this.snapshot).size : 0,
      gates: this.gates(),
      driftBrake: this.driftBrake(),
      nowMs: this.clock.wallMs(),
    };
  }

  #linked(registry: wire.Registry | undefined): LinkedService[] {
    const services = this.handle?.informer.current?.services;
    return services && registry ? linkedServices(registry, this.#repository(), services) : [];
  }

  /** What can't be read as a repository may be any. */
  #mayBeFor(repository: string | undefined): boolean {
    const shown = shownRepository(repository);
    return shown === undefined || shown === this.#repository();
  }

  #repository(): string {
    const { repository } = this.fleet.planned<'ImageRegistry'>(this.record()).spec;
    return normalRepository(repository) ?? repository;
  }
}
