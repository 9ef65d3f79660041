import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { meaningOf, type RefusalMeaning, type RefusalRule } from '../../../src/api/index.ts';
import { refusalMeanings } from '../../../src/api/refusal-meanings.ts';
import { cpuMs } from '../../support/cpu-time.ts';
import { refusalRules } from '../../../src/kinds/account/schema-refusals.ts';

const of = (status: number, code: string, message = '', rules: readonly RefusalRule[] = []) =>
  meaningOf({ status, code, message }, rules);
const any4xx = [400, 402, 403, 404, 409, 410, 412, 418, 422, 423, 424];

// COVERAGE 91
describe('a code', () => {
  test.each<[RefusalMeaning, readonly string[]]>([
    [
      'CapacityUnavailable',
      [
        'capacity_unavailable',
        'CAPACITY_UNAVAILABLE',
        'capacity-unavailable',
        'CapacityUnavailable',
        'no_capacity',
        'NoCapacity',
        'insufficient capacity',
        'InsufficientGPUCapacity',
        'gpu_exhausted',
        'resource.exhausted',
        'OUT_OF_STOCK',
        'no_matching_hosts',
      ],
    ],
    [
      'InsufficientFunds',
      ['insufficient_funds', 'InsufficientFunds', 'BALANCE_TOO_LOW', 'payment-required', 'no credits'],
    ],
    [
      'EmailUnverified',
      [
        'email_unverified',
        'EmailNotVerified',
        'E-MAIL_NOT_VERIFIED',
        'email.verification.required',
        'unverified',
      ],
    ],
    ['LimitReached', ['quota_exceeded', 'QuotaExceeded', 'VOLUME_LIMIT_REACHED', 'too-many-volumes']],
    ['KeyConflict', ['idempotency_key_reused', 'IdempotencyKeyMismatch', 'IDEMPOTENCY-CONFLICT']],
    ['KeyInUse', ['idempotency_key_in_use', 'IdempotentRequestPending']],
    ['RevisionConflict', ['revision_conflict', 'StaleRevision', 'REVISION-MISMATCH', 'PreconditionFailed']],
  ])('is known in any letter case and separator, with any 4xx: %s', (meaning, codes) => {
    for (const code of codes)
      for (const status of any4xx) expect([code, of(status, code)]).toEqual([code, meaning]);
  });

  test.each<[number, string, RefusalMeaning]>([
    [503, 'no_capacity', 'CapacityUnavailable'],
    [503, 'INSUFFICIENT_FUNDS', 'InsufficientFunds'],
    [503, 'EmailNotVerified', 'EmailUnverified'],
    [503, 'quota-exceeded', 'LimitReached'],
    [503, 'unavailable', 'Unavailable'],
    [503, 'service_unavailable', 'Unavailable'],
    [503, 'exhausted', 'Unavailable'],
    [503, 'invalid_request', 'Unavailable'],
    [503, 'revision_conflict', 'Unavailable'],
    [429, 'rate_limit_exceeded', 'RateLimited'],
    [429, 'limit_exceeded', 'RateLimited'],
    [429, 'TooManyRequests', 'RateLimited'],
    [429, 'no_capacity', 'CapacityUnavailable'],
    [429, 'too_many_volumes', 'LimitReached'],
    [409, 'unavailable', 'CapacityUnavailable'],
    [409, 'limit', 'LimitReached'],
    [409, 'rate_limit', 'RateLimited'],
    [409, 'InvalidState', 'StateConflict'],
    [400, 'invalid_state', 'StateConflict'],
    [409, 'volume_attached', 'StateConflict'],
    [409, 'VALIDATION_ERROR', 'Validation'],
    [400, 'cpu_limit', 'Validation'],
    [400, 'invalid_resources', 'Validation'],
    [400, 'SERVICE_NOT_FOUND', 'NotFound'],
    [400, 'image_not_found', 'Validation'],
    [400, 'permission-denied', 'Forbidden'],
    [400, 'invalid_credential', 'Validation'],
    [401, 'no_capacity', 'CredentialRejected'],
  ])('with %i %s means %s', (status, code, meaning) => {
    expect(of(status, code)).toBe(meaning);
  });
});

