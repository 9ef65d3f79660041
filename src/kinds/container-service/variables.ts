/**
 * Which variables of an environment have other values than before. The record keeps a keyed digest of each value, made with the uid of the
 * object: so equal values of two objects have different digests. They are for plans only. Whether an environment differs is decided by its
 * own digest.
 */
import { environmentDigest } from '../../engine/plan/index.ts';
import type { ContainerServiceSpec, ServiceState } from '../../resources/index.ts';
import type { ServiceInputs } from './inputs.ts';

/** A larger environment is not remembered by its variables. */
const mostVariables = 200;

type Inputs = Pick<ServiceInputs, 'environment' | 'owner' | 'record'>;

/** Of a service that is as desired. */
export function rememberedVariables({ environment, owner, record }: Inputs): ServiceState['variables'] {
  if (environment.kind === 'as-applied') return record.kind.variables;
  if (environment.kind !== 'given') return undefined;
  const values = Object.entries(environment.values.reveal());
  if (values.length > mostVariables) return undefined;
  return {
    of: environmentDigest(owner, environment.values),
    digests: Object.fromEntries(
      values.map(([name, value]) => [name, digestOf({ owner, record }, name, value)]),
    ),
  };
}

/** Names with other values than those that were applied; undefined if that is not known. */
export function changedVariables({ environment, owner, record }: Inputs): string[] | undefined {
  const { variables } = record.kind;
  if (environment.kind !== 'given' || variables === undefined || variables.of !== record.applied['env'])
    return undefined;
  const before = new Map(Object.entries(variables.digests));
  return Object.entries(environment.values.reveal())
    .filter(([name, value]) => {
      const digest = before.get(name);
      return digest !== undefined && digest !== digestOf({ owner, record }, name, value);
    })
    .map(([name]) => name)
    .sort();
}

/** The Secrets and ConfigMaps that variables are taken from, by the name of the variable. */
export function variableOrigins({
  env = [],
}: Pick<ContainerServiceSpec, 'env'>): ReadonlyMap<string, string> {
  return new Map(
    env.flatMap(({ name, valueFrom }): [string, string][] => {
      const { secretKeyRef: secret, configMapKeyRef: map } = valueFrom ?? {};
      if (secret) return [[name, `Secret ${secret.name}`]];
      return map ? [[name, `ConfigMap ${map.name}`]] : [];
    }),
  );
}

export function withOrigin<Shown extends object>(shown: Shown, from: string | undefined): Shown {
  return from === undefined ? shown : { ...shown, from };
}

function digestOf({ owner, record }: Pick<Inputs, 'owner' | 'record'>, name: string, value: string): string {
  return owner.digestKey.digest({ variable: name, of: record.uid, value });
}
