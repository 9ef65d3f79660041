/**
 * Where the contract is silent, and how the client handles each silence. With the dialects (index.ts) this is docs/internals/dialects.md:
 * `npm run docs:dialects` writes it.
 */
export interface Silence {
  /** Of CONTROL-API.md. */
  readonly section: string;
  /** What the contract states: everything else is open. */
  readonly stated: string;
  readonly accepted: string;
  /** What the client refuses on purpose, and what it does then. */
  readonly refused?: string;
}

const service = {
  'service endpoint': {
    section: '§2 Service',
    stated: '"endpoint" is a known field; no type',
    accepted:
      'a text; an object with `url`, `href`, `uri` or with `host` and `port`; the first of a list or a map of these; null, absent. It only informs: an endpoint in an unknown form is an endpoint',
    refused: 'none at all, of a running service with an `httpPort`: it is not Ready (`NoEndpoint`)',
  },
  'resolved geography': {
    section: '§2 Service',
    stated: '"resolved geography" is a known field; neither key nor type',
    accepted:
      '`geography` or `resolvedGeography`; a text in any letter case, an object with a name, anything else, nothing',
  },
  'service and volume error': {
    section: '§2 gaps',
    stated: '`error` of a volume is a known field; no type',
    accepted:
      'a text; `{code, message}`; a list of these; `false`, `""`, `[]`, `{}` and null for none; not shown',
    refused:
      'to search for the reason elsewhere: a service in `error` without `error` is reported without a reason',
  },
  'names of environment variables': {
    section: '§2 Service',
    stated: '"names of environment variables (values are not returned)"; neither key nor type',
    accepted:
      '`environmentNames`, `environment`, `environmentVariables`, `envNames`, `env`; a list of texts or of objects with a `name`, or a map by name, in any order; one text with commas between; not shown at all; an empty list before the service runs. Variables that the provider adds to everything are no drift',
    refused: "a form in which Fleetkeeper's own mark is visible and can't be read: `AnswerUnreadable`",
  },
  'service command': {
    section: '§2 create spec',
    stated: 'sent as an array of strings; its form in answers is open',
    accepted:
      'a list of texts; one text, which is compared with the elements joined by blanks; null for none; anything else counts as not shown',
  },
  'service resources': {
    section: '§2 create spec',
    stated: '`{gpuCount, cpu, memoryGb}`, numbers, when sent',
    accepted: 'numbers, or texts of numbers; more members; null while there are none',
  },
  'fields of a service that are not named': {
    section: '§2 gaps',
    stated: '"the full field list, types and value sets are not shown"',
    accepted:
      '`name`, `region`, `image`, `command`, `httpPort`, `volumeId`, `sleepAfterMinutes`, `hourlyMicros`, `error` are read where they are shown. Each may be missing, or have an unknown name: then it is a hidden field, and only the revision shows its drift',
  },
  'defaults of optional fields': {
    section: '§2 create spec',
    stated: '"defined by a list that is not part of this"',
    accepted: 'any default, shown or hidden: only what the spec gives is compared',
  },
  prices: {
    section: '§2 Volume',
    stated: '`hourlyMicros` of a volume is a known field; no type',
    accepted: 'a number, with a fraction, too; a text of one; anything else, or nothing: no price is known',
  },
  'what advances a revision': {
    section: '§2 shared rule',
    stated: 'an integer greater than 0, at most 2^53 - 1',
    accepted: 'any step, advances by the lifecycle itself',
    refused:
      'a revision that is lower than before (`RevisionRegressed`), or none that can be (`RevisionInvalid`): held',
  },
  'form of an image': {
    section: '§2 create spec',
    stated: '`image` is a text, "image reference"',
    accepted:
      'the full form of the reference (registry, `library/`, tag `latest`), a digest behind the tag, and the form in the answer to the request that set it',
    refused:
      'an image in another type: the service is held as `AnswerUnreadable`, and nothing is done with it, deletion included',
  },
  'sleep policy': {
    section: '§2 create spec, §4 sleep',
    stated: '1 to 1440, or null, when sent',
    accepted: 'a number or a text of one; 0 or null for "never"; not shown',
  },
} as const satisfies Record<string, Silence>;

