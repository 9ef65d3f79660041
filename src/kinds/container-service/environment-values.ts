import { Sensitive } from '../../base/index.ts';
import type { DataFault, DesiredSnapshot } from '../../desired/index.ts';
import { secretProblem, valueLimits } from '../../resources/index.ts';
import type { ContainerServiceSpec, EnvironmentEntry } from './schema.ts';

export type ResolvedEnvironment =
  | { readonly ok: true; readonly environment: Sensitive<Record<string, string>> | undefined }
  | {
      readonly ok: false;
      readonly reason: DataFault['reason'] | 'InvalidSpec';
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
 * can't be read, also for an optional reference. And all of it has a bound: many variables may take one large value.
 */
export function resolveEnvironment(
  object: { readonly spec: Pick<ContainerServiceSpec, 'env'>; readonly namespace: string },
  snapshot: DesiredSnapshot,
  origin?: string,
): ResolvedEnvironment {
  const entries = object.spec.env;
  if (entries === undefined) return { ok: true, environment: undefined };
  const variables: Variable[] = [];
  for (const [index, entry] of entries.entries()) {
    const reference = referenceOf(entry);
    if (!reference) {
      variables.push({ name: entry.name, text: entry.value ?? '' });
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
    if (value) variables.push({ name: entry.name, text: value });
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
  return (
    tooLarge(variables) ?? {
      ok: true,
      // fromEntries defines own members, so a variable named `__proto__` is harmless.
      environment: new Sensitive(Object.fromEntries(variables.map(({ name, text }) => [name, plain(text)]))),
    }
  );
}

interface Variable {
  readonly name: string;
  readonly text: string | Sensitive<string>;
}

function plain(text: Variable['text']): string {
  return typeof text === 'string' ? text : text.reveal();
}

/** Nothing is joined or copied before that is known. */
function tooLarge(variables: readonly Variable[]): ResolvedEnvironment | undefined {
  const bytes = variables.reduce((sum, variable) => sum + bytesOf(variable), 0);
  if (bytes <= valueLimits.environmentBytes) return undefined;
  const largest = variables
    .toSorted((left, right) => bytesOf(right) - bytesOf(left))
    .slice(0, 3)
    .map((variable) => `${variable.name} (${kib(bytesOf(variable))})`);
  return {
    ok: false,
    reason: 'InvalidSpec',
    path: ['spec', 'env'],
    message: `the environment has ${kib(bytes)}, names and values together, and may have ${kib(valueLimits.environmentBytes)}; the largest are ${largest.join(', ')}`,
    remedy: 'put what is large into the image or a volume',
  };
}

/** A value of a Secret or ConfigMap is measured once, however many variables take it, in however many passes. */
const measured = new WeakMap<Sensitive<string>, number>();

function bytesOf({ name, text }: Variable): number {
  if (typeof text === 'string') return Buffer.byteLength(name) + Buffer.byteLength(text);
  const bytes = measured.get(text) ?? Buffer.byteLength(text.reveal());
  measured.set(text, bytes);
  return Buffer.byteLength(name) + bytes;
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
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
