/** The values of Secrets and ConfigMaps, wrapped so that nothing prints them. */
import { Sensitive, sameValue } from '../base/index.ts';
import {
  annotations,
  configMapDocument,
  readOrigins,
  secretDocument,
  valueLimits,
} from '../resources/index.ts';
import { explain, plainWords, showable, type Finding } from './explain.ts';

/** Why values can't be used, although they may exist. So they are not left out where they are `optional`. */
export interface DataFault {
  readonly reason: 'DuplicateSecret' | 'InvalidReference';
  readonly message: string;
  readonly remedy: string;
  /** It has not been read yet: that passes by itself. */
  readonly isUnread?: true;
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
  const { metadata, stringData } = checked.data;
  const faults = new Map<string, DataFault>();
  const whole = `Secret ${metadata.name}`;
  for (const [key, encoded] of Object.entries(checked.data.data ?? {})) {
    const fault = tooLarge(whole, key, Math.floor(encoded.length * 0.75));
    if (fault) {
      faults.set(key, fault);
      continue;
    }
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
  addTexts(whole, stringData ?? {}, data, faults);
  const named = metadata.annotations?.[annotations.allowedOrigins];
  return Object.assign(
    data,
    named === undefined ? {} : { allowedOrigins: originsIn(named, findings) },
    faults.size === 0 ? {} : { faults },
  );
}

/** A later one of the same key counts. */
function addTexts(
  whole: string,
  texts: Readonly<Record<string, string>>,
  data: Map<string, Sensitive<string>>,
  faults: Map<string, DataFault>,
): void {
  for (const [key, text] of Object.entries(texts)) {
    const fault = tooLarge(whole, key, Buffer.byteLength(text));
    data.delete(key);
    faults.delete(key);
    if (fault) faults.set(key, fault);
    else data.set(key, new Sensitive(text));
  }
}

/** Of the key alone: where nothing refers to it, it disturbs nobody. */
function tooLarge(whole: string, key: string, bytes: number): DataFault | undefined {
  if (bytes <= valueLimits.valueBytes) return undefined;
  const [has, most] = [bytes, valueLimits.valueBytes].map((each) => Math.ceil(each / 1024));
  return {
    reason: 'InvalidReference',
    message: `the value under \`${key}\` of the ${whole} has ${has} KiB, and at most ${most} KiB are used`,
    remedy: 'refer to a smaller value; put what is large into the image or a volume',
  };
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
  const data = new Map<string, Sensitive<string>>();
  const faults = new Map<string, DataFault>();
  addTexts(`ConfigMap ${checked.data.metadata.name}`, checked.data.data ?? {}, data, faults);
  return faults.size === 0 ? data : Object.assign(data, { faults });
}

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
