/** States, status codes, refusals, keys and the course of things (§3, §4, §7). */
import type { Dialect, Form } from '../dialect.ts';
import type { Json } from '../provider/conduct.ts';
import { field } from './service-fields.ts';

const states = (form: (state: string) => string): Pick<Dialect, 'forms'> => ({
  forms: { service: field('state', form), volume: field('status', form) },
});

const capital = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

const vocabularies: readonly Dialect[] = [
  {
    name: 'states-upper-case',
    silence: 'letter case of states',
    plays: '`RUNNING`, `READY`',
    ...states((state) => state.toUpperCase()),
  },
  {
    name: 'states-capitalised',
    silence: 'letter case of states',
    plays: '`Running`, `Ready`',
    ...states(capital),
  },
  {
    name: 'states-transitional-words',
    silence: 'states that are not named',
    plays: '`starting`, `terminating`, `pausing`: names of its own where the contract has none',
    ...states(
      (state) => ({ provisioning: 'starting', deleting: 'terminating', stopping: 'pausing' })[state] ?? state,
    ),
  },
  {
    name: 'states-one-transitional-word',
    silence: 'states that are not named',
    plays: '`updating` for everything that is under way',
    ...states((state) =>
      ['provisioning', 'stopping', 'queued', 'expanding', 'deleting'].includes(state) ? 'updating' : state,
    ),
  },
  {
    name: 'states-queued',
    silence: 'states that are not named',
    plays: '`queued` for 20 s before each launch',
    conduct: { queueMs: 20_000 },
  },
  {
    name: 'sleeping-other-word',
    silence: 'states that are not named',
    plays: '`suspended` for a service that sleeps (§3 names the condition, not the state)',
    held: { 'ContainerService/naps': 'UnknownState' },
    stays: ['service naps'],
    notSimulated: 'a state that is not known holds the object',
    ...states((state) => (state === 'sleeping' ? 'suspended' : state)),
  },
  {
    name: 'sleeping-as-running',
    silence: 'states that are not named',
    plays: 'a service that sleeps shows `running` with `allocated: false`',
    forms: {
      service: (record) =>
        record.state === 'sleeping'
          ? { ...record, state: 'running', allocated: false }
          : { ...record, allocated: true },
    },
  },
];

const courses: readonly Dialect[] = [
  {
    name: 'stop-at-once',
    silence: 'transitions',
    plays: 'a stop is done when it is answered',
    conduct: { stopShows: 'paused' },
  },
  {
    name: 'stop-shows-running',
    silence: 'transitions',
    plays: 'a service that is being stopped shows `running` until it is paused',
    conduct: { stopShows: 'running' },
  },
  { name: 'slow-steps', silence: 'transitions', plays: 'each step takes 90 s', conduct: { stepMs: 90_000 } },
  {
    name: 'instant-steps',
    silence: 'transitions',
    plays: 'each step takes no time',
    conduct: { stepMs: 0, deletionMs: 0 },
  },
  {
    name: 'slow-deletion',
    silence: 'deletion',
    plays: '`deleting` for two minutes',
    conduct: { deletionMs: 120_000 },
  },
  {
    name: 'deleted-shown',
    silence: 'deletion',
    plays: 'by id, what is deleted is shown as `deleted` for ten minutes; the account leaves it out (§2)',
    conduct: { keepsDeletedMs: 600_000 },
  },
  {
    name: 'deletion-twice',
    silence: 'deletion',
    plays: 'the deletion of what is being deleted is accepted again',
    conduct: { secondDeletion: 'again' },
  },
  {
    name: 'patch-in-place',
    silence: 'effect of a patch',
    plays: 'a patch does not launch a running service again',
    conduct: { patchRestarts: false },
  },
];

const consistency: readonly Dialect[] = [5, 20, 45, 120].flatMap((seconds): Dialect[] => [
  {
    name: `list-lags-${seconds}s`,
    silence: 'consistency of reads',
    plays: `the account is ${seconds} s old`,
    conduct: { listLagMs: seconds * 1000 },
  },
  {
    name: `reads-lag-${seconds}s`,
    silence: 'consistency of reads',
    plays: `the account, and records by id, are ${seconds} s old`,
    conduct: { listLagMs: seconds * 1000, readLagMs: seconds * 1000 },
  },
]);

const statusOf =
  (method: string, pattern: RegExp, to: number): NonNullable<Dialect['status']> =>
  (status, asked) =>
    status < 300 && asked.method === method && pattern.test(asked.path) ? to : status;

const statuses: readonly Dialect[] = [
  {
    name: 'volume-deletion-202',
    silence: 'status of a deletion of a volume',
    plays: '202',
    status: statusOf('DELETE', /volumes/, 202),
  },
  {
    name: 'volume-deletion-201',
    silence: 'status of a deletion of a volume',
    plays: '201',
    status: statusOf('DELETE', /volumes/, 201),
  },
  {
    name: 'activity-201',
    silence: 'status of a registration of an activity',
    plays: '201 for each heartbeat',
    status: statusOf('POST', /activity$/, 201),
  },
  {
    name: 'activity-202',
    silence: 'status of a registration of an activity',
    plays: '202 for each heartbeat',
    status: statusOf('POST', /activity$/, 202),
  },
];

/** The whole of a refusal. */
const refusal = (form: (error: Json) => Json): Pick<Dialect, 'forms'> => ({
  forms: { refusal: (body) => ({ ...body, error: form(body.error) }) },
});
const conflict = { status: 409, code: 'x', message: 'the revision is not the current one' };

