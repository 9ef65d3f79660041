import { Sensitive } from '../../base/index.ts';
import type { DataFault, DesiredSnapshot } from '../../desired/index.ts';
import { secretProblem } from '../../resources/index.ts';
import type { ContainerServiceSpec, EnvironmentEntry } from './schema.ts';

export type ResolvedEnvironment =
  | { readonly ok: true; readonly environment: Sensitive<Record<string, string>> | undefined }
  | {
      readonly ok: false;
      readonly reason: DataFault['reason'];
      readonly path: (string | number)[];
      readonly message: string;
      readonly remedy: string;
    };

/**
 * Resolves the service's environment with the Secrets and ConfigMaps of its namespace. `environment` is undefined if the
 * spec has no `env`; then it is not managed.
 *
 * The rules are those of a Pod:
 * - An entry without `value` and `valueFrom` is the empty string.
 * - A missing Secret, ConfigMap or key is an error. If the reference is `optional`, the variable is left out.
 *
 * Three rules differ. `$(NAME)` is not expanded. A Secret that must not be sent to `origin` is an error, and so is one that is there and
 * can't be read, also for an optional reference.
 */
export function resolveEnvironment(
  object: { readonly spec: Pick<ContainerServiceSpec, 'env'>; readonly namespace: string },
  snapshot: DesiredSnapshot,
  origin?: string,
): ResolvedEnvironment {
  const entries = object.spec.env;
  if (entries === undefined) return { ok: true, environment: undefined };
  const variables: [string, string][] = [];
  for (const [index, entry] of entries.entries()) {
    const reference = referenceOf(entry);
    if (!reference) {
      variables.push([entry.name, entry.value ?? '']);
      continue;
    }
    const { kind, field, name, key, optional } = reference;
    const source = (kind === 'Secret' ? snapshot.secrets : snapshot.configMaps).get(
      `${object.namespace}/${name}`,
    );
    const refused = secretProblem(`Secret ${name}`, source?.allowedOrigins, origin);
    if (refused !== undefined) {
      const path = ['spec', 'env', index, 'valueFrom', field];
      const remedy = 'add that origin, or use another Secret';
      return { ok: false, reason: 'InvalidReference', path, message: refused, remedy };
    }
    const value = source?.get(key);
    const fault = source?.fault ?? source?.faults?.get(key);
    if (fault) return { ok: false, path: ['spec', 'env', index, 'valueFrom', field], ...fault };
    if (value) variables.push([entry.name, value.reveal()]);
    else if (!optional) {
      const path = ['spec', 'env', index, 'valueFrom', field];
      return {
        ok: false,
        reason: 'InvalidReference',
        path,
        ...missing(kind, object.namespace, name, { key, isThere: source !== undefined }),
      };
    }
  }
  // fromEntries defines own members, so a variable named `__proto__` is harmless.
  return { ok: true, environment: new Sensitive(Object.fromEntries(variables)) };
}

function referenceOf({ valueFrom }: EnvironmentEntry) {
  if (valueFrom?.secretKeyRef)
    return { kind: 'Secret', field: 'secretKeyRef', ...valueFrom.secretKeyRef } as const;
  if (valueFrom?.configMapKeyRef) {
    return { kind: 'ConfigMap', field: 'configMapKeyRef', ...valueFrom.configMapKeyRef } as const;
  }
  return undefined;
}

function missing(
  kind: 'Secret' | 'ConfigMap',
  namespace: string,
  name: string,
  { key, isThere }: { readonly key: string; readonly isThere: boolean },
) {
  const whole = `${kind} ${name} in the namespace ${namespace}`;
  const where = kind === 'Secret' ? 'data or stringData' : 'data';
  return !isThere
    ? {
        message: `no usable ${whole}`,
        remedy: `add it with the key \`${key}\` (or fix it, if it exists), or set \`optional: true\``,
      }
    : {
        message: `the ${whole} has no key \`${key}\``,
        remedy: `add the key under ${where}, correct \`key\`, or set \`optional: true\``,
      };
}
