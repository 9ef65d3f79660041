import { createHash, createHmac, createSecretKey, hash, scryptSync } from 'node:crypto';
import type { Random } from './random.ts';

/**
 * JSON with sorted object keys and without undefined members: equal values give equal text, whatever
 * the order in which their members were written.
 */
export function stableJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/**
 * A copy: it takes half the time of a replacer of `JSON.stringify`. It has no prototype. So `__proto__` is a member like others, and V8 does
 * not look for the shape of an object with as many members, which would double the time for a document.
 */
function sorted(value: unknown): unknown {
  if (!hasMembers(value)) return value;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value['toJSON'] === 'function') return sorted((value as { toJSON(): unknown }).toJSON());
  const copy = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(value).sort()) copy[name] = sorted(value[name]);
  return copy;
}

/** Whether both give the same text: found out member by member, up to the first difference, without a copy of anything. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && sameItems(left, right);
  }
  return hasMembers(left) && hasMembers(right) && sameMembers(left, right);
}

function sameItems(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at += 1) if (!sameValue(left[at], right[at])) return false;
  return true;
}

type Members = Readonly<Record<string, unknown>>;

function sameMembers(left: Members, right: Members): boolean {
  let only = 0;
  for (const name of Object.keys(left)) {
    const value = left[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(right, name) || !sameValue(value, right[name])) return false;
    only += 1;
  }
  for (const name of Object.keys(right)) if (right[name] !== undefined) only -= 1;
  return only === 0;
}

function hasMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

/** Hex SHA-256 of a text that holds no secret, as `sha256sum` computes it. */
export function textDigest(text: string): string {
  return hash('sha256', text);
}

/** Hex SHA-256 of a value that holds no secret. */
export function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(stableJson(value) ?? 'undefined')
    .digest('hex');
}

/**
 * A keyed digest, for values that may hold secrets: without the key a guess can't be checked against it. The key id
 * shows which key made a digest; a digest of another key proves nothing.
 */
export interface DigestKey {
  /** 8 hex digits, derived from the key. */
  readonly id: string;
  /** 16 hex digits of HMAC-SHA-256. */
  digest(value: unknown): string;
  /** 64 hex digits: that who wrote the value has the key. */
  sign(value: unknown): string;
  /** Only this process has it. The state that is yet to be made gets another one. */
  readonly isProvisional?: true;
}

const mostKnown = 4000;

/**
 * Remembers what it has digested lately: services of one fleet differ in few fields, so nine of ten digests of `plan` and `apply` are of a
 * text that was met before. No text is kept, since it may be a secret that is withdrawn, but a fingerprint under the key.
 */
export function digestKey(key: Buffer): DigestKey {
  // From a buffer Node would make one for each digest, which takes four times as long as the digest itself.
  const secret = createSecretKey(key);
  const salt = key.toString('hex');
  const known = new Map<string, string>();
  const hmac = (text: string) => {
    const fingerprint = hash('sha256', salt + text, 'base64');
    const before = known.get(fingerprint);
    if (before !== undefined) return before;
    if (known.size >= mostKnown) known.clear();
    const digest = createHmac('sha256', secret).update(text).digest('hex');
    known.set(fingerprint, digest);
    return digest;
  };
  return {
    id: hmac('fleetkeeper key id').slice(0, 8),
    digest: (value) => hmac(`value:${stableJson(value) ?? 'undefined'}`).slice(0, 16),
    sign: (value) => hmac(`signed:${stableJson(value) ?? 'undefined'}`),
  };
}

/** For a process that only reads, where no state has a key yet. */
export function provisionalKey(random: Random): DigestKey {
  return { ...digestKey(random.bytes(32)), isProvisional: true };
}

/** The bytes of a digest key made of a random text that a person supplies. */
export function suppliedKeyBytes(text: string): Buffer {
  return createHmac('sha256', 'fleetkeeper digest key').update(text).digest();
}

/**
 * The bytes of a digest key made of credentials, and of a public name that keeps keys apart. Marks at the provider hold digests of the
 * key, so a guess at a credential can be checked against them: each guess costs as much as scrypt does (some 50 ms).
 */
export function credentialKeyBytes(credentials: readonly string[], name: string): Buffer {
  return scryptSync(stableJson(credentials), `fleetkeeper digest key of ${name}`, 32, {
    N: 2 ** 14,
    r: 8,
    p: 1,
  });
}
