import type { AccountSnapshot } from '../observed/index.ts';
import { holdFor, inSync, quotas, shut, waitFor, type Plan, type Quota } from '../plan/index.ts';
import { parseObjectKey, type AccountSpec } from '../resources/index.ts';
import {
  observedAccount,
  spendingStatement,
  type AccountFacts,
  type Health,
  type StatusInputs,
} from '../status/index.ts';
import { pricesSignature, shownPrices, type ObjectRecord, type StateStore } from '../state/index.ts';
import type { KindPass } from './kind-pass.ts';
import { LocalPass } from './local-pass.ts';

/** An Account has nothing to be changed at the provider: its pass only tells how it is. */
export class AccountPass extends LocalPass implements KindPass {
  readonly kind = 'Account';

  account() {
    if (this.record().deletionRequestedAt !== undefined) return { handle: undefined, problem: this.#inUse() };
    const { namespace, name } = parseObjectKey(this.key);
    const resolved = this.options.accounts.resolve(namespace, name);
    if (resolved.kind === 'usable') return { handle: resolved.handle, problem: undefined };
    return { handle: undefined, problem: holdFor(resolved.reason, resolved.message, { path: ['spec'] }) };
  }

  released(): boolean {
    return this.record().deletionRequestedAt !== undefined && !this.#inUse();
  }

  /** In a cluster an Account stays until nothing in it needs its key any more; out of a folder it is simply gone. */
  #inUse(): Plan | undefined {
    const { fleet, store, accounts } = this.options;
    if (!fleet.snapshot.objects.has(this.key)) return undefined;
    const { namespace, name } = parseObjectKey(this.key);
    const resolved = accounts.resolve(namespace, name);
    const current = resolved.kind === 'usable' ? resolved.handle.informer.current : undefined;
    const services = (current?.unidentified?.services.length ?? 0) > 0 ? undefined : current?.services;
    const users = store
      .recordsOf(`${namespace}/${name}`)
      .filter((record) => needsAccount(record, store, services));
    const [first] = users;
    if (!first) return undefined;
    const shown = users.slice(0, 3).map(({ key }) => key);
    const message =
      `${users.length} objects still stand for something in this account: ${shown.join(', ')}${users.length > 3 ? ', …' : ''}. ` +
      'The Account goes when they are gone: delete them, or say `deletionPolicy: Retain` and delete them to leave what they stand for as it is';
    return holdFor('InUse', message);
  }

  async observe(): Promise<void> {
    // The informer has what there is to see.
  }

  /** A brake that stops everything in the account is told here, too: it is the first place where people look. */
  plan(): Plan {
    const { handle } = this.account();
    if (!handle) return inSync();
    const snapshot = handle.informer.current;
    if (!snapshot) return waitFor('AwaitingObservation', 'the account has not been read yet');
    const brake = this.options.fleet.gates(handle, snapshot).creation;
    return brake ? shut(brake, [], []) : inSync();
  }

  told(): Pick<StatusInputs, 'health' | 'observed' | 'revision' | 'reconcileAt' | 'more'> {
    const { handle } = this.account();
    const read = handle?.informer.current;
    const record = this.record();
    const { url = '' } = record.manifest.spec as Partial<AccountSpec>;
    const prices = shownPrices(handle ? this.options.money.books.prices(handle.name) : []);
    const facts = {
      url,
      identity: handle?.identity.name,
      emailVerified: handle?.identity.emailVerified,
      read: read && { ...read, at: read.receivedAt },
      quotas: read ? quotasOf(read) : [],
      payment: handle?.catalog.current?.payment.status,
      prices,
      pricesSignature: handle ? pricesSignature(handle.name, prices, this.options.store.digestKey) : '',
    };
    const gate = handle && read && this.options.fleet.gates(handle, read).spending;
    return {
      health: health(facts),
      observed: observedAccount(facts, record.status),
      revision: undefined,
      reconcileAt: undefined,
      ...(read ? { more: [['SpendingAllowed', spendingStatement(gate)]] } : {}),
    };
  }
}

/** Something of it exists, or may exist, at the provider. With its service an activity is gone, too. */
function needsAccount(
  { key, externalId, lease, releasedAt, creationInDoubt }: ObjectRecord,
  store: StateStore,
  services: ReadonlyMap<string, unknown> | undefined,
): boolean {
  const isThere = lease !== undefined && (services?.has(lease.serviceId) ?? true);
  const isLeased = isThere && releasedAt === undefined;
  return (
    externalId !== undefined ||
    creationInDoubt !== undefined ||
    isLeased ||
    store.openIntent(key) !== undefined
  );
}

function health({ read, identity }: AccountFacts): Health {
  if (!read) {
    return { ready: 'False', reason: 'AwaitingObservation', message: 'the account has not been read yet' };
  }
  const message =
    identity === undefined
      ? 'the API shows neither id nor e-mail address of the account: a key of another account would not be noticed'
      : '';
  return { ready: 'True', reason: 'Connected', message };
}

/** Built-in templates are everybody's (§2 "Template"). */
export function quotasOf({ volumes, templates, registries, unidentified }: AccountSnapshot): Quota[] {
  return quotas({
    volumes: volumes.size + (unidentified?.volumes.length ?? 0),
    templates:
      templates.kind === 'read'
        ? [...templates.items.values()].filter(({ builtIn }) => builtIn !== true).length
        : undefined,
    registries: registries.kind === 'read' ? registries.items.size : undefined,
  });
}
