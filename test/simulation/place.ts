/** Where a fleet is declared, where its state is kept, and which processes serve it: a folder and a file, or a cluster. */
import pino from 'pino';
import type { EndpointProbe } from '../../src/api/index.ts';
import type { Clock } from '../../src/base/index.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import type { ObjectRecord, Intent, Resolution } from '../../src/state/index.ts';
import type { Memory } from '../support/full-count.ts';
import { prometheusAddress, type Attacks } from './attacks.ts';
import type { Checker } from './checker.ts';
import type { Network } from './network.ts';
import type { Scheduler } from './scheduler.ts';
import { secretIn } from './secrets.ts';
import type { Action, Script } from './script.ts';
import type { DurableState } from './state.ts';
import type { Json } from './watch.ts';

/** Where people put their documents, each under a name of its own. */
export interface DocumentStore {
  /** Whether it was taken: a cluster refuses what can't be changed, and keeps what there is. */
  write(file: string, document: Json): boolean;
  /** An autoscaler writes another number of replicas, which `document` has. Whether it was taken. */
  scale(file: string, document: Json): boolean;
  remove(file: string): void;
  /** It has a mistake, where that is possible. Returns how to mend it; one that was written or removed meanwhile stays as it is. */
  break(file: string): () => void;
  /** It is gone at once: nobody is waited for that wants to clean up after it. */
  discard(file: string): void;
  /** What was written is shown. */
  publish(): void;
  /** Something of its name is on its way out, although it may be wanted anew. */
  isLeaving(key: ObjectKey): boolean;
  /** From now on all of it is shown. */
  heal(): void;
}

export interface Place {
  readonly state: DurableState;
  readonly documentStore: DocumentStore;
  /** Starts what serves the fleet. */
  start(): void;
  /** Whether this life of a manager may change anything at the provider now. */
  leads(life: number): boolean;
  /** Another one has taken over from it. */
  isOusted(life: number): boolean;
  /** Unix milliseconds by the clock of the process that leads. */
  readonly wallMs: number;
  /** What becomes of it may not be known to anybody. */
  isOpen(intent: Intent): boolean;
  /** Each status is written, and not the last one of several that follow each other. */
  readonly keepsEveryStatus: boolean;
  /** A fault of the place, or of its processes. */
  do(action: Action): unknown;
  /** Writes of state that there should be none of when nothing happens. */
  readonly writes: number;
  /** From now on nothing goes wrong by itself. */
  heal(): void;
  /** Somebody has made `to` out of all that `from` is. */
  copied(from: ObjectKey, to: ObjectKey): void;
  /** The thing of a colleague is written into the status of one of ours. */
  forge(victim: string, seed: number): void;
  /** What was durable of it is not there any more: only its mark leads to what it stands for. */
  isWiped(key: ObjectKey): boolean;
  /** The process that serves the fleet is killed; then, if that may be, what it has kept is lost. */
  loseState(mayBeLost: () => boolean): void;
  /** What was kept of it was lost with the state, and no process has written it down again. */
  isUnfound(key: ObjectKey): boolean;
  /** Somebody says what became of a request of the object. */
  resolve(key: ObjectKey, resolution: Resolution): void;
  /** People put right what only they can, of what the place keeps. */
  mend(): void;
  /** Once all is as wanted: another process takes over. */
  handOver(failed: () => boolean): Promise<void>;
  /** As the process that serves the fleet has it in memory. */
  inMemory(key: ObjectKey): ObjectRecord | undefined;
  /** What its processes have in memory (EI1, EI2). */
  memories(): readonly Memory[];
  /** What whoever asks for metrics is told (S10). */
  metrics(): Promise<string>;
  end(): void;
}

/** What a place is given of the world. */
export interface PlaceParts {
  readonly script: Script;
  readonly scheduler: Scheduler;
  readonly network: Network;
  /** In a world that has them. */
  readonly attacks: Attacks | undefined;
  readonly checker: () => Checker;
  readonly violated: (invariant: string, message: string) => void;
  readonly onFault: (kind: string, request: string) => void;
  /** The service that the object stands for is there, and somebody has taken its mark off. */
  readonly isUnmarked: (key: ObjectKey) => boolean;
}

/** So soon after an intent a process dies that is to die of it. */
export const crashWithinMs = 40;

/** Unix milliseconds at which every run begins. */
export const epochMs = Date.UTC(2026, 0, 1);

/** What a process measures rollouts with. */
export function measuringWith({ attacks }: PlaceParts): {
  readonly createEndpointProbe?: (clock: Clock) => EndpointProbe;
  readonly analysisPrometheus?: { readonly url: string; readonly token: () => undefined };
} {
  if (!attacks) return {};
  return {
    createEndpointProbe: (clock) => attacks.createProbe(clock),
    analysisPrometheus: { url: prometheusAddress, token: () => undefined },
  };
}

/** A log in which secrets are looked for (S10). */
export function searchedLog({ violated }: PlaceParts): pino.Logger {
  const write = (line: string) => {
    const secret = secretIn(line);
    if (secret !== undefined) violated('S10', `a secret is in the log: ${secret}`);
  };
  return pino({ level: 'debug', base: null, timestamp: false }, { write });
}
