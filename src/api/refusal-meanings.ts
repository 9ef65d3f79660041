/**
 * The meaning of a refusal. The contract gives neither the codes of errors nor which condition has which status (§7
 * "Gaps"). So a meaning is sought in this order, and the first one counts:
 *
 * - the account's own rules (`Account.spec.refusals`)
 * - the status, where it is unambiguous: 401, and 408 and 425
 * - `error.code`, in any letter case and with any separators
 * - the text of `error.message`
 * - the status
 *
 * A 503 is an outage unless code or message mention capacity, funds, room or the e-mail address. A meaning only
 * decides whether, when and with which reason the request is sent again; a refused request never counts as applied.
 *
 * An outage or a conflict whose own text leaves open what becomes of the request is no refusal: a gateway's time-out, "may still be carried out".
 */

/** Those that a rule may name; `kinds/account/schema-refusals.ts` has them, too, and a test holds the two lists together. */
export const refusalMeanings = [
  'CapacityUnavailable',
  'InsufficientFunds',
  'LimitReached',
  'EmailUnverified',
  'RevisionConflict',
  'StateConflict',
  'KeyConflict',
  'Validation',
  'NotFound',
  'Forbidden',
  'CredentialRejected',
  'RateLimited',
  'Unavailable',
] as const;
/**
 * `KeyInUse`: what was sent with the same key before may still take effect. `OutcomeUnknown`: this request may. `Conflict`: one of an unknown kind.
 */
export type RefusalMeaning = (typeof refusalMeanings)[number] | 'KeyInUse' | 'OutcomeUnknown' | 'Conflict';

