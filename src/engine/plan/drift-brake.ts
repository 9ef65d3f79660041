/**
 * The brake for corrections. For example, a provider begins to show a field in another form: then every object drifts at
 * once, and correcting that would restart a fleet for nothing. So a difference that appears on more than `max(5, 10 %)` of an
 * account's objects within ten minutes is reported, and waits for an operator.
 *
 *     corrected ── it appears on too many ──> MassDrift ── they no longer have it, or an operator confirms ──> corrected
 *
 * Two differences are the same if their kind of object, field and kind of drift are, whatever the values. A difference from
 * an edited document is not drift, and is not stopped. Other drift of the same objects is not stopped either, unless one
 * request would correct both: the environment of a service, and a whole template, are sent at once.
 */
import { holdFor, type Difference, type Hold, type Step } from './types.ts';

export const massDriftReason = 'MassDrift';
/** Changes within this time count together. */
export const massDriftWindowMs = 600_000;

/** A difference that appears on too many objects. */
export interface MassDrift {
  readonly objects: number;
  readonly of: number;
  readonly limit: number;
  readonly account: string;
  /** How an operator allows the correction. */
  readonly advice: string;
}

/** Undefined if the difference may be corrected. */
export type DriftBrake = (difference: Difference) => MassDrift | undefined;

export function driftSignature(kind: string, { path, revisionMoved }: Difference): string {
  return `${kind} ${path} ${revisionMoved ? 'RevisionMoved' : 'Changed'}`;
}

/** For an object that needs nothing else. `kept`: what would be corrected. */
export function holdForMassDrift(
  kept: readonly Difference[],
  brake: DriftBrake,
  rest: { readonly steps: readonly Step[]; readonly differences: readonly Difference[] },
): Hold | undefined {
  const braked = kept.filter((difference) => brake(difference));
  const mass = braked[0] && brake(braked[0]);
  if (!mass) return undefined;
  const paths = braked.map(({ path }) => path).join(', ');
  return holdFor(
    massDriftReason,
    `${paths} changed on ${mass.objects} of ${mass.of} objects of the account ${mass.account} at once (the limit is ${mass.limit}): ` +
      'the provider may show a value in another form, so it is reported and not corrected. Write the documents as the API shows it, or leave them; ' +
      `to have it corrected, ${mass.advice}`,
    rest,
  );
}
