/** Account: there is nothing of it to be changed at the provider; its pass only reports how it is. */
import {
  holdFor,
  inSync,
  readTally,
  shut,
  storedTally,
  waitFor,
  type Gates,
  type Plan,
  type Tally,
} from '../../engine/plan/index.ts';
import { defineKind, quotasOf, type AccountOfObject, type View } from '../../engine/index.ts';
import {
  accountKey,
  longestPollSeconds,
  parseObjectKey,
  stateTraitsOf,
  type AccountSpec,
  type AccountState,
  type ObjectKey,
  type ShownMoney,
} from '../../resources/index.ts';
import {
  capacitySignature,
  pricesSignature,
  shownCapacity,
  shownPrices,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';
import type { Health } from '../../engine/status/index.ts';
import { nextTally, spentFields } from './spent.ts';
import { nextMoney, observedAccount, spendingStatement, type AccountFacts } from './status.ts';

type AccountView = View<AccountSpec, never, undefined, AccountState>;

interface AccountLook {
  readonly record: ObjectRecord;
  /** There is an account to be read. */
  readonly isUsable: boolean;
  readonly facts: AccountFacts;
  readonly shownMoney: ShownMoney | undefined;
  /** What was spent, to show and to store. */
  readonly tally: Tally | undefined;
  /** Once the account has been read. */
  readonly gates: Gates | undefined;
}

function accountLook(view: AccountView): AccountLook {
  const { fleet, money, capacity: memory, record, store } = view;
  const { handle } = accountOf(view);
  const read = handle?.informer.current;
  const { url = '' } = record.manifest.spec as Partial<AccountSpec>;
  const prices = shownPrices(handle ? money.books.prices(handle.name) : []);
  const capacity = shownCapacity(handle ? memory.entries(handle) : []);
  const facts = {
    url,
    identity: handle?.identity.name,
    emailVerified: handle?.identity.emailVerified,
    sharedWith:
      handle && read ? money.sharing(handle.name, (other) => isKnown(view, other), mostSharing) : [],
    read: read && { ...read, at: read.receivedAt },
    quotas: read ? quotasOf(read) : [],
    payment: handle?.catalog.current?.payment.status,
    prices,
    pricesSignature: handle ? pricesSignature(handle.name, prices, store.digestKey) : '',
    capacity,
    capacitySignature: handle ? capacitySignature(handle.name, capacity, store.digestKey) : '',
  };
  const gates = handle && read && fleet.gates(handle, read);
  const shownMoney = nextMoney(facts, record.kind.shownMoney);
  const counted = record.kind.tally && readTally(record.kind.tally);
  const rules = {
    longestPollSeconds: handle ? longestPollSeconds(handle.spec) : 0,
    isInCluster: fleet.snapshot.cluster !== undefined,
    isEnd: view.stopping(),
  };
  const tally = nextTally(facts, counted, rules);
  return { record, isUsable: handle !== undefined, facts, shownMoney, tally, gates };
}

function accountOf(view: AccountView): AccountOfObject {
  if (view.record.deletionRequestedAt !== undefined) return { handle: undefined, problem: inUse(view) };
  const { namespace, name } = parseObjectKey(view.key);
  const resolved = view.accounts.resolve(namespace, name);
  if (resolved.kind === 'usable') return { handle: resolved.handle, problem: undefined };
  return { handle: undefined, problem: holdFor(resolved.reason, resolved.message, { path: ['spec'] }) };
}

/** In a cluster an Account stays until nothing in it needs its key any more; out of a folder it is simply gone. */
function inUse({ key, fleet, store, accounts }: AccountView): Plan | undefined {
  if (!fleet.snapshot.objects.has(key)) return undefined;
  const { namespace, name } = parseObjectKey(key);
  const resolved = accounts.resolve(namespace, name);
  const current = resolved.kind === 'usable' ? resolved.handle.informer.current : undefined;
  const services = (current?.unidentified?.services.length ?? 0) > 0 ? undefined : current?.services;
  const users = store
    .recordsOf(`${namespace}/${name}`)
    .filter((record) => needsAccount(record, store, services));
  const [first] = users;
  if (!first) return undefined;
  const shown = users.slice(0, 3).map((user) => user.key);
  const message =
    `${users.length} objects still manage something in this account: ${shown.join(', ')}${users.length > 3 ? ', …' : ''}. ` +
    'The Account is removed when they are gone: delete them, or set `deletionPolicy: Retain` before you delete them, which keeps what they manage';
  return holdFor('InUse', message);
}

/** Something of it exists, or may exist, at the provider. With its service an activity is gone, too. */
function needsAccount(
  { key, kind, externalId, creationInDoubt }: ObjectRecord,
  store: StateStore,
  services: ReadonlyMap<string, unknown> | undefined,
): boolean {
  const activity = stateTraitsOf(key).registered?.(kind);
  const isThere = activity !== undefined && (services?.has(activity.serviceId) ?? true);
  const isRegistered = isThere && !activity.isReleased;
  return (
    externalId !== undefined ||
    creationInDoubt !== undefined ||
    isRegistered ||
    store.openIntent(key) !== undefined
  );
}

function isKnown({ accounts }: AccountView, account: string): boolean {
  const { namespace, name } = parseObjectKey(accountKey(account));
  const resolved = accounts.resolve(namespace, name);
  return resolved.kind === 'usable' && resolved.handle.name === account;
}

function health(key: ObjectKey, { read, identity, sharedWith }: AccountFacts): Health {
  if (!read) {
    return { ready: 'False', reason: 'AwaitingObservation', message: 'the account has not been read yet' };
  }
  if (sharedWith.length > 0)
    return { ready: 'True', reason: 'SharedAccount', message: sharedText(key, sharedWith) };
  const message =
    identity === undefined
      ? 'the API shows neither id nor e-mail address of the account: a key of another account would not be noticed'
      : '';
  return { ready: 'True', reason: 'Connected', message };
}

/** So many are looked for. */
const mostSharing = 20;

/** Whoever reads the object may not know of other namespaces. */
function sharedText(key: ObjectKey, sharedWith: readonly string[]): string {
  const { namespace } = parseObjectKey(key);
  const near = sharedWith.filter((name) => name.startsWith(`${namespace}/`)).sort();
  const names = near.map((name) => name.slice(namespace.length + 1));
  const far = sharedWith.length - near.length;
  const shown = [
    ...names.slice(0, 3),
    ...(names.length > 3 ? ['…'] : []),
    ...(far > 0 ? [`${far === mostSharing ? `${far} or more` : far} of other namespaces`] : []),
  ];
  return `the same account at the provider as the Accounts ${shown.join(', ')}: each has its own limiter, so give each its share in \`requests.perSecond\``;
}

/** A brake that stops everything in the account is reported here, too: it is the first place where people look. */
function plan({ isUsable, gates }: AccountLook): Plan {
  if (!isUsable) return inSync();
  if (!gates) return waitFor('AwaitingObservation', 'the account has not been read yet');
  return gates.creation ? shut(gates.creation, [], []) : inSync();
}

export const account = defineKind<AccountSpec, never, AccountLook, undefined, AccountState>({
  name: 'Account',
  storesAtEnd: true,
  account: accountOf,
  released: (view) => view.record.deletionRequestedAt !== undefined && !inUse(view),
  look: accountLook,
  plan,
  status: ({ record, facts, shownMoney, tally, gates }) => ({
    health: health(record.key, facts),
    observed: { ...observedAccount(facts, shownMoney), ...(tally ? spentFields(tally) : {}) },
    kind: { shownMoney, ...(tally ? { tally: storedTally(tally) } : {}) },
    revision: undefined,
    ...(gates ? { more: [['SpendingAllowed', spendingStatement(gates.spending)]] } : {}),
  }),
});
