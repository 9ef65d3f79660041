/** The credentials that a registry is to have, from their Secret. */
import { objectOf } from '../../desired/index.ts';
import type { AccountHandle, Fleet } from '../../engine/index.ts';
import type { DesiredCredentials } from '../../engine/plan/index.ts';
import { originOf, type ObjectKey } from '../../resources/index.ts';
import { resolveCredentials } from './credentials-values.ts';

/** As they may be sent to the account; without one, as they are declared. */
export function desiredCredentials(
  { snapshot }: Fleet,
  key: ObjectKey,
  account: AccountHandle | undefined,
): DesiredCredentials {
  const registry = objectOf(snapshot.objects, 'ImageRegistry', key);
  if (!registry) return { kind: 'unmanaged' };
  const resolved = resolveCredentials(registry, snapshot, account && originOf(account.spec.url));
  if (!resolved.ok) {
    const { reason, path, message } = resolved;
    return { kind: 'problem', reason, path, message };
  }
  return resolved.credentials ? { kind: 'given', values: resolved.credentials } : { kind: 'unmanaged' };
}
