/**
 * Pull access to private repositories (§2 "Image registry"): one entry per exact repository and account. A
 * service whose image is of that repository is linked to it. Each launch captures the credentials that the
 * registry has at that moment (§4 rule 5), so an older set is kept until the last service that was launched with
 * it is launched again or gone. Credentials leave this file only towards the runtime.
 *
 * A registry is deleted only while every linked service is `sleeping` (§3 rule 6): `paused` is another state,
 * and is refused like all others.
 */
import { limits, type RegistryCreate } from '../../api/wire.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { credentialsPerAccount } from './config.ts';
import { conflict, invalidRequest, notFound, revisionConflict } from './errors.ts';
import { requireVerifiedEmail } from './gates.ts';
import { normalRepository, repositoryOf } from './image-reference.ts';
import type { AccountRecord, RegistryAccess, RegistryRecord, ServiceRecord } from '../store/records.ts';
import type { PullCredentials } from './runtime.ts';
import type { Store } from '../store/store.ts';

export class Registries {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The services of each account by their repositories, once somebody has asked for them. */
  readonly #linked = new Map<string, Map<string, Map<string, ServiceRecord>>>();

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    store.services.observe((before, after) => {
      const [was, is] = [before?.registryAccess, after?.registryAccess];
      if (was && (was.registryId !== is?.registryId || was.revision !== is.revision)) this.#forgetUnused(was);
      this.#link(before, after);
      store.unit.onRollback(() => this.#link(after, before));
    });
  }

