import { Sensitive } from '../base/index.ts';
import { secretProblem } from '../resources/index.ts';
import type { DesiredObject, DesiredSnapshot } from './source.ts';

export type ResolvedCredentials =
  | {
      readonly ok: true;
      readonly credentials: Sensitive<{ readonly username: string; readonly password: string }> | undefined;
    }
  | { readonly ok: false; readonly path: (string | number)[]; readonly message: string };

/**
 * The credentials of a registry from the Secret in its namespace; undefined when the spec names none (then they are not
 * managed). A Secret that may not be sent to `origin` is an error. The line break that an editor leaves at the end of a file is not part of them.
 */
export function resolveCredentials(
  { spec, namespace }: DesiredObject<'ImageRegistry'>,
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
    const message = `there is no usable ${whole}; add it with the keys \`${usernameKey}\` and \`${passwordKey}\` (or mend it, if it is there)`;
    return { ok: false, path: [...path, 'name'], message };
  }
  const refused = secretProblem(`Secret ${name}`, secret.allowedOrigins, origin);
  if (refused !== undefined) {
    const message = `${refused}; let it name that origin, or use another Secret`;
    return { ok: false, path: [...path, 'name'], message };
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
    return { ok: false, path, message };
  }
  const values = { username: read(usernameKey) ?? '', password: read(passwordKey) ?? '' };
  return { ok: true, credentials: new Sensitive(values) };
}
