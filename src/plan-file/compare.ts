/**
 * Compares a plan file with what would be planned now, object by object, before anything is sent. Pure.
 *
 * | found                                                         | result                                                |
 * |---------------------------------------------------------------|-------------------------------------------------------|
 * | same steps, same fingerprints                                 | continues                                             |
 * | the same, and what they change is not what it was then        | refused, with the value of then and of now (stale.ts) |
 * | fewer steps, in the same order                                | continues, and reports them: they are done already    |
 * | an update of a fleet, and a state that does not remember it   | refused: what its replicas had can't be compared      |
 * | other or more steps for an object of the file                 | refused, with the planned, the present, and since when |
 * | the same steps cost more than they did                        | refused (costs.ts)                                    |
 * | objects outside the file need something                       | they stay as they are, and are counted; `--strict`: refused |
 * | a document's digest differs, the steps are the same           | continues, and reports it                             |
 * | another identity of an account; expired; another digest than was given; unknown format | refused                      |
 * | completed before                                              | refused                                               |
 * | started before, and not completed                             | continues                                             |
 *
 * The revision of the whole state is not compared, and that of an object only where it is all that is shown: what somebody else does
 * elsewhere is no reason to review again.
 *
 * | case                                             |                                                                      |
 * |--------------------------------------------------|----------------------------------------------------------------------|
 * | the source changes while the file is applied     | it is read once, before the comparison; the next run sees the change  |
 * | the account changes while the file is applied    | the object is planned again before each request, and what the file lacks is not sent (guard.ts) |
 * | the file was edited                              | its digest differs (format.ts)                                        |
 * | two `apply` at once                              | the lock of the state file lets one of them work                      |
 * | the clock reaches `expiresAt` meanwhile          | requests under way end, and no step begins (guard.ts): exit 5         |
 * | an object vanished from the source               | it is to be deleted now: refused. If it was never made, nothing is left of its steps, and that is reported |
 * | an object vanished at the provider               | it is to be made anew now: refused                                    |
 * | the outcome of a mutation is not known           | what is needed is not known. It is settled first, and then each step is compared before it is sent |
 * | the API key was replaced since                   | values can't be compared: refused, and called that. Without values in the file it is of no importance |
 * | a Secret is not there                            | the object is held (`InvalidReference`), and the others continue       |
 * | another version has written the document         | its digest differs, and is reported; the steps decide                 |
 * | a name with control characters                   | is shown with escapes, as everywhere                                  |
 */
import { rfc3339 } from '../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { comparedCosts } from './costs.ts';
import type { PlanFile, PlannedObject, PlannedStep } from './format.ts';
import type { PlannedNow } from './planned-objects.ts';
import { coversRoster, rosterSteps } from './rosters.ts';
import { staleTexts } from './stale.ts';