const shared = {
  'form of a name': {
    section: '§2',
    stated: '`name` of a service; a volume has 1 to 64 characters',
    accepted:
      'other letters, a suffix, no name at all: objects are recognised by their ids and marks. A form that the answer to the request showed is no drift',
  },
  'letter case of ids': {
    section: '§2 shared rule',
    stated: 'UUIDs',
    accepted: 'any case, a different one in each place. They are kept and sent in lower case',
  },
  'letter case of values': {
    section: '§2',
    stated: '`standard`, `independent` are named in lower case',
    accepted: 'any case',
  },
  'null and absent': {
    section: '§2 gaps',
    stated: 'nothing',
    accepted: 'null, absent, an empty text or list for "none"',
  },
  times: {
    section: '§6 rule 1',
    stated: '`created_at` of an event is in Unix milliseconds; nothing of others',
    accepted: 'numbers in seconds, milliseconds or microseconds, ISO texts, anything: times only inform',
  },
  'extra fields': {
    section: '§2 gaps',
    stated: '"known fields"',
    accepted:
      'any more fields anywhere; cursors and totals, as long as the lists are whole (§2 Account: no paging is documented)',
    refused:
      'a list in pages: nothing on the next page counts as gone, because Fleetkeeper reads by id first',
  },
  'types that the contract states, broken': {
    section: '§2 shared rule',
    stated: '`revision` is an integer',
    accepted: 'a text of an integer, beyond the contract. It is sent as a number',
  },
  'one odd entry in a list': {
    section: '§2 gaps',
    stated: 'nothing',
    accepted:
      'an unreadable field is reported of its entry, and all others continue. An entry without a readable id makes its list incomplete: nothing is concluded from what such a list lacks',
    refused:
      'to act on the odd entry itself: `AnswerUnreadable`, with the field, the found and the expected form',
  },
} as const satisfies Record<string, Silence>;

const volumes = {
  'status of a volume': {
    section: '§3',
    stated: '`ready`, `deleting` are named; "full set: not shown"',
    accepted:
      'any name for a passing status; `ready` all the time, while `provisioned` and the sizes show more',
    refused:
      'to change a volume in an unknown status: `UnknownState`. A provider that uses `attached` for `ready` has to use `ready`',
  },
  provisioned: {
    section: '§2 Volume',
    stated: '"to be checked separately from readiness"; no type',
    accepted:
      'true, false, `"true"`, `"false"`, 0, 1; anything else, or nothing: the sizes and the status decide',
  },
  'sizes of a volume': {
    section: '§2 Volume',
    stated: '`sizeGb`, `requestedSizeGb`; no types',
    accepted:
      'numbers or texts of numbers; either missing or null; `sizeGb` before or after the growth is done',
  },
  'mode and serviceId of a volume': {
    section: '§2 Volume',
    stated: '`mode`, `serviceId`; `independent` is a known value',
    accepted:
      'any case; `serviceId` as a text, `{id}`, `""` or null; either missing: then the volumes that services show count',
    refused: 'to delete a volume with another mode than independent',
  },
} as const satisfies Record<string, Silence>;

const lists = {
  'returned template': {
    section: '§2 gaps',
    stated: '"the fields of a returned template are not shown beyond the specification fields"',
    accepted:
      'fields beside id and revision or within `spec`; defaults shown or not; `builtIn` in any form or missing: a template that the catalog lists as well is built in',
    refused:
      "to replace a template of which a field can't be read: the replacement would lose it (`AnswerUnreadable`)",
  },
  'keys of a template specification': {
    section: '§2 Template',
    stated: 'names in prose: "HTTP port, container disk, workspace size, sleep timeout"',
    accepted:
      'it sends `httpPort`, `containerDiskGb`, `workspaceGb`, `sleepAfterMinutes`, and only those that the spec gives',
    refused: 'to guess other keys: a provider that refuses them is quoted (`Refused`)',
  },
  'registry metadata': {
    section: '§2 gaps',
    stated: '"lists linked services"; fields are not shown',
    accepted:
      'linked services as ids, objects, a map by id, a number, or under another key. The repository as a text in any letter case, or as an address. Anything else counts as not shown: then an entry is recognised by its id',
    refused: 'to guess the linked services: the API itself refuses a deletion that is too early (§3 rule 6)',
  },
  'keys of a registry create spec': {
    section: '§2 gaps',
    stated:
      'nothing but "one exact, fully qualified repository" and that user name and password are not returned',
    accepted: 'it sends `{repository, username, password}`',
    refused: 'to guess other keys: a provider that refuses them is quoted (`Refused`)',
  },
  'record of an activity': {
    section: '§4 gaps',
    stated: 'a list `{activities}`; fields are not shown',
    accepted:
      'any record, even a text: it protects unless it shows that it is released. A flag (`released`, `release`), a state (`state`, `status`) or a time (`releasedAt`) shows that, if nothing contradicts it. Its id is a text, `activityId` or `id`. Answers to heartbeats may have more fields, and the id in any case',
  },
  identity: {
    section: '§2 gaps',
    stated: 'fields are not shown',
    accepted:
      '`id` as text or number, else `email`, is pinned; with neither, nothing is pinned, and the status shows that. Only `emailVerified: false` holds anything back',
  },
  'ledger entry': {
    section: '§2 gaps',
    stated: 'fields are not shown',
    accepted: 'anything: it only informs',
  },
  region: {
    section: '§2 gaps',
    stated: 'fields are not shown',
    accepted:
      "a text, or an object that is recognised by any of its texts, in any letter case; groups as texts, objects, or keys of a map. What can't be read, and what has titles for names, holds nothing back",
  },
} as const satisfies Record<string, Silence>;

