/** Which accounts there are: from the documents and, for the account `default`, the environment. */
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import type { AccountSpec } from '../resources/index.ts';
import type { AccountOrigin, EnvironmentAccount } from './account-keys.ts';

export interface WantedAccount {
  readonly spec: AccountSpec;
  readonly origin: AccountOrigin;
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
    const { spec, cluster } = object as DesiredObject<'Account'>;
    const place = cluster ? 'cluster' : 'folder';
    const origin = { kind: 'document', place, uid: cluster?.uid } as const;
    wanted.set(`${object.namespace}/${object.name}`, { spec, origin });
  }
  if (environment.url !== undefined && !wanted.has(environmentKey)) {
    wanted.set(environmentKey, {
      spec: environmentSpec(environment.url, environment.credentialsHeader),
      origin: { kind: 'environment' },
    });
  }
  return wanted;
}

function environmentSpec(url: string, credentialsHeader: string | undefined): AccountSpec {
  return {
    url,
    insecure: false,
    ...(credentialsHeader === undefined ? {} : { credentialsHeader }),
    requests: { perSecond: 5, burst: 10, concurrency: 4 },
    pollSeconds: 15,
    visibilitySeconds: 600,
  };
}
