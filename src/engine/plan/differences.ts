/**
 * Compares the desired with the observed value of each field. Only fields in the spec are compared. A field that the API
 * does not return is compared with the value that was last applied. Among the fields of a service (§2), image, command and port
 * are always returned.
 *
 * Three kinds of difference are not drift:
 *
 * - The spec changed since it was applied: the difference comes from the document.
 * - The field was sent, and no read has confirmed it yet (`unconfirmed`): it is on its way, or has no effect.
 * - The API normalizes the value, and showed that form in the response to the very request that sent it (`shownAs`). Then that
 *   form is expected. A response results from its request alone.
 */
import { sameValue, type DigestKey } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Owner } from './ownership.ts';
import type { Difference } from './types.ts';

export interface Field {
  readonly name: string;
  readonly path: string;
  readonly desired: unknown;
  /** undefined: the API does not return it. null: it has none. */
  readonly observed: unknown;
  /** Whether a different observed value is equivalent to the desired one. */
  readonly isAsGood?: (desired: unknown, observed: unknown) => boolean;
  /**
   * Whether the observed value may be the API's form of the desired one. The response to the request decides
   * it. A form that was shown before the request is not sufficient, because the response may have been lost.
   */
  readonly mayBeForm?: (desired: unknown, observed: unknown) => boolean;
  /** For a field that is fixed at creation and that the API resolves: its resolved value. */
  readonly resolved?: Resolved;
  /**
   * The field is sent if the API hides it and no value is recorded. The service was then found by its mark,
   * and may have been created from another document. Only for fields that can be set again.
   */
  readonly isSentUnknown?: true;
}

/**
 * The API may resolve a value: `auto` becomes `europe`. So a different observed value does not prove a
 * difference. An equal one proves that it is in place.
 */
export interface Resolved {
  /** Undefined if the API does not show it. */
  readonly shown: unknown;
  readonly matches: (desired: unknown) => boolean;
}

/** The part of a record that concerns fields that were sent. */
export type Remembered = Pick<ObjectRecord, 'applied' | 'unconfirmed' | 'shownAs'>;

export const hidden = '(not shown by the API)';

export function compareFields(
  fields: readonly Field[],
  record: Remembered,
  digestKey: DigestKey,
): Difference[] {
  const differences: Difference[] = [];
  for (const field of fields) {
    const { name, path, desired, observed } = field;
    if (desired === undefined) continue;
    const desiredDigest = digestKey.digest(desired);
    if (observed === undefined) {
      const { shown, matches = () => false } = field.resolved ?? {};
      const applied = record.applied[name];
      const isKnown = applied === desiredDigest || record.applied[atCreation(name)] === desiredDigest;
      const mayDiffer = applied === undefined ? field.isSentUnknown === true : !isKnown;
      if (mayDiffer && !matches(desired)) {
        differences.push({ path, desired, observed: shown ?? hidden, drift: false, hidden: true });
      }
    } else if (!isInPlace(field, record, digestKey)) {
      differences.push({ path, desired, observed, drift: isDrift(name, desiredDigest, record) });
    }
  }
  return differences;
}

function isInPlace(field: Field, record: Remembered, digestKey: DigestKey): boolean {
  const { name, desired, observed } = field;
  if (sameValue(desired, observed ?? emptyLike(desired)) || field.isAsGood?.(desired, observed)) return true;
  const shown = record.shownAs[name];
  return (
    shown !== undefined &&
    shown.desired === digestKey.digest(desired) &&
    shown.observed === shownDigest(field, digestKey)
  );
}

/**
 * Whether the observed value moved: the desired value is the one that was last applied, and a read has
 * confirmed it since.
 */
export function isDrift(name: string, desiredDigest: string, record: Remembered): boolean {
  return record.applied[name] === desiredDigest && !record.unconfirmed.includes(name);
}

/** null and an empty list both mean "none". */
function emptyLike(desired: unknown): unknown {
  return Array.isArray(desired) ? [] : null;
}

/**
 * Digests of the desired fields, to be recorded when they are applied or confirmed. An absent field is
 * recorded as well. So adding it to the spec later is a change, even if the API does not show it.
 */
