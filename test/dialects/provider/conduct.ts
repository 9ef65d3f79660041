/** What a control plane decides by itself where the contract is silent, beyond the form of its answers. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** A refusal that the contract allows (§7): any of its statuses, any code, any message. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export interface Conduct {
  /** How long a launch, a stop and an expansion take. */
  readonly stepMs: number;
  /** Before a service is launched it shows `queued` for so long. */
  readonly queueMs: number;
  /** A stop shows a state of its own, the state before, or is done at once. */
  readonly stopShows: 'stopping' | 'running' | 'paused';
  /** Between the deletion of a service or volume and the end of its record. */
  readonly deletionMs: number;
  /** For so long after its end, a record is shown by id with the state `deleted` (the account excludes deleted ones, §2). */
  readonly keepsDeletedMs: number;
  /** Whether a patch takes a running service through a launch ("may restart processes", §4). */
  readonly patchRestarts: boolean;
  /** What each change adds to a revision. */
  readonly revisionStep: number;
  /** Of what can't be launched: images with this text in their name. */
  readonly brokenImages: string;
  readonly brokenReason: string;
  /** Whether steps of the lifecycle advance it, too. */
  readonly stepsAdvanceRevision: boolean;
  readonly firstRevision: number;
  /** What a repeated Idempotency-Key gets: the first answer, a refusal, or whatever the request gets by itself. */
  readonly repeatedKey: 'answer' | Refusal | 'nothing';
  /** So old is what the account shows; a record that is read by its id. */
  readonly listLagMs: number;
  readonly readLagMs: number;
  /** Variables that it adds to every environment; `fromMs`: from then on. */
  readonly adds: { readonly names: readonly string[]; readonly fromMs: number };
  /** No names of variables are shown while a service is launched. */
  readonly namesOnceRunning: boolean;
  /** What it makes of what it accepts. */
  readonly storesImage: (image: string) => string;
  readonly storesName: (name: string) => string;
  readonly storesRepository: (repository: string) => string;
  /** A creation of a service is refused until then. */
  readonly refusesCreation: (Refusal & { readonly untilMs: number }) | undefined;
  readonly unknownId: Refusal;
  readonly staleRevision: Refusal;
  readonly wrongState: Refusal;
  /** A registry that is deleted although services are linked (§3 rule 6), and other conditions that time mends. */
  readonly inUse: Refusal;
  readonly secondDeletion: 'refused' | 'again';
  /** Keys of bodies that the contract does not show, and this provider does not know (§2 gaps). */
  readonly unknownKeys: { readonly template?: string; readonly registry?: string };
  /** Every so many requests it answers 429; 0: never. */
  readonly throttlesEvery: number;
  readonly retryAfter: string;
  /** Whether the list of activities goes on to show what was released. */
  readonly keepsReleased: boolean;
}

export const plainConduct: Conduct = {
  stepMs: 4000,
  queueMs: 0,
  stopShows: 'stopping',
  deletionMs: 3000,
  keepsDeletedMs: 0,
  patchRestarts: true,
  revisionStep: 1,
  brokenImages: '/broken/',
  brokenReason: 'the image could not be pulled',
  stepsAdvanceRevision: false,
  firstRevision: 1,
  repeatedKey: 'answer',
  listLagMs: 0,
  readLagMs: 0,
  adds: { names: [], fromMs: 0 },
  namesOnceRunning: false,
  storesImage: (image) => image,
  storesName: (name) => name,
  storesRepository: (repository) => repository,
  refusesCreation: undefined,
  unknownId: { status: 404, code: 'not_found', message: 'no such resource' },
  staleRevision: { status: 409, code: 'revision_conflict', message: 'the revision is not the current one' },
  wrongState: { status: 409, code: 'invalid_state', message: 'not in this state' },
  inUse: { status: 409, code: 'in_use', message: 'it is in use' },
  secondDeletion: 'refused',
  unknownKeys: {},
  throttlesEvery: 0,
  retryAfter: '2',
  keepsReleased: false,
};
