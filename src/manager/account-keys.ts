/**
 * Decides which API key an account uses. Each account has an origin, and only the origin decides where its key may come from:
 *
 *     origin                                   key
 *     environment                              FLEETKEEPER_API_KEY or its file
 *     document of a cluster                    the Secret that it names, in its namespace; otherwise none
 *     document of a folder, naming a Secret    that Secret
 *     document of a folder, naming none        the key of the environment, unless FLEETKEEPER_API_URL has another origin
 *
 * There is no fallback between the rows. Otherwise, whoever may write an Account in a cluster could have the operator's own
 * key sent to any address. If a document is gone, its row still applies. In a cluster it then has no key at all, since
 * nothing states any more where its Secret may be sent.
 */
import { hkdfSync } from 'node:crypto';
import { Sensitive } from '../base/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';
import { originHold, type OriginHold } from '../engine/plan/index.ts';
import { annotations, accountKey, originOf, type AccountSpec } from '../resources/index.ts';

/** The account of the environment. It is used where no document replaces it. */
export interface EnvironmentAccount {
  readonly url: string | undefined;
  /** The header that carries the key. The default is `Authorization`. */
  readonly credentialsHeader?: string | undefined;
  /** A control plane on this machine, for one folder: nothing is sent to Accounts that documents declare. */
  readonly isLocal?: boolean;
  /** Read at each use, so that a rotated key file is noticed. */
  readonly apiKey: () => Sensitive<string> | undefined;
  /** Why a configured key could not be read. */
  readonly apiKeyProblem?: () => string | undefined;
}

export type AccountOrigin =
  | { readonly kind: 'environment' }
  | {
      readonly kind: 'document';
      readonly place: 'folder' | 'cluster';
      /** The uid of the Account in the cluster. Another object of the same name is another account. */
      readonly uid: string | undefined;
    };

export interface KeyedAccount {
  /** `namespace/name`. */
  readonly name: string;
  readonly spec: AccountSpec;
  readonly origin: AccountOrigin;
  /** Its document is gone. */
  readonly retired?: boolean;
}

export type AccountKey =
  | { readonly kind: 'key'; readonly key: Sensitive<string> }
  /** `remedy`: how to provide a key. `isUnread`: its Secret has not been read yet. */
  | { readonly kind: 'none'; readonly remedy: string; readonly isUnread?: true };

export class AccountKeys {
  readonly #environment: EnvironmentAccount;

  constructor(environment: EnvironmentAccount) {
    this.#environment = environment;
  }

  keyOf(account: KeyedAccount, snapshot: DesiredSnapshot | undefined): AccountKey {
    const { spec, origin, retired } = account;
    if (origin.kind === 'environment') return this.#environmentKey();
    if (origin.place === 'cluster' && retired) return none('put the Account back');
    if (spec.credentialsSecretRef) return secretKey(account, snapshot);
    if (origin.place === 'cluster') return none('name the Secret that holds it in `credentialsSecretRef`');
    const { url } = this.#environment;
    if (url === undefined || originOf(url) === originOf(spec.url)) return this.#environmentKey();
    return none(
      `the key of the environment is for ${originOf(url)} (FLEETKEEPER_API_URL): name a Secret in ` +
        '`credentialsSecretRef`, or unset FLEETKEEPER_API_URL',
    );
  }

  /** Why no key of the account may be sent to its `url`. `pinned`: the origin that it was first used with. */
  holdOf(
    { name, spec, origin }: KeyedAccount,
    pinned: string | undefined,
    snapshot: DesiredSnapshot | undefined,
  ): OriginHold | undefined {
    const [namespace = ''] = name.split('/');
    const document = snapshot?.objects.get(accountKey(name));
    const secret = spec.credentialsSecretRef?.name;
    const origins = snapshot?.secrets.get(`${namespace}/${secret}`)?.allowedOrigins;
    return originHold({
      account: name,
      isDocument: origin.kind === 'document',
      origin: originOf(spec.url),
      pinned,
      accepted: document?.annotations[annotations.acceptOrigin],
      allowed: secret !== undefined && origins ? { secret, origins } : undefined,
    });
  }

  #environmentKey(): AccountKey {
    const { apiKey, apiKeyProblem } = this.#environment;
    const key = apiKey();
    if (key) return { kind: 'key', key };
    return none(
      apiKeyProblem?.() ?? 'set FLEETKEEPER_API_KEY, or FLEETKEEPER_API_KEY_FILE to a file that holds it',
    );
  }
}

function secretKey(account: KeyedAccount, snapshot: DesiredSnapshot | undefined): AccountKey {
  const { name, spec } = account;
  const { name: secret = '', key = '' } = spec.credentialsSecretRef ?? {};
  const [namespace = ''] = name.split('/');
  const data = snapshot?.secrets.get(`${namespace}/${secret}`);
  const value = data?.get(key)?.reveal().trim();
  if (value) return { kind: 'key', key: new Sensitive(value) };
  const fault = data?.fault ?? data?.faults?.get(key);
  if (fault)
    return { ...none(`${fault.message}; ${fault.remedy}`), ...(fault.isUnread ? { isUnread: true } : {}) };
  return none(secretRemedy(account, { namespace, secret, key, isThere: data !== undefined }, snapshot));
}

interface NamedSecret {
  readonly namespace: string;
  readonly secret: string;
  readonly key: string;
  readonly isThere: boolean;
}

function secretRemedy(
  { origin }: KeyedAccount,
  { namespace, secret, key, isThere }: NamedSecret,
  snapshot: DesiredSnapshot | undefined,
): string {
  const whole = `Secret ${secret} in the namespace ${namespace}`;
  if (isThere) {
    return `the ${whole} has no value under \`${key}\`; put the API key there, or name another key in \`credentialsSecretRef\` of the Account`;
  }
  const unread = snapshot?.problems.find(({ file }) => file === `secrets/${namespace}/${secret}`);
  if (unread)
    return `the ${whole}, which must contain it under \`${key}\`, ${unread.message}; ${unread.remedy}`;
  const isInCluster = origin.kind === 'document' && origin.place === 'cluster';
  return isInCluster
    ? `there is no ${whole}, which must contain it under \`${key}\`; create it: \`kubectl create secret generic ${secret} --namespace ${namespace} --from-file=${key}=KEYFILE\``
    : `no usable ${whole}, which must contain it under \`${key}\`; add a Secret document of that name with \`stringData\`, or a file of \`--secrets-dir\` (or fix it, if it exists)`;
}

function none(remedy: string): AccountKey {
  return { kind: 'none', remedy };
}

/** A key for one purpose: who has it knows neither the API key nor the key for another purpose. */
export function derivedKey(key: Sensitive<string> | undefined, purpose: string): Buffer | undefined {
  return key && Buffer.from(hkdfSync('sha256', key.reveal(), '', purpose, 32));
}