export function fieldDigests(fields: readonly Field[], digestKey: DigestKey): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, desired, resolved }) => {
      const digest = digestKey.digest(desired);
      return resolved
        ? [[name, digest] as const, [atCreation(name), digest] as const]
        : [[name, digest] as const];
    }),
  );
}

/** The name under which the value of a field at creation is recorded. */
const atCreation = (name: string) => `asked:${name}`;

/** The digest of the field's value at creation, or when it was first in sync. */
export function appliedAtCreation(
  { applied }: Pick<ObjectRecord, 'applied'>,
  name: string,
): string | undefined {
  return applied[atCreation(name)];
}

/**
 * The recorded digests, updated with those that are in place now. The values at creation stay, because
 * returning to them changes nothing.
 */
export function rememberedDigests(
  { applied }: Pick<ObjectRecord, 'applied'>,
  digests: Readonly<Record<string, string>>,
): Record<string, string> {
  const asked = Object.entries(applied).filter(([name]) => name.startsWith(atCreation('')));
  return { ...applied, ...digests, ...Object.fromEntries(asked) };
}

/** The name of a tier, compared without case. */
export function regionField(desired: string, shown: string | null | undefined): Field {
  return { name: 'region', path: 'region', desired, observed: shown ?? undefined, isAsGood: isSameRegion };
}

export function isSameRegion(one: unknown, other: unknown): boolean {
  return String(one).toLowerCase() === String(other).toLowerCase();
}

/** Equal without case, or with a suffix. */
export function isFormOfName(asked: unknown, shown: unknown): boolean {
  if (typeof asked !== 'string' || typeof shown !== 'string') return false;
  const [one, other] = [asked.toLowerCase(), shown.toLowerCase()];
  return other.startsWith(one) && /^($|[^\p{L}\p{N}])/u.test(other.slice(one.length));
}

/** The location of a thing. `auto` is any. */
export function geographyField(desired: string | undefined, shown: string | null | undefined): Field {
  const matches = (asked: unknown) => asked === 'auto' || (typeof shown === 'string' && asked === shown);
  return {
    name: 'geography',
    path: 'geography',
    desired: desired ?? 'auto',
    observed: undefined,
    resolved: { shown: shown ?? undefined, matches },
  };
}

/**
 * What the API shows of the desired fields, as digests. If a field is in place, this is the digest of its
 * desired value.
 */
export function shownDigests(fields: readonly Field[], digestKey: DigestKey): Record<string, string> {
  return Object.fromEntries(
    fields
      .filter(({ desired, observed }) => desired !== undefined && observed !== undefined)
      .map((field) => [field.name, shownDigest(field, digestKey)]),
  );
}

/** The names of fields that the API may show in a form of its own (`mayBeForm`). */
export function possibleForms(fields: readonly Field[]): string[] {
  return fields
    .filter(({ desired, observed, mayBeForm }) => desired !== undefined && mayBeForm?.(desired, observed))
    .map(({ name }) => name);
}

function shownDigest({ desired, observed, isAsGood }: Field, digestKey: DigestKey): string {
  return digestKey.digest(isAsGood?.(desired, observed) ? desired : (observed ?? emptyLike(desired)));
}

/**
 * The drift is only reported. Either the field was sent again for this generation, or the provider may have
 * moved the revision by itself.
 */
export function isOnlyReported({ revisionMoved, isReportOnly }: Difference, record: ObjectRecord): boolean {
  return revisionMoved === true && (isReportOnly === true || record.resentFor === record.generation);
}

/** It was applied, is no longer in the spec, and is or may be still in place. */
export function isRemoved(
  { record, owner }: { readonly record: ObjectRecord; readonly owner: Owner },
  { name, desired, observed }: Field,
): boolean {
  const applied = record.applied[name];
  if (desired !== undefined || applied === undefined) return false;
  if (applied === owner.digestKey.digest(undefined)) return false;
  const isNone =
    observed === null || observed === 'never' || (Array.isArray(observed) && observed.length === 0);
  return !isNone;
}
