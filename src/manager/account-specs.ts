/** The accounts that exist: from the documents and, for the account `default`, from the environment. */
import { nearestOr } from '../base/index.ts';
import {
  accountObject,
  accountsIn,
  changedKeys,
  isWholeIn,
  referringTo,
  type DesiredSnapshot,
} from '../desired/index.ts';
import {
  accountKey,
  accountNamed,
  defaultAccount,
  type AccountSpec,
  type ObjectKey,
} from '../resources/index.ts';
import type { ResolvedAccount } from '../engine/index.ts';
import type { AccountOrigin, EnvironmentAccount } from './account-keys.ts';

export interface WantedAccount {
  readonly spec: AccountSpec;
  readonly origin: AccountOrigin;
}

export const environmentKey = `default/${defaultAccount}`;

/** The accounts whose spec or key may differ from the snapshot before. */
export function movedAccounts(
  now: DesiredSnapshot,
  before: DesiredSnapshot | undefined,
): ReadonlySet<string> | 'all' {
  const changed = changedKeys(now, before);
  // In a folder, an Account may use the key of the environment, and no event reports when that changes.
  if (!before || !now.cluster || changed === 'all' || isOtherwiseKnown(now, before)) return 'all';
  const secrets = now.secrets.changedSince(before.secrets);
  if (secrets === 'all') return 'all';
  const moved = new Set([environmentKey]);
  const take = (key: ObjectKey) => {
    const account = accountNamed(key);
    if (account !== undefined) moved.add(account);
  };
  for (const secret of secrets) {
    const users = referringTo(now.objects, `Secret/${secret as `${string}/${string}`}`);
    for (const { key } of users) take(key);
  }
  for (const key of changed) take(key);
  return moved;
}

function isOtherwiseKnown(now: DesiredSnapshot, before: DesiredSnapshot): boolean {
  return now.complete !== before.complete || now.unread !== before.unread;
}

/** An unusable document, or a namespace that is not known as a whole, proves nothing. */
export function mayBeDeclared(account: string, snapshot: DesiredSnapshot): boolean {
  const [namespace = ''] = account.split('/');
  return snapshot.unusable.has(accountKey(account)) || !isWholeIn(snapshot, namespace);
}

/** By `namespace/name`. If `names` is given, only these. */
export function accountSpecs(
  snapshot: DesiredSnapshot | undefined,
  environment: EnvironmentAccount,
  names: ReadonlySet<string> | 'all' = 'all',
): Map<string, WantedAccount> {
  const wanted = new Map<string, WantedAccount>();
  const declared = snapshot && !environment.isLocal ? documentsOf(snapshot, names) : [];
  for (const { namespace, name, spec, cluster } of declared) {
    const place = cluster ? 'cluster' : 'folder';
    const origin = { kind: 'document', place, uid: cluster?.uid } as const;
    wanted.set(`${namespace}/${name}`, { spec, origin });
  }
  if (environment.url !== undefined && !wanted.has(environmentKey)) {
    wanted.set(environmentKey, {
      spec: environmentSpec(environment.url, environment),
      origin: { kind: 'environment' },
    });
  }
  return wanted;
}

function documentsOf({ objects }: DesiredSnapshot, names: ReadonlySet<string> | 'all') {
  if (names === 'all') return accountsIn(objects);
  return [...names].flatMap((account) => accountObject(objects, account) ?? []);
}

function environmentSpec(
  url: string,
  { credentialsHeader, isLocal }: Pick<EnvironmentAccount, 'credentialsHeader' | 'isLocal'>,
): AccountSpec {
  return {
    url,
    insecure: false,
    ...(credentialsHeader === undefined ? {} : { credentialsHeader }),
    ...(isLocal ? localPace : providerPace),
    visibilitySeconds: 600,
  };
}

const providerPace = { requests: { perSecond: 5, burst: 10, concurrency: 4 }, pollSeconds: 15 };
/** Nobody else uses it, and what happens in it is seen at once. */
const localPace = {
  requests: { perSecond: 100, burst: 100, concurrency: 8 },
  pollSeconds: 1,
  quietPollSeconds: 1,
};

export function accountNotFound(
  snapshot: DesiredSnapshot | undefined,
  namespace: string,
  name: string,
): Extract<ResolvedAccount, { kind: 'problem' }> {
  const known = snapshot ? accountsIn(snapshot.objects, namespace).map((one) => one.name) : [];
  const hint =
    name === defaultAccount
      ? 'add its document, set FLEETKEEPER_API_URL and FLEETKEEPER_API_KEY, or use containers of this machine (`fleetkeeper dev`)'
      : nearestOr(name, known, 'add its document, or correct the name');
  const message = `there is no Account ${name} in the namespace ${namespace}; ${hint}`;
  return { kind: 'problem', reason: 'AccountNotFound', message };
}
