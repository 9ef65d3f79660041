/**
 * Whether the steps of a plan file cost more now than when it was reviewed. Pure.
 *
 * | of an object of the file                                      | counts                                             |
 * |---------------------------------------------------------------|----------------------------------------------------|
 * | all steps are left, and the cost was known and is known       | what it adds to the hourly cost, then and now       |
 * | all steps are left, and the cost was known and is not any more | not: it is reported                                |
 * | its cost was not known, or the file has none                  | not: nobody has reviewed an amount                  |
 * | some steps are done                                           | not: the file has one amount for all of them        |
 *
 * Refused is a sum that is higher by more than one per cent of what the file adds, and by more than a cent an hour. Prices are those of the
 * comparison. What moves later is for budgets and for the floor of the account.
 */
import { usdOf } from '../engine/plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { PlannedObject } from './format.ts';

/** An object of the file of which all steps are left, and what is planned of it now. */
export interface CostPair {
  readonly planned: PlannedObject;
  readonly now: PlannedObject;
}

export interface ComparedCosts {
  /** Why the file costs too much now. Undefined: it does not. */
  readonly problem: string | undefined;
  /** Objects whose cost was known, and is not now. */
  readonly unpriced: readonly ObjectKey[];
}

const leastMicros = 10_000n;
const partOf = 100n;
const mostNamed = 5;

export function comparedCosts(pairs: readonly CostPair[]): ComparedCosts {
  const unpriced: ObjectKey[] = [];
  const grown: { readonly key: ObjectKey; readonly from: bigint; readonly to: bigint }[] = [];
  let [then, now, added] = [0n, 0n, 0n];
  for (const { planned, now: present } of pairs) {
    const from = addedMicros(planned);
    if (from === undefined) continue;
    const to = addedMicros(present);
    if (to === undefined) {
      unpriced.push(planned.key);
      continue;
    }
    then += from;
    now += to;
    if (from > 0n) added += from;
    if (to > from) grown.push({ key: planned.key, from, to });
  }
  const tolerance = added / partOf > leastMicros ? added / partOf : leastMicros;
  if (now - then <= tolerance) return { problem: undefined, unpriced };
  const names = grown
    .toSorted((left, right) => Number(right.to - right.from - (left.to - left.from)))
    .slice(0, mostNamed)
    .map(({ key, from, to }) => `${nameOf(key)} ${signed(from)} → ${signed(to)}`);
  const more = grown.length > mostNamed ? ` and ${grown.length - mostNamed} more` : '';
  const problem =
    `its steps change the cost by ${signed(now)} now, and by ${signed(then)} when the plan was made; prices have moved since: ` +
    `${names.join(', ')}${more}`;
  return { problem, unpriced };
}

/** Micro-USD per hour. Undefined: it has no cost, or one with an unknown part. */
function addedMicros({ cost }: PlannedObject): bigint | undefined {
  if (!cost || cost['basis'] === 'unknown') return undefined;
  const { deltaMicros } = cost;
  return Number.isSafeInteger(deltaMicros) ? BigInt(deltaMicros as number) : undefined;
}

function signed(micros: bigint): string {
  return `${micros < 0n ? '-' : '+'}${usdOf(micros < 0n ? -micros : micros)}/h`;
}

function nameOf(key: ObjectKey): string {
  const { kind, namespace, name } = parseObjectKey(key);
  return `${kind} ${namespace}/${name}`;
}
