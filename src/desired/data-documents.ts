/** The values of Secrets and ConfigMaps, wrapped so that nothing prints them. */
import { Sensitive, sameValue } from '../base/index.ts';
import { annotations, configMapDocument, readOrigins, secretDocument } from '../resources/index.ts';
import { explain, plainWords, showable, type Finding } from './explain.ts';

/** Why values can't be used, although they may exist. So they are not left out where they are `optional`. */
export interface DataFault {
  readonly reason: 'DuplicateSecret' | 'InvalidReference';
  readonly message: string;
  readonly remedy: string;
}

/** By key. */
export interface SecretData extends ReadonlyMap<string, Sensitive<string>> {
  /** The only origins that it may be sent to. Undefined: any. */
  readonly allowedOrigins?: readonly string[];
  /** Of all keys. */
  readonly fault?: DataFault;
  /** Of single keys, which it does not have. */
  readonly faults?: ReadonlyMap<string, DataFault>;
}

/** A Secret or ConfigMap of which nothing can be used. */
export function faulty(fault: DataFault): SecretData {
  return Object.assign(new Map<string, Sensitive<string>>(), { fault });
}

/** Those of `--secrets-dir` are made anew with each reading while they have a fault. */
export function sameData(left: SecretData, right: SecretData): boolean {
  return left === right || (left.fault !== undefined && sameValue(left.fault, right.fault));
}

export function secretData(value: unknown, findings: Finding[]): SecretData | undefined {
  const checked = secretDocument.safeParse(value, { error: plainWords });
  if (!checked.success) {
    findings.push(...explain(checked.error.issues, { schema: secretDocument }, value));
    return undefined;
  }
  const data = new Map<string, Sensitive<string>>();
  for (const [key, encoded] of Object.entries(checked.data.data ?? {})) {
    const text = decodeUtf8(Buffer.from(encoded, 'base64'));
    if (text !== undefined) data.set(key, new Sensitive(text));
    else {
      const message = 'is not text (UTF-8), so no variable can take it';
      findings.push({
        path: showable(['data', key], value),
        message,
        remedy: 'correct the base64, or remove it',
      });
    }
  }
  for (const [key, text] of Object.entries(checked.data.stringData ?? {})) data.set(key, new Sensitive(text));
  const named = checked.data.metadata.annotations?.[annotations.allowedOrigins];
  return named === undefined ? data : Object.assign(data, { allowedOrigins: originsIn(named, findings) });
}

/** A misspelt origin allows nothing. */
function originsIn(named: unknown, findings: Finding[]): readonly string[] {
  const { origins, wrong } = readOrigins(typeof named === 'string' ? named : '?');
  for (const text of wrong) {
    findings.push({
      path: ['metadata', 'annotations', annotations.allowedOrigins],
      message: `"${text}" is no origin`,
      remedy: 'write scheme, host and port only, as https://api.example.com or https://api.example.com:8443',
    });
  }
  return origins;
}

export function configMapData(value: unknown, findings: Finding[]): SecretData | undefined {
  const checked = configMapDocument.safeParse(value, { error: plainWords });
  if (!checked.success) {
    findings.push(...explain(checked.error.issues, { schema: configMapDocument }, value));
    return undefined;
  }
  return new Map(Object.entries(checked.data.data ?? {}).map(([key, text]) => [key, new Sensitive(text)]));
}

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
