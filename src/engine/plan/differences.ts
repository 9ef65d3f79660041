/**
 * Field by field: the desired against the observed value. Only fields that the spec gives are compared. A field that
 * the API does not return is compared with what was last applied; of the known fields of a service (§2), image,
 * command and port are not among them.
 *
 * Three things are no drift, however the observed value differs:
 *
 * - The spec has changed since it was applied: the difference comes from the document.
 * - The field was sent, and has not been seen in place since (`unconfirmed`): it is on its way, or has no effect.
 * - The API shows the value in another form than it was sent in, and did so in the answer to that very request (`shownAs`). Then
 *   that form is expected. An answer results from its request alone.
 */
import { sameValue, type DigestKey } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Owner } from './ownership.ts';
import type { Difference } from './types.ts';

export interface Field {
  readonly name: string;
  readonly path: string;
  readonly desired: unknown;
  /** undefined: the API does not return it; null: it has none. */
  readonly observed: unknown;
  /** Other values than the same one that are as good. */
  readonly isAsGood?: (desired: unknown, observed: unknown) => boolean;
  /**
   * Whether the API may write the desired value so. It does when the answer to a request that sent it shows that, even where that was
   * shown before: an answer that was lost has shown nothing.
   */
  readonly mayBeForm?: (desired: unknown, observed: unknown) => boolean;
  /** Of a field that is fixed at creation, and that the API resolves: how it did. */
  readonly resolved?: Resolved;
  /**
   * Where the API hides it and nothing is written down of it, it is sent: the service was found by its mark, and may have had another
   * document before. For what can be set again, and not for what is fixed.
   */
  readonly isSentUnknown?: true;
}

/**
 * The API may answer in another form than it was asked (`auto` is in `europe`). So its value is no proof of a
 * difference. It can prove the opposite: a value that is written as it is shown is in place.
 */
export interface Resolved {
  /** Undefined when the API does not show it. */
  readonly shown: unknown;
  readonly meets: (desired: unknown) => boolean;
}

/** What is remembered of fields that were sent. */
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
      const { shown, meets = () => false } = field.resolved ?? {};
      const applied = record.applied[name];
      const isKnown = applied === desiredDigest || record.applied[askedFor(name)] === desiredDigest;
      const mayDiffer = applied === undefined ? field.isSentUnknown === true : !isKnown;
      if (mayDiffer && !meets(desired)) {
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

/** What was applied is still what is desired, and was seen in place: it is the observed value that moved. */
export function isDrift(name: string, desiredDigest: string, record: Remembered): boolean {
  return record.applied[name] === desiredDigest && !record.unconfirmed.includes(name);
}

/** null and an empty list both mean "none". */
function emptyLike(desired: unknown): unknown {
  return Array.isArray(desired) ? [] : null;
}

/**
 * What the spec asks for, as digests to be remembered once it has been applied or seen in place. That it asks for
 * nothing is remembered, too: a field that it gives later is then a change, even where the API does not show it.
 */
export function fieldDigests(fields: readonly Field[], digestKey: DigestKey): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, desired, resolved }) => {
      const digest = digestKey.digest(desired);
      return resolved
        ? [[name, digest] as const, [askedFor(name), digest] as const]
        : [[name, digest] as const];
    }),
  );
}

/** The name under which is remembered what a creation asked for, whatever the field was given as since. */
const askedFor = (name: string) => `asked:${name}`;

/** With the digests of what is in place now. The values of the creation stay: a return to them changes nothing. */
export function rememberedDigests(
  { applied }: Pick<ObjectRecord, 'applied'>,
  digests: Readonly<Record<string, string>>,
): Record<string, string> {
  const asked = Object.entries(applied).filter(([name]) => name.startsWith(askedFor('')));
  return { ...applied, ...digests, ...Object.fromEntries(asked) };
}

/** The name of a tier, in any case of letters. */
export function regionField(desired: string, shown: string | null | undefined): Field {
  return { name: 'region', path: 'region', desired, observed: shown ?? undefined, isAsGood: isSameRegion };
}

export function isSameRegion(one: unknown, other: unknown): boolean {
  return String(one).toLowerCase() === String(other).toLowerCase();
}

/** In another case of letters, or with something behind it. */
export function isFormOfName(asked: unknown, shown: unknown): boolean {
  if (typeof asked !== 'string' || typeof shown !== 'string') return false;
  const [one, other] = [asked.toLowerCase(), shown.toLowerCase()];
  return other.startsWith(one) && /^($|[^\p{L}\p{N}])/u.test(other.slice(one.length));
}

/** Where a thing is to be. `auto` is any place. */
export function geographyField(desired: string | undefined, shown: string | null | undefined): Field {
  const meets = (asked: unknown) => asked === 'auto' || (typeof shown === 'string' && asked === shown);
  return {
    name: 'geography',
    path: 'geography',
    desired: desired ?? 'auto',
    observed: undefined,
    resolved: { shown: shown ?? undefined, meets },
  };
}

/** What the API shows of the fields that the spec gives. For one that is in place it is the digest of what is desired. */
export function shownDigests(fields: readonly Field[], digestKey: DigestKey): Record<string, string> {
  return Object.fromEntries(
    fields
      .filter(({ desired, observed }) => desired !== undefined && observed !== undefined)
      .map((field) => [field.name, shownDigest(field, digestKey)]),
  );
}

/** The names of those that the API shows in what may be a form of its own (`mayBeForm`). */
export function possibleForms(fields: readonly Field[]): string[] {
  return fields
    .filter(({ desired, observed, mayBeForm }) => desired !== undefined && mayBeForm?.(desired, observed))
    .map(({ name }) => name);
}

function shownDigest({ desired, observed, isAsGood }: Field, digestKey: DigestKey): string {
  return digestKey.digest(isAsGood?.(desired, observed) ? desired : (observed ?? emptyLike(desired)));
}

/**
 * The field was sent again for this generation, or the service may have moved the revision by itself: the drift is
 * only reported.
 */
export function isOnlyTold({ doubt, onlyTold }: Difference, record: ObjectRecord): boolean {
  return doubt === true && (onlyTold === true || record.resentFor === record.generation);
}

/** It was applied, is not asked for, and is, or may be, still there. */
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