  #link(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    const linked = this.#linked.get((after ?? before)?.accountId ?? '');
    if (!linked) return;
    const was = before && repositoryOf(before.image);
    const is = after && (before?.image === after.image ? was : repositoryOf(after.image));
    if (before && was !== undefined && was !== is) {
      const left = linked.get(was);
      left?.delete(before.id);
      if (left?.size === 0) linked.delete(was);
    }
    if (!after || is === undefined) return;
    const services = linked.get(is);
    if (services) services.set(after.id, after);
    else linked.set(is, new Map([[after.id, after]]));
  }

  /** Made from the records the first time, and kept up to date from then on: most accounts have no registry. */
  #linkedOf(accountId: string): Map<string, Map<string, ServiceRecord>> {
    let linked = this.#linked.get(accountId);
    if (linked) return linked;
    this.#linked.set(accountId, (linked = new Map()));
    for (const service of this.#store.services.of(accountId)) this.#link(undefined, service);
    return linked;
  }

  /** Oldest first. */
  list(account: AccountRecord): RegistryRecord[] {
    return [...this.#store.registries.of(account.id)];
  }

  linkedTo({ accountId, repository }: RegistryRecord): ServiceRecord[] {
    return [...(this.#linkedOf(accountId).get(repository)?.values() ?? [])];
  }

  create(account: AccountRecord, spec: RegistryCreate): RegistryRecord {
    requireVerifiedEmail(account);
    const repository = requireRepository(spec.repository);
    if (this.#find(account.id, repository)) {
      throw conflict('registry_exists', `there is access to ${repository} already; rotate it instead`);
    }
    if (this.#store.registries.count(account.id) >= limits.registriesPerAccount) {
      throw conflict(
        'limit_reached',
        `an account has access to at most ${limits.registriesPerAccount} repositories; delete one first`,
      );
    }
    return this.#keep(spec, {
      id: this.#random.uuid(),
      accountId: account.id,
      repository,
      revision: 1,
      createdAtMs: this.#clock.wallMs(),
      rotatedAtMs: null,
    });
  }

  rotate(account: AccountRecord, id: string, revision: number, spec: RegistryCreate): RegistryRecord {
    requireVerifiedEmail(account);
    const repository = requireRepository(spec.repository);
    const registry = this.#require(account, id);
    if (repository !== registry.repository) {
      throw invalidRequest(`spec.repository: a rotation keeps the repository, ${registry.repository}`);
    }
    if (revision !== registry.revision) throw revisionConflict('registry', revision, registry.revision);
    this.#requireRoomForCredentials(account.id);
    const rotated = this.#keep(spec, {
      ...registry,
      revision: revision + 1,
      rotatedAtMs: this.#clock.wallMs(),
    });
    this.#forgetUnused({ registryId: registry.id, revision });
    return rotated;
  }

  delete(account: AccountRecord, id: string, revision: number): { id: string; deleted: true } {
    const registry = this.#require(account, id);
    if (revision !== registry.revision) throw revisionConflict('registry', revision, registry.revision);
    const awake = this.linkedTo(registry).find(
      (service) => service.state !== 'sleeping' || service.operation,
    );
    if (awake) {
      throw conflict(
        'registry_in_use',
        `service ${awake.id} uses ${registry.repository} and is ${awake.state}; all such services must be sleeping`,
      );
    }
    this.#store.registries.remove(registry);
    this.#store.database.run('DELETE FROM registry_secrets WHERE registry_id = $id', { id: registry.id });
    return { id: registry.id, deleted: true };
  }

  /** What a launch of `image` captures now. */
  accessTo(accountId: string, image: string): RegistryAccess | null {
    if (this.#store.registries.count(accountId) === 0) return null;
    const repository = repositoryOf(image);
    const registry = repository === undefined ? undefined : this.#find(accountId, repository);
    return registry ? { registryId: registry.id, revision: registry.revision } : null;
  }

  /** For the runtime only. */
  credentialsOf({ registryId, revision }: RegistryAccess): PullCredentials | undefined {
    const row = this.#store.database.get(
      `SELECT username, password FROM registry_secrets
       WHERE registry_id = $registryId AND revision = $revision`,
      { registryId, revision },
    );
    return row && { username: String(row['username']), password: String(row['password']) };
  }

  #require(account: AccountRecord, id: string): RegistryRecord {
    const registry = this.#store.registries.get(id.toLowerCase());
    if (registry?.accountId !== account.id) throw notFound('registry', id);
    return registry;
  }

  #find(accountId: string, repository: string): RegistryRecord | undefined {
    for (const registry of this.#store.registries.of(accountId)) {
      if (registry.repository === repository) return registry;
    }
    return undefined;
  }

  /** Each rotation keeps what launches have captured: not without end. */
  #requireRoomForCredentials(accountId: string): void {
    let count = 0;
    for (const { id } of this.#store.registries.of(accountId)) {
      const row = this.#store.database.get(
        'SELECT count(*) AS n FROM registry_secrets WHERE registry_id = $id',
        {
          id,
        },
      );
      count += Number(row?.['n']);
    }
    if (count < credentialsPerAccount) return;
    throw conflict(
      'limit_reached',
      `launched services of this account hold ${count} sets of credentials; restart some before the next rotation`,
    );
  }

  #keep({ username, password }: RegistryCreate, registry: RegistryRecord): RegistryRecord {
    this.#store.database.run(
      `INSERT INTO registry_secrets (registry_id, revision, username, password)
       VALUES ($registryId, $revision, $username, $password)`,
      { registryId: registry.id, revision: registry.revision, username, password },
    );
    return this.#store.registries.put(registry);
  }

  #forgetUnused({ registryId, revision }: RegistryAccess): void {
    const registry = this.#store.registries.get(registryId);
    if (!registry || registry.revision === revision) return;
    for (const { registryAccess } of this.#store.services.of(registry.accountId)) {
      if (registryAccess?.registryId === registryId && registryAccess.revision === revision) return;
    }
    this.#store.database.run(
      'DELETE FROM registry_secrets WHERE registry_id = $registryId AND revision = $revision',
      { registryId, revision },
    );
  }
}

/** The message doesn't repeat what was sent: it might be a URL with a password in it. */
function requireRepository(text: string): string {
  const repository = normalRepository(text);
  if (repository !== undefined) return repository;
  throw invalidRequest(
    'repository: must be fully qualified, without scheme, tag and digest, such as ghcr.io/acme/trainer',
  );
}
