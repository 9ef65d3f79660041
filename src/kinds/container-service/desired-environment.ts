/** The environment that a service is to have, with the values of Secrets and ConfigMaps. */
import { objectOf } from '../../desired/index.ts';
import type { AccountHandle, Fleet } from '../../engine/index.ts';
import type { DesiredEnvironment } from '../../engine/plan/index.ts';
import { originOf, type ObjectKey } from '../../resources/index.ts';
import { resolveEnvironment } from './environment-values.ts';

/** As it may be sent to the account; without one, as it is declared. `isThere`: the service exists, and has one. */
export function desiredEnvironment(
  { snapshot }: Fleet,
  key: ObjectKey,
  account: AccountHandle | undefined,
  isThere: boolean,
): DesiredEnvironment {
  const service = objectOf(snapshot.objects, 'ContainerService', key);
  if (!service) return { kind: 'unmanaged' };
  if (isThere && service.derived?.hasOlderValues && service.spec.env) return { kind: 'as-applied' };
  const resolved = resolveEnvironment(service, snapshot, account && originOf(account.spec.url));
  if (resolved.ok) {
    return resolved.environment ? { kind: 'given', values: resolved.environment } : { kind: 'unmanaged' };
  }
  const { reason, path, message, remedy } = resolved;
  return { kind: 'problem', reason, path, message: `${message}; ${remedy}` };
}