export interface RefusalRule {
  readonly meaning: (typeof refusalMeanings)[number];
  /** Whole codes; letter case and separators do not matter. */
  readonly codes?: readonly string[] | undefined;
  /** Parts of messages, in any letter case. */
  readonly messages?: readonly string[] | undefined;
  readonly statuses?: readonly number[] | undefined;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export function meaningOf(refusal: Refusal, rules: readonly RefusalRule[] = []): RefusalMeaning {
  const { status, code, message } = refusal;
  const own = rules.find((rule) => matches(rule, refusal));
  if (own) return own.meaning;
  const certain = certainStatuses.get(status);
  if (certain) return certain;
  const text = message.slice(0, longestChecked).toLowerCase();
  return byCode(plainCode(code), status) ?? byMessage(text, status) ?? statuses.get(status) ?? 'Validation';
}

function matches(
  { codes, messages, statuses: given }: RefusalRule,
  { status, code, message }: Refusal,
): boolean {
  const own = plainCode(code);
  const text = message.toLowerCase();
  return (
    (codes === undefined || codes.some((one) => plainCode(one) === own)) &&
    (messages === undefined || messages.some((one) => text.includes(one.toLowerCase()))) &&
    (given === undefined || given.includes(status))
  );
}

const longestChecked = 2000;

/** `CapacityUnavailable`, `CAPACITY-UNAVAILABLE` and `capacity unavailable` are `capacity_unavailable`. */
function plainCode(code: string): string {
  return code
    .slice(0, 200)
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

const certainStatuses: ReadonlyMap<number, RefusalMeaning> = new Map([
  [401, 'CredentialRejected'],
  [408, 'Unavailable'],
  [425, 'Unavailable'],
]);

/** Any other 4xx is `Validation`. */
const statuses: ReadonlyMap<number, RefusalMeaning> = new Map([
  [402, 'InsufficientFunds'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [410, 'NotFound'],
  [412, 'RevisionConflict'],
  [423, 'StateConflict'],
  [429, 'RateLimited'],
  [503, 'Unavailable'],
]);

// ---- codes ---------------------------------------------------------------------------------------------

interface Pattern {
  readonly meaning: RefusalMeaning;
  readonly pattern: RegExp;
  /** With these statuses only; without it with any but 429 and 503. */
  readonly statuses?: readonly number[];
}

/** With these a shortage may come as an outage, or as too many requests. */
const alsoBusy: ReadonlySet<RefusalMeaning> = new Set([
  'CapacityUnavailable',
  'InsufficientFunds',
  'EmailUnverified',
  'LimitReached',
]);
const busyStatuses: ReadonlySet<number> = new Set([429, 503]);

const things = '(gpus?|hosts?|nodes?|machines?|instances?|resources?|compute|stock|supply)';
const kinds = '(services?|volumes?|templates?|registr(y|ies)|repositor(y|ies))';

/** Of codes as `plainCode` gives them. The first that matches counts. */
const codePatterns: readonly Pattern[] = [
  { meaning: 'KeyConflict', pattern: /(?=.*idempot).*(reuse|mismatch|different|conflict)/ },
  {
    meaning: 'KeyInUse',
    pattern:
      /(?=.*idempot)(?!.*reuse).*(in_use|in_progress|in_flight|under_way|outstanding|concurrent|pending|processing)/,
  },
  { meaning: 'EmailUnverified', pattern: /(?=.*(^|_)e_?mail(_|$)).*(verif|confirm)/ },
  {
    meaning: 'EmailUnverified',
    pattern: /(^|_)(unverified|not_verified|verification_required|verify_account)(_|$)/,
  },
  {
    meaning: 'InsufficientFunds',
    pattern: /(^|_)(funds?|balance|payments?|billing|credits?|overdraft|overdrawn|top_?up)(_|$)/,
  },
  { meaning: 'LimitReached', pattern: /(^|_)quotas?(_|$)/ },
  { meaning: 'LimitReached', pattern: new RegExp(`^${kinds}_limit|(too_many|max(imum)?)_${kinds}`) },
  { meaning: 'RateLimited', pattern: /rate_?limit|(^|_)(too_many_requests|throttl\w*|slow_down)(_|$)/ },
  {
    meaning: 'LimitReached',
    pattern: /(?=.*(^|_)limits?(_|$)).*(exceed|reach|hit|over)|^too_many_/,
    statuses: [400, 402, 403, 409, 422, 503],
  },
  { meaning: 'LimitReached', pattern: /(^|_)limits?(_|$)/, statuses: [409] },
  { meaning: 'CapacityUnavailable', pattern: /(^|_)(capacity|sold_out|out_of_stock|unschedulable)(_|$)/ },
  {
    meaning: 'CapacityUnavailable',
    pattern: new RegExp(
      `(^|_)(no|out_of|insufficient|not_enough)_((free|available|matching)_)?${things}(_|$)`,
    ),
  },
  {
    meaning: 'CapacityUnavailable',
    pattern: new RegExp(`(^|_)${things}_(unavailable|exhausted|not_available|shortage)(_|$)`),
  },
  { meaning: 'CapacityUnavailable', pattern: /(^|_)(unavailable|exhausted)(_|$)/, statuses: [409] },
  {
    meaning: 'RevisionConflict',
    pattern:
      /(?=.*(^|_)(revision|etag|version)(_|$)).*(conflict|stale|mismatch|outdated|old|changed|wrong|expected|invalid)/,
  },
  {
    meaning: 'RevisionConflict',
    pattern:
      /^(stale|outdated)(_|$)|precondition_failed|optimistic_lock|concurrent_(update|modification|change)/,
  },
  {
    meaning: 'StateConflict',
    pattern:
      /(^|_)(state|status|in_progress|busy|locked|attached|in_use|transition|pending|not_(running|paused|ready|stopped|sleeping))(_|$)/,
    statuses: [400, 409, 422, 423],
  },
  { meaning: 'NotFound', pattern: new RegExp(`^((${kinds}|resource|object)_)?not_found$`) },
  {
    meaning: 'Forbidden',
    pattern: /(^|_)(forbidden|permission_denied|access_denied|insufficient_(rights|permissions|scope))(_|$)/,
    statuses: [400, 403, 409, 422],
  },
  {
    meaning: 'Validation',
    pattern: /(^|_)(invalid|validation|malformed|bad_request|unprocessable|unsupported|out_of_range)(_|$)/,
    statuses: [400, 409, 412, 422],
  },
  {
    meaning: 'OutcomeUnknown',
    pattern: /(^|_)(time_?out|timed_out|deadline_exceeded|bad_gateway|upstream_\w+)(_|$)/,
    statuses: [503],
  },
];

function byCode(code: string, status: number): RefusalMeaning | undefined {
  return codePatterns.find((row) => row.pattern.test(code) && mayMean(row, status))?.meaning;
}

function mayMean({ meaning, statuses: given }: Pattern, status: number): boolean {
  if (given) return given.includes(status);
  return !busyStatuses.has(status) || alsoBusy.has(meaning);
}

// ---- messages ------------------------------------------------------------------------------------------

/** Of messages in lower case. They are phrases, because a single term may come from the request. */
const messagePatterns: readonly Pattern[] = [
  {
    meaning: 'KeyConflict',
    pattern: /idempotency[ -]?key .{0,60}(reused|different|another|other|already been used|mismatch)/,
  },
  {
    meaning: 'KeyInUse',
    pattern: /idempotency[ -]?key .{0,60}(in progress|in use|in flight|still being|pending|under way)/,
  },
  {
    meaning: 'EmailUnverified',
    pattern:
      /e-?mail( address)? .{0,40}(not (yet )?(been )?(verified|confirmed)|unverified)|(verify|confirm) your e-?mail|verified e-?mail .{0,20}required/,
  },
  {
    meaning: 'InsufficientFunds',
    pattern:
      /(insufficient|not enough|out of) (funds|balance|credits?|money)|balance (is )?(too low|exhausted|insufficient)|payment (is )?required|top up/,
  },
  { meaning: 'LimitReached', pattern: /quota .{0,40}(exceeded|reached|exhausted)|exceeds? .{0,20}quota/ },
  {
    meaning: 'LimitReached',
    pattern:
      /limit .{0,40}(has been |is )?(reached|exceeded)|maximum number of|too many (services|volumes|templates|registries|repositories)/,
    statuses: [400, 402, 403, 409, 422],
  },
  {
    meaning: 'CapacityUnavailable',
    pattern:
      /(no|insufficient|not enough|out of|lack of) (free |available |matching |gpu )*(capacity|gpus?\b|hosts?\b|nodes?\b)|capacity .{0,30}(unavailable|exhausted|not available)|out of stock|sold out/,
  },
  {
    meaning: 'RevisionConflict',
    pattern:
      /revision .{0,60}(stale|outdated|conflict|mismatch|changed|does not match|is not current)|(stale|outdated|old) revision/,
  },
  {
    meaning: 'OutcomeUnknown',
    pattern:
      /(may|might|could) (still|yet|already|nevertheless) (be|have|take|complete|happen|succeed)|(may|might|could) have (been|taken|succeeded|completed|happened)|will (still )?be (processed|carried out|applied|executed)|(request|operation|creation) is (still )?being (processed|carried out|applied|executed)|(outcome|result) (of .{1,40} )?is (unknown|not known)|(request|operation|connection|upstream|gateway) (has )?timed out|gateway time-?out|bad gateway|upstream (connect|request|server|error|time-?out)/,
    statuses: [409, 503],
  },
];

function byMessage(message: string, status: number): RefusalMeaning | undefined {
  return messagePatterns.find((row) => row.pattern.test(message) && mayMean(row, status))?.meaning;
}
