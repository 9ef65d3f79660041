/** What the checker is shown, as it happens. Every invariant is a function that returns a watcher of what it needs. */
import type { ObjectKey } from '../../src/resources/index.ts';
import type { ObjectRecord, Intent } from '../../src/state/index.ts';
import type { NeighbourNews } from './neighbours.ts';
import type { Plane, PlaneReply } from './plane.ts';
import type { BudgetEdit } from './script.ts';
import type { DurableState, Write } from './state.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** One request of the manager, from the moment it was handed to the network. */
export interface Exchange {
  readonly number: number;
  /** Counts the lives of the manager. */
  readonly life: number;
  readonly method: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly path: string;
  /** The header of that name. */
  readonly authorization: string | undefined;
  readonly key: string | undefined;
  readonly text: string | undefined;
  readonly body: Json;
  readonly sentAtMs: number;
  /** For whom it is, as the disk tells; of a mutation, activities not counted. */
  readonly object: ObjectKey | undefined;
}

/** `uncertain`: anything that leaves open what became of it. */
export type Verdict = 'done' | 'rejected' | 'not-sent' | 'uncertain';

export interface Received {
  readonly verdict: Verdict;
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  /** Of a refusal: `error.code`. */
  readonly code?: string | undefined;
  /** Undefined unless it was read. */
  readonly body: Json;
}

/** A request at the server, whoever sent it, and what it was answered. */
export interface Delivery {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly text: string | undefined;
  readonly reply: PlaneReply;
  readonly isForeign: boolean;
}

export interface Watcher {
  sent?(exchange: Exchange): void;
  received?(exchange: Exchange, answer: Received): void;
  /** A request reaches the server, which may be killed before it answers. */
  arriving?(request: Omit<Delivery, 'reply'>): void;
  delivered?(delivery: Delivery): void;
  /** Just before it is on the disk. */
  durable?(write: Write): void;
  /** The manager was started, for the first time or anew; in a cluster: another process leads. */
  started?(life: number): void;
  /** Until now no process could lead: the last leader had ended while nobody could reach the API server. */
  unled?(): void;
  /** The state file is gone; a process that starts finds nothing. */
  lost?(): void;
  /** The control plane is back after a crash. */
  recovered?(): void;
  /** Somebody else changed what the manager keeps. */
  meddled?(id: string): void;
  finished?(): void;
}

/** A document as the users want it now. */
export interface Wanted {
  readonly key: ObjectKey;
  readonly name: string;
  readonly spec: Json;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Milliseconds since the beginning of the run. */
  readonly atMs: number;
}

/** What an invariant may look at. */
export interface View {
  readonly disk: DurableState;
  readonly plane: Plane;
  readonly settleMs: number;
  readonly nowMs: number;
  readonly requests: { readonly perSecond: number; readonly burst: number; readonly concurrency: number };
  readonly minimumBalanceMicros: number;
  /** The API speaks as the reference control plane does: prices and sizes can be read of everything. */
  readonly isPlain: boolean;
  /** The wall clock jumps now and then. */
  readonly jumpsClock: boolean;
  /** The API shows every field of a service. */
  readonly showsFields: boolean;
  /** The API shows the marks that things carry. */
  readonly showsMarks: boolean;
  readonly massChangeAllowed: boolean;
  /** Fleets choose among places, and what they rest on changes (attacks.ts). */
  readonly isContested: boolean;
  /** When capacity or prices changed last (milliseconds since the beginning of the run). Undefined: nobody can tell. */
  changedAtMs(): number | undefined;
  /** Whether this kind of check has not passed since then (Unix milliseconds), and some seconds before. */
  soursSince?(check: string, wallMs: number): boolean;
  /** By key; what the users have written, whatever the source shows. */
  readonly wanted: ReadonlyMap<ObjectKey, Wanted>;
  /** What there has been of budgets, the latest last. */
  readonly budgetEdits: readonly {
    readonly atMs: number;
    readonly name: string;
    readonly edit: BudgetEdit | undefined;
  }[];
  /** The lowest price of anything that there has been, as a part of the usual one. */
  readonly cheapest: number;
  /** Everything that was ever asked for the key, the latest last. */
  history(key: ObjectKey): readonly Wanted[];
  /** Somebody removed its document a short while ago, whether or not it was written again. */
  wasRemoved(key: ObjectKey): boolean;
  /** What becomes of it may not be known to anybody. */
  isOpen(intent: Intent): boolean;
  /** A process knows that the newest request of the object, which has this key, did not happen; that may not be saved yet. */
  knowsUndone(object: ObjectKey, idempotencyKey: string): boolean;
  /** A process knows that this creation, the newest request of the object, made this thing; that may not be saved yet. */
  knowsMade(object: ObjectKey, idempotencyKey: string, id: string): boolean;
  /** As the process that leads has it in memory; what is on its way to the API server is not on the disk yet. */
  inMemory(key: ObjectKey): ObjectRecord | undefined;
  /** Each status is written, and not the last one of several that follow each other. */
  readonly keepsEveryStatus: boolean;
  /** Documents are objects that stay until they are cleaned up after. */
  readonly isCluster: boolean;
  /** Whether this life of the manager may change anything now. */
  leads(life: number): boolean;
  /** Another one has taken over from this life. */
  isOusted(life: number): boolean;
  /** Trouble from outside, in a world that has it. */
  readonly neighbours: NeighbourNews | undefined;
  /** Unix milliseconds of the beginning of the run. */
  readonly epochMs: number;
  /** Unix milliseconds by the clock of the process that leads. */
  readonly wallMs: number;
  /** Tells a violation. The run ends with the first one. */
  violated(invariant: string, message: string): void;
}

export type Invariant = (view: View) => Watcher;

export const isActivity = ({ path }: { readonly path: string }) => path.endsWith('/activity');
/** A command of an analysis changes nothing of the service, and has no intent. */
const isCommand = ({ path }: { readonly path: string }) => path.endsWith('/exec');
export const isMutation = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method !== 'GET' && !isActivity({ path }) && !isCommand({ path });

/** The id in the path of a request. */
export function idIn(path: string): string | undefined {
  return /^\/api\/[a-z]+\/([0-9a-f-]{36})/.exec(path)?.[1];
}
