/** Which accounts there are, and with which key: from the documents and, for the account `default`, the environment. */
import { Sensitive } from '../base/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import { objectKey, type AccountSpec } from '../resources/index.ts';

/** What the environment says: used where no document does. */
export interface EnvironmentAccount {
  readonly url: string | undefined;
  /** Read anew at each use, so that a rotated key file is noticed. */
  readonly apiKey: () => Sensitive<string> | undefined;
  /** Why there is none although it was said where it is. */
  readonly apiKeyProblem?: () => string | undefined;
}

export interface WantedAccount {
  readonly spec: AccountSpec;
  /** Not of a document: every namespace may use it. */
  readonly shared: boolean;
}

export const defaultAccount = 'default';
export const environmentKey = `default/${defaultAccount}`;

/** By `namespace/name`. */
export function accountSpecs(
  snapshot: DesiredSnapshot | undefined,
  environment: EnvironmentAccount,
): Map<string, WantedAccount> {
  const wanted = new Map<string, WantedAccount>();
  for (const object of snapshot?.objects.values() ?? []) {
    if (object.kind !== 'Account') continue;
    const { spec } = object as DesiredObject<'Account'>;
    wanted.set(`${object.namespace}/${object.name}`, { spec, shared: false });
  }
  if (environment.url !== undefined && !wanted.has(environmentKey)) {
    wanted.set(environmentKey, { spec: environmentSpec(environment.url), shared: true });
  }
  return wanted;
}

/** The key of the account `namespace/name`: from its Secret when it names one, else (in a folder) the environment's. */
export function credentialOf(
  name: string,
  spec: AccountSpec,
  snapshot: DesiredSnapshot | undefined,
  environment: EnvironmentAccount,
): Sensitive<string> | undefined {
  const ref = spec.credentialsSecretRef;
  if (!ref) return isOfCluster(name, snapshot) ? undefined : environment.apiKey();
  const [namespace = ''] = name.split('/');
  const value = snapshot?.secrets.get(`${namespace}/${ref.name}`)?.get(ref.key);
  return value && new Sensitive(value.reveal().trim());
}

/** What a person is to do when there is no key for the account `namespace/name`. */
export function keyRemedy(
  name: string,
  { credentialsSecretRef: ref }: AccountSpec,
  snapshot: DesiredSnapshot | undefined,
  environment: EnvironmentAccount,
): string {
  if (!ref && isOfCluster(name, snapshot)) return 'name the Secret that holds it in `credentialsSecretRef`';
  if (!ref) {
    return (
      environment.apiKeyProblem?.() ??
      'set FLEETKEEPER_API_KEY, or FLEETKEEPER_API_KEY_FILE to a file that holds it'
    );
  }
  const [namespace = ''] = name.split('/');
  return `the Secret ${ref.name} in the namespace ${namespace} has to hold it under \`${ref.key}\``;
}

/**
 * An object of a cluster. It gets no key of the environment: whoever may write one would be sent the operator's own, at the
 * address that he says.
 */
function isOfCluster(name: string, snapshot: DesiredSnapshot | undefined): boolean {
  const [namespace = '', own = ''] = name.split('/');
  return snapshot?.cluster?.has(objectKey('Account', namespace, own)) ?? false;
}

function environmentSpec(url: string): AccountSpec {
  return {
    url,
    insecure: false,
    requests: { perSecond: 5, burst: 10, concurrency: 4 },
    pollSeconds: 15,
  };
}