describe('a message', () => {
  test.each<[number, string, string, RefusalMeaning]>([
    [409, '1042', 'No free capacity in region standard', 'CapacityUnavailable'],
    [503, '', 'not enough GPUs', 'CapacityUnavailable'],
    [400, '17', 'Insufficient funds: top up your account', 'InsufficientFunds'],
    [403, 'error', 'Your e-mail address has not been verified', 'EmailUnverified'],
    [403, '', 'Please verify your email', 'EmailUnverified'],
    [409, 'conflict', 'the quota of volumes is exceeded', 'LimitReached'],
    [400, 'bad', 'Too many volumes', 'LimitReached'],
    [409, 'conflict', 'revision 3 is stale', 'RevisionConflict'],
    [422, '9', 'This Idempotency-Key has already been used with another body', 'KeyConflict'],
    [409, '9', 'a request with this idempotency key is still being processed', 'KeyInUse'],
    [503, 'outage', 'Service temporarily unavailable', 'Unavailable'],
    [503, 'outage', 'The request may still be carried out', 'OutcomeUnknown'],
    [503, 'unavailable', 'upstream connect error', 'OutcomeUnknown'],
    [503, 'busy', 'Your request will be processed when the scheduler is back', 'OutcomeUnknown'],
    [503, 'x', 'the outcome of the creation is not known', 'OutcomeUnknown'],
    [503, 'gateway_timeout', 'no answer', 'OutcomeUnknown'],
    [503, 'UpstreamTimedOut', 'no answer', 'OutcomeUnknown'],
    [409, 'conflict', 'the operation might already be under way', 'OutcomeUnknown'],
    [409, 'conflict', 'try again in May', 'Conflict'],
    [409, 'registry_exists', 'there is access to ghcr.io/acme/api-gateway already; rotate it', 'Conflict'],
    [409, 'x', 'the name upstream-timeout is taken', 'Conflict'],
    [409, 'x', 'an account may have at most 5', 'Conflict'],
    [409, 'gateway_exists', 'no', 'Conflict'],
    [503, 'x', 'the request timed out', 'OutcomeUnknown'],
    [503, 'x', '504 Gateway Time-out', 'OutcomeUnknown'],
    [503, 'x', 'the creation may have been accepted', 'OutcomeUnknown'],
    [400, 'x', 'the request may still be carried out', 'Validation'],
    [503, 'no_capacity', 'it may still be found later', 'CapacityUnavailable'],
    [429, '', 'rate limit has been exceeded', 'RateLimited'],
    [400, 'invalid_image', 'no capacity', 'Validation'],
    [409, 'x', 'no', 'Conflict'],
  ])('speaks where the code does not: %i %j %j', (status, code, message, meaning) => {
    expect(of(status, code, message)).toBe(meaning);
  });

  test('that is very long is looked at in part', () => {
    const startedAt = cpuMs();
    of(409, 'a_'.repeat(100_000), `idempotency key ${'a '.repeat(1_000_000)}`);
    expect(cpuMs() - startedAt).toBeLessThan(500);
  });
});

test.each([
  [400, 'Validation'],
  [401, 'CredentialRejected'],
  [402, 'InsufficientFunds'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [410, 'NotFound'],
  [412, 'RevisionConflict'],
  [422, 'Validation'],
  [423, 'StateConflict'],
  [425, 'Unavailable'],
  [429, 'RateLimited'],
  [451, 'Validation'],
  [503, 'Unavailable'],
])('a code that nobody knows leaves it to the status: %i %s', (status, meaning) => {
  expect(of(status, 'e_1')).toBe(meaning);
});

describe("an account's own rules", () => {
  const rules: RefusalRule[] = [
    { meaning: 'CapacityUnavailable', codes: ['E-1042', 'SoldOutToday'] },
    { meaning: 'InsufficientFunds', messages: ['Guthaben'], statuses: [400, 503] },
    { meaning: 'Validation', statuses: [409], codes: ['no_capacity'] },
    { meaning: 'Unavailable', statuses: [418] },
  ];

  test.each<[number, string, string, RefusalMeaning]>([
    [400, 'e_1042', '', 'CapacityUnavailable'],
    [422, 'sold-out-TODAY', '', 'CapacityUnavailable'],
    [503, 'x', 'Ihr GUTHABEN reicht nicht', 'InsufficientFunds'],
    [409, 'x', 'Ihr Guthaben reicht nicht', 'Conflict'],
    [409, 'no_capacity', '', 'Validation'],
    [422, 'no_capacity', '', 'CapacityUnavailable'],
    [418, 'no_capacity', '', 'Unavailable'],
  ])('come before the table: %i %s %s', (status, code, message, meaning) => {
    expect(of(status, code, message, rules)).toBe(meaning);
  });
});

/** The rooms `api/` and `resources/` may not import each other, so the list stands in both of them. */
describe('the meanings that a rule of an Account may name are those of the table', () => {
  const root = path.join(import.meta.dirname, '../../..');
  const given = (meaning: string) => refusalRules.safeParse([{ meaning, codes: ['x'] }]).success;

  test('in the definition', () => {
    const file = readFileSync(path.join(root, 'crds/accounts.yaml'), 'utf8');
    const [version] = parse(file).spec.versions;
    const { refusals } = version.schema.openAPIV3Schema.properties.spec.properties;
    expect(refusals.items.properties.meaning.enum).toEqual(refusalMeanings);
  });

  test.each(refusalMeanings)('in the schema: %s', (meaning) => {
    expect(given(meaning)).toBe(true);
  });

  test.each(['KeyInUse', 'OutcomeUnknown', 'Conflict'])(
    'but %s, which is no reason to send or to hold',
    (meaning) => {
      expect(given(meaning)).toBe(false);
    },
  );

  test('in the manual', () => {
    const manual = readFileSync(path.join(root, 'docs/reference/refusals.md'), 'utf8');
    const rows = manual.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) => (row.split('|')[1] ?? '').match(/[A-Za-z]+/g) ?? []);
    expect(named.sort()).toEqual([...refusalMeanings].sort());
  });
});
