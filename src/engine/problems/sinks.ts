/** The sink of a Notification, with what Secrets have of it. It is read for each attempt, so a rotated key is used at once. */
import type { Sensitive } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { SecretKey, SinkReference } from '../../resources/index.ts';

export interface Sink {
  readonly form: SinkReference['form'];
  readonly url: Sensitive<string>;
  readonly signingKey: Sensitive<string> | undefined;
}

export interface SinkProblem {
  readonly reason: 'InvalidReference' | 'DuplicateSecret';
  readonly message: string;
}

/** A line break at the end of a value, as editors write it, is no part of it. */
export function resolveSink(
  { form, url, signingKey }: SinkReference,
  namespace: string,
  snapshot: Pick<DesiredSnapshot, 'secrets'>,
): Sink | SinkProblem {
  const address = valueOf(url, namespace, snapshot);
  if ('reason' in address) return address;
  const key = signingKey && valueOf(signingKey, namespace, snapshot);
  if (key && 'reason' in key) return key;
  return { form, url: address, signingKey: key };
}

function valueOf(
  { name, key }: SecretKey,
  namespace: string,
  { secrets }: Pick<DesiredSnapshot, 'secrets'>,
): Sensitive<string> | SinkProblem {
  const secret = secrets.get(`${namespace}/${name}`);
  const whole = `Secret ${name} in the namespace ${namespace}`;
  if (!secret) {
    const message = `no usable ${whole}; add it with the key \`${key}\` (or fix it, if it exists)`;
    return { reason: 'InvalidReference', message };
  }
  const fault = secret.fault ?? secret.faults?.get(key);
  if (fault) return { reason: fault.reason, message: `${fault.message}; ${fault.remedy}` };
  const value = secret.get(key);
  if (value && value.reveal().trim() !== '') return value;
  const message = `the ${whole} has nothing under \`${key}\`; add it under data or stringData, or name another key`;
  return { reason: 'InvalidReference', message };
}