export interface Present {
  readonly planned: PlannedNow;
  /** The digest of a document now. Null: it is gone. */
  readonly documentDigest: (key: ObjectKey) => string | null;
  /** The state remembers the object from an earlier run. */
  readonly remembers: (key: ObjectKey) => boolean;
  readonly accounts: ReadonlyMap<ObjectKey, PresentAccount>;
  /** Unix milliseconds since when somebody else's change of it is known. */
  readonly since: (key: ObjectKey) => number | undefined;
  /** What the state knows of the file. */
  readonly known: { readonly completedAt?: number | undefined } | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export interface PresentAccount {
  readonly identityId: string | null;
  readonly keyCheck: string;
}

export interface Asked {
  /** As somebody else has passed it on. */
  readonly digest: string | undefined;
  readonly strict: boolean;
}

export interface Refusal {
  /** Undefined: it is about the whole file. */
  readonly key?: ObjectKey;
  readonly message: string;
}

export interface Verdict {
  /** Nothing may be sent if there is one. */
  readonly refusals: readonly Refusal[];
  /** Objects of which fewer steps are left than the file has. */
  readonly fewer: readonly { readonly key: ObjectKey; readonly left: number; readonly of: number }[];
  /** Objects whose documents have changed without another step. */
  readonly documents: readonly ObjectKey[];
  /** What they need is not known yet. */
  readonly unknown: readonly ObjectKey[];
  /** Objects that are not in the file, and need something. */
  readonly outside: readonly ObjectKey[];
  /** Objects whose cost was known when the plan was made, and is not now. */
  readonly unpriced: readonly ObjectKey[];
}

const nothing = { fewer: [], documents: [], unknown: [], outside: [], unpriced: [] } as const;

export function compare(file: PlanFile, present: Present, asked: Asked): Verdict {
  const ofFile = refusedFile(file, present, asked);
  if (ofFile.length > 0) return { refusals: ofFile, ...nothing };
  const { planned, documentDigest } = present;
  const compared = file.objects.map((object) => ({ object, ...comparedObject(object, present) }));
  const keys = new Set<ObjectKey>(file.objects.map(({ key }) => key));
  const outside = [...planned.objects.keys(), ...planned.held.keys()].filter((key) => !keys.has(key));
  const strict = asked.strict
    ? outside.map((key) => ({ key, message: 'it needs something, and is not in the plan file' }))
    : [];
  const { problem, unpriced } = comparedCosts(
    compared.flatMap(({ object, now, left, of }) => (now && left === of ? [{ planned: object, now }] : [])),
  );
  const costly = problem === undefined ? [] : [{ message: problem }];
  return {
    refusals: [...compared.flatMap(({ refusal }) => refusal ?? []), ...strict, ...costly],
    fewer: compared.flatMap(({ object: { key }, left, of }) => (left < of ? [{ key, left, of }] : [])),
    documents: file.objects
      .filter((object) => object.documentDigest !== documentDigest(object.key))
      .map(({ key }) => key),
    unknown: planned.unknown.filter((key) => keys.has(key)),
    outside,
    unpriced,
  };
}

function refusedFile(file: PlanFile, { known, accounts, nowMs }: Present, { digest }: Asked): Refusal[] {
  if (digest !== undefined && digest !== file.digest) {
    return [{ message: `it has the digest ${file.digest}, and --plan-digest is ${digest}` }];
  }
  if (known?.completedAt !== undefined) {
    return [{ message: `it was applied at ${rfc3339(known.completedAt)}` }];
  }
  if (nowMs >= Date.parse(file.expiresAt)) return [{ message: `it has expired at ${file.expiresAt}` }];
  return file.accounts.flatMap(({ key, identityId, keyCheck }): Refusal[] => {
    const account = accounts.get(key);
    if (!account) return [{ key, message: 'the plan is about this account, and it is not there any more' }];
    if (account.identityId !== identityId) {
      const message = `the key belongs to another account than when the plan was made: ${account.identityId ?? 'unknown'}, not ${identityId ?? 'unknown'}`;
      return [{ key, message }];
    }
    if (keyCheck === undefined || keyCheck === account.keyCheck) return [];
    return [
      { key, message: 'the API key was replaced since the plan was made, so its values can not be compared' },
    ];
  });
}

interface ComparedObject {
  /** What is planned of it now, if the file covers it. */
  readonly now?: PlannedObject;
  readonly refusal?: Refusal;
  readonly left: number;
  readonly of: number;
}

function comparedObject(object: PlannedObject, present: Present): ComparedObject {
  const { key } = object;
  const { planned, since } = present;
  const steps = allSteps(object);
  const all = { left: steps.length, of: steps.length };
  const isComparable = present.remembers(key) || !rosterSteps(object)?.update;
  if (!isComparable) return { ...all, refusal: { key, message: unremembered } };
  if (planned.unknown.includes(key) || planned.open.has(key)) return all;
  const now = planned.objects.get(key) ?? planned.held.get(key);
  if (!now) return { left: 0, of: steps.length };
  const isPlanned = isCovered(object, now);
  const stale = staleTexts(object, now);
  if (isPlanned && stale.length === 0) return { now, left: countOf(now), of: countOf(object) };
  const changedAt = since(key);
  const at = changedAt === undefined ? '' : `; it differs since ${rfc3339(changedAt)}`;
  const what = [...(isPlanned ? [] : [otherText(object, now)]), ...stale].join('; ');
  const message = `${what}${movedText(object, now)}${at}`;
  return { refusal: { key, message }, left: steps.length, of: steps.length };
}

const unremembered =
  'it would update replicas, and this state does not remember what they had when the plan was made; apply the file with the state that it was made with';

function otherText(object: PlannedObject, now: PlannedObject): string {
  const [needed, inPlan] = [stepsText(now), stepsText(object)];
  return needed === inPlan
    ? `it needs other values now than the plan has for ${needed}`
    : `it needs other steps now: ${needed}, and the plan has ${inPlan}`;
}

function allSteps({ steps, later }: PlannedObject): readonly PlannedStep[] {
  return [...steps, ...later];
}

/** Of a fleet, replicas; what may follow if it fails is not counted. */
function countOf(object: PlannedObject): number {
  const { steps } = object;
  const counts = steps.flatMap(({ count }) => count ?? []);
  return counts.length > 0 ? counts.reduce((sum, count) => sum + count, 0) : allSteps(object).length;
}

function isCovered(planned: PlannedObject, now: PlannedObject): boolean {
  const roster = rosterSteps(planned);
  return roster ? coversRoster(roster, now) : isInOrder(allSteps(planned), allSteps(now));
}

/** All present steps are among the planned ones, and follow each other as there. */
export function isInOrder(
  planned: readonly Pick<PlannedStep, 'fingerprint'>[],
  now: readonly Pick<PlannedStep, 'fingerprint'>[],
): boolean {
  let from = 0;
  return now.every(({ fingerprint }) => {
    const at = planned.findIndex((step, index) => index >= from && step.fingerprint === fingerprint);
    from = at + 1;
    return at !== -1;
  });
}

export function stepsText(object: PlannedObject): string {
  const texts = allSteps(object).map(({ action, count, fields }) => {
    const paths = fields.map(({ path }) => path);
    const shown = paths.slice(0, 5).join(', ');
    const number = count === undefined ? '' : ` ${count}`;
    return `${action}${number}${paths.length > 0 ? ` (${shown}${paths.length > 5 ? ', …' : ''})` : ''}`;
  });
  return texts.length === 0 ? 'none' : texts.join(', then ');
}

function movedText({ before }: PlannedObject, { before: now }: PlannedObject): string {
  const moved = [
    ...(before.externalId === now.externalId
      ? []
      : [`id ${before.externalId ?? 'none'} to ${now.externalId ?? 'none'}`]),
    ...(before.revision === now.revision
      ? []
      : [`revision ${before.revision ?? 'none'} to ${now.revision ?? 'none'}`]),
    ...(before.state === now.state ? [] : [`state ${before.state ?? 'none'} to ${now.state ?? 'none'}`]),
  ];
  return moved.length === 0 ? '' : `; moved since: ${moved.join(', ')}`;
}

export function refusalText({ key, message }: Refusal): string {
  if (key === undefined) return message;
  const { kind, namespace, name } = parseObjectKey(key);
  return `${kind} ${namespace}/${name}: ${message}`;
}
