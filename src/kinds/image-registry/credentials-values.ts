import { Sensitive } from '../../base/index.ts';
import type { DataFault, DesiredSnapshot } from '../../desired/index.ts';
import { secretProblem } from '../../resources/index.ts';
import type { ImageRegistrySpec } from './schema.ts';

export type ResolvedCredentials =
  | {
      readonly ok: true;
      readonly credentials: Sensitive<{ readonly username: string; readonly password: string }> | undefined;
    }
  | {
      readonly ok: false;
      readonly reason: DataFault['reason'];
      readonly path: (string | number)[];
      readonly message: string;
    };

/**
 * Reads the credentials of a registry from the Secret in its namespace. Undefined if the spec names none;
 * then they are not managed. It is an error if the Secret must not be sent to `origin`. A line break at the
 * end of a value, as editors write it, is removed.
 */
export function resolveCredentials(
  { spec, namespace }: { readonly spec: ImageRegistrySpec; readonly namespace: string },
  snapshot: DesiredSnapshot,
  origin?: string,
): ResolvedCredentials {
  const reference = spec.credentialsSecretRef;
  if (!reference) return { ok: true, credentials: undefined };
  const { name, usernameKey, passwordKey } = reference;
  const path = ['spec', 'credentialsSecretRef'];
  const whole = `Secret ${name} in the namespace ${namespace}`;
  const secret = snapshot.secrets.get(`${namespace}/${name}`);
  if (!secret) {
    const message = `no usable ${whole}; add it with the keys \`${usernameKey}\` and \`${passwordKey}\` (or fix it, if it exists)`;
    return { ok: false, reason: 'InvalidReference', path: [...path, 'name'], message };
  }
  const fault = secret.fault ?? secret.faults?.get(usernameKey) ?? secret.faults?.get(passwordKey);
  if (fault) return { ok: false, reason: fault.reason, path, message: `${fault.message}; ${fault.remedy}` };
  const refused = secretProblem(`Secret ${name}`, secret.allowedOrigins, origin);
  if (refused !== undefined) {
    const message = `${refused}; add that origin, or use another Secret`;
    return { ok: false, reason: 'InvalidReference', path: [...path, 'name'], message };
  }
  const read = (key: string) =>
    secret
      .get(key)
      ?.reveal()
      .replace(/\r?\n$/, '');
  for (const [field, key] of [
    ['usernameKey', usernameKey],
    ['passwordKey', passwordKey],
  ] as const) {
    if (read(key)) continue;
    const message = `the ${whole} has nothing under \`${key}\`; add it under data or stringData, or name another key with ${field}`;
    return { ok: false, reason: 'InvalidReference', path, message };
  }
  const values = { username: read(usernameKey) ?? '', password: read(passwordKey) ?? '' };
  return { ok: true, credentials: new Sensitive(values) };
}
