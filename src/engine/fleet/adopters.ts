/**
 * The documents that adopt one thing. One of them manages it, and the order of passes does not decide which: a plan and the run after it would
 * differ.
 *
 * | document | |
 * |---|---|
 * | its record has the id, or the thing carries its mark | manages it |
 * | else: in a cluster, the oldest; of equal age, and in a folder, that with the smallest key | comes first |
 * | its record has another id, it is being deleted, or its account is known to be another one | is no rival |
 * | in a cluster, it has an Account of its own that is not known to be the same account | the same: who writes into one namespace blocks nothing in another |
 */
import { canonicalId } from '../../base/index.ts';
import { accountObject, adoptersOf, type DesiredObject, type DesiredSnapshot } from '../../desired/index.ts';
import { accountPlaceOf, annotations, originOf, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { identifies, identityName } from '../plan/index.ts';

export interface Rival {
  readonly key: ObjectKey;
  /** The foreign owner whose mark it overrides. */
  readonly adoptFrom: string | undefined;
}

type Known = Pick<StateStore, 'record' | 'identityPin'>;

/** The documents that come before this one. `id`: what it adopts. */
export function rivalsOf(key: ObjectKey, id: string, { objects }: DesiredSnapshot, store: Known): Rival[] {
  const own = objects.get(key);
  if (!own) return [];
  return adoptersOf(objects, own.kind, canonicalId(id))
    .filter((other) => other.key !== key && isBefore(other, own) && mayAdopt(other.key, store))
    .filter((other) => !areApart(own, other, objects, store))
    .map((other) => ({ key: other.key, adoptFrom: other.annotations[annotations.adoptFrom] }));
}

function isBefore(one: DesiredObject, other: DesiredObject): boolean {
  const age = (one.cluster?.createdAt ?? 0) - (other.cluster?.createdAt ?? 0);
  return age === 0 ? one.key < other.key : age < 0;
}

function mayAdopt(key: ObjectKey, store: Known): boolean {
  const record = store.record(key);
  return record?.externalId === undefined && record?.deletionRequestedAt === undefined;
}

/** Their Accounts have other addresses, or are pinned to other accounts at the provider; in a cluster also, as long as one is not pinned. */
function areApart(
  one: DesiredObject,
  other: DesiredObject,
  objects: DesiredSnapshot['objects'],
  store: Known,
): boolean {
  const names = [one, other].map(({ key, spec }) => {
    const place = accountPlaceOf(key, spec);
    return 'account' in place ? place.account : '';
  });
  if (names[0] === names[1]) return false;
  const [left, right] = names.map((name) => {
    const pin = store.identityPin(name);
    const url = accountObject(objects, name)?.spec.url;
    return {
      origin: url === undefined ? undefined : originOf(url),
      identity: pin && identifies(pin) ? identityName(pin) : undefined,
    };
  });
  const isPinned = left?.identity !== undefined && right?.identity !== undefined;
  if (one.cluster && !isPinned) return true;
  return isOther(left?.origin, right?.origin) || isOther(left?.identity, right?.identity);
}

function isOther(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}