const refusals: readonly Dialect[] = [
  {
    name: 'error-code-number',
    silence: 'type of error.code',
    plays: 'a number',
    ...refusal((error) => ({ ...error, code: 40_901 })),
  },
  {
    name: 'error-code-upper-case',
    silence: 'set of error.code values',
    plays: 'in upper case',
    ...refusal((error) => ({ ...error, code: error.code.toUpperCase() })),
  },
  {
    name: 'error-code-dotted',
    silence: 'set of error.code values',
    plays: '`compute.ErrSomething`: codes of its own',
    ...refusal((error) => ({ ...error, code: `compute.Err${capital(error.code.replaceAll('_', ''))}` })),
  },
  {
    name: 'error-more-fields',
    silence: 'further fields of the error object',
    plays: '`details`, `requestId`, `errors` beside code and message',
    ...refusal((error) => ({
      ...error,
      requestId: 'r-1',
      details: [{ field: 'x', issue: {} }],
      status: 409,
    })),
  },
  {
    name: 'error-message-object',
    silence: 'type of error.message',
    plays: 'a map of languages to texts',
    ...refusal((error) => ({ ...error, message: { en: error.message } })),
  },
  {
    name: 'error-message-null',
    silence: 'type of error.message',
    plays: 'null',
    ...refusal((error) => ({ ...error, message: null })),
  },
  {
    name: 'conflict-400',
    silence: 'which condition gives which status',
    plays: 'a stale revision is 400',
    conduct: { staleRevision: { ...conflict, status: 400, code: 'stale_revision' } },
  },
  {
    name: 'conflict-403',
    silence: 'which condition gives which status',
    plays: 'a stale revision is 403',
    conduct: { staleRevision: { ...conflict, status: 403, code: 'StaleRevision' } },
  },
  {
    name: 'conflict-503',
    silence: 'which condition gives which status',
    plays: 'a stale revision is 503',
    conduct: { staleRevision: { ...conflict, status: 503, code: 'CONCURRENT_MODIFICATION' } },
  },
  {
    name: 'unknown-id-400',
    silence: 'which condition gives which status',
    plays: 'an id that is not there is 400',
    conduct: { unknownId: { status: 400, code: 'RESOURCE_NOT_FOUND', message: 'no such resource' } },
  },
  {
    name: 'unknown-id-403',
    silence: 'which condition gives which status',
    plays: 'an id that is not there is 403, as one of another account',
    conduct: { unknownId: { status: 403, code: 'forbidden', message: 'not accessible' } },
  },
  {
    name: 'unknown-id-409',
    silence: 'which condition gives which status',
    plays: 'an id that is not there is 409',
    conduct: { unknownId: { status: 409, code: 'gone', message: 'it was deleted' } },
  },
  {
    name: 'wrong-state-400',
    silence: 'which condition gives which status',
    plays: 'what the state does not allow is 400',
    conduct: {
      wrongState: { status: 400, code: 'ILLEGAL_STATE', message: 'not in this state' },
      inUse: { status: 400, code: 'RESOURCE_IN_USE', message: 'it is in use' },
    },
  },
  {
    name: 'wrong-state-503',
    silence: 'which condition gives which status',
    plays: 'what the state does not allow is 503',
    conduct: {
      wrongState: { status: 503, code: 'try_later', message: 'not in this state' },
      inUse: { status: 503, code: 'busy', message: 'it is in use' },
    },
  },
];

const scarcities: readonly Dialect[] = [
  [409, 'CAPACITY_UNAVAILABLE', 'no matching capacity'],
  [503, 'no_capacity', 'try again later'],
  [400, 'insufficient_funds', 'add funds'],
  [403, 'PAYMENT_REQUIRED', 'insufficient balance'],
  [400, 'Quota.Exceeded', 'a limit was reached'],
  [400, 'E1042', 'no capacity left in europe'],
].map(([status, code, message]) => ({
  name: `scarce-${status}-${String(code)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')}`,
  silence: 'which condition gives which status',
  plays: `creations of services are refused for a minute with ${status} \`${code}\`, "${message}"`,
  conduct: {
    refusesCreation: {
      status: Number(status),
      code: String(code),
      message: String(message),
      untilMs: 60_000,
    },
  },
}));

const keys: readonly Dialect[] = [
  {
    name: 'key-forgotten',
    silence: 'what a repeated Idempotency-Key does',
    plays: 'nothing: a repeated request is a new one',
    conduct: { repeatedKey: 'nothing' },
  },
  {
    name: 'key-refused',
    silence: 'what a repeated Idempotency-Key does',
    plays: '409 for every repetition, with the same body, too',
    conduct: { repeatedKey: { status: 409, code: 'duplicate_request', message: 'this key was used' } },
  },
  {
    name: 'throttled',
    silence: 'rate limits',
    plays: 'every tenth request is 429 with `Retry-After: 2`',
    conduct: { throttlesEvery: 10 },
  },
  {
    name: 'throttled-fraction',
    silence: 'rate limits',
    plays: 'every tenth request is 429 with `Retry-After: 0.5`',
    conduct: { throttlesEvery: 10, retryAfter: '0.5' },
  },
];

const form = (of: (record: Json) => Json): Form => of;

const deletions: readonly Dialect[] = [
  {
    name: 'deletion-answer-more',
    silence: 'extra fields',
    plays: 'answers to deletions have more fields, ids of operations that are numbers',
    forms: {
      volumeDeletion: form((record) => ({ ...record, operationId: 17, volume: { status: 'deleting' } })),
      deletion: form((record) => ({ ...record, deletedAt: '2026-01-01T00:00:00Z' })),
    },
  },
];

export const course: readonly Dialect[] = [
  ...vocabularies,
  ...courses,
  ...consistency,
  ...statuses,
  ...refusals,
  ...scarcities,
  ...keys,
  ...deletions,
];