const course = {
  'letter case of states': {
    section: '§3',
    stated: '`running`, `error`, `paused`, `ready`, `deleting`',
    accepted: 'these in any letter case',
  },
  'states that are not named': {
    section: '§3',
    stated: '"a sleeping condition"; "full set of service state values: not shown"',
    accepted:
      'any name for a passing state: the object waits, and reports `UnknownState` if that takes long; `sleeping` in any letter case',
    refused:
      'to act in an unknown state, deletion included: with another name for "sleeping", the service stays as it is, and reports that',
  },
  transitions: {
    section: '§3',
    stated: '"not shown"',
    accepted:
      'a stop that is done at once, has a state of its own, or shows the old one; steps that take minutes, or no time',
  },
  deletion: {
    section: '§2 Account, §3 rule 4',
    stated: 'the account leaves out deleted ones; `deleting` proves no release',
    accepted:
      'any time of `deleting`; a record that is still shown by id; a repeated deletion that is accepted or refused',
  },
  'effect of a patch': {
    section: '§4',
    stated: '"may restart processes"',
    accepted: 'a new launch, or none',
  },
  'consistency of reads': {
    section: '§4',
    stated: 'nothing',
    accepted:
      'an account, and records by id, that are some time behind: what was created and never shown is not created again for minutes',
  },
} as const satisfies Record<string, Silence>;

const http = {
  'status of a deletion of a volume': {
    section: '§4 gaps',
    stated: '"not shown"; the body is `{volumeId, operationId, status}`',
    accepted: 'any 2xx with that body',
  },
  'status of a registration of an activity': {
    section: '§4',
    stated: 'an "Activity response"; no status',
    accepted: 'any 2xx',
  },
  'type of error.code': {
    section: '§7',
    stated: 'an `error` object that has `code` and `message`; "set of values: not shown"',
    accepted: 'a text or a number',
    refused: 'a 4xx without an `error` object: its outcome is unknown',
  },
  'type of error.message': {
    section: '§7',
    stated: 'an `error` object that has `code` and `message`',
    accepted: 'a text, an object, null: the code stands alone then',
  },
  'set of error.code values': {
    section: '§7',
    stated: '"not shown"',
    accepted:
      'any: meanings are recognised in any letter case and with any separators, and `Account.spec.refusals` adds to them',
  },
  'further fields of the error object': {
    section: '§7',
    stated: '"not shown"',
    accepted: 'any',
  },
  'which condition gives which status': {
    section: '§7',
    stated: '400, 401, 403, 404, 409, 429, 503; "which condition produces which status: not shown"',
    accepted:
      'any of these for any condition: the meaning of code and message counts before the status. A refused request had no effect, even with 503',
    refused: '401 for anything but credentials, 429 for anything but rates: they are named by §5 and §7',
  },
  'what a repeated Idempotency-Key does': {
    section: '§4 gaps',
    stated: 'mutations need the header; "format and length rules: not shown"',
    accepted: 'the first answer again, a refusal, or nothing: an unknown outcome is settled by reading',
  },
  'rate limits': {
    section: '§7 rule 3, §8',
    stated: '`Retry-After`: "string, seconds to wait"; rates are not shown',
    accepted: 'any rate; whole seconds and fractions, and, beyond the contract, a date or no header',
  },
  'form of HTTP': {
    section: '§1',
    stated: 'bodies are `application/json`',
    accepted:
      'header names in any case; a charset behind the type, another type or none: the body decides; chunks. One byte order mark is skipped. 204, or an empty body where one is stated, leaves the outcome unknown',
    refused: 'redirects: a key is sent to the configured host only',
  },
} as const satisfies Record<string, Silence>;

export const groups = {
  Services: service,
  Volumes: volumes,
  'Lists beside them': lists,
  'States and transitions': course,
  'Requests and answers': http,
  Everywhere: shared,
} as const;

export const silences = { ...service, ...shared, ...volumes, ...lists, ...course, ...http };
export type SilenceName = keyof typeof silences;
