/**
 * What keeps a manager from working on all of its fleet while the process is well: it sees no edits, or can't record what it would send. Heartbeats
 * continue, and a new process could do no more, so it is not ready, but alive.
 *
 * | cause                | found by                                                                          |
 * |----------------------|-----------------------------------------------------------------------------------|
 * | `SourceUnreadable`   | the newest reading could not list the source, or has lasted for more than a minute |
 * | `StateNotWritable`   | the newest write failed for the disk, or was not confirmed for more than a minute  |
 * | `StateFileReplaced`  | the name of the state file leads to another file, or to none                       |
 *
 * It is examined every 10 s, and by all who ask. A cause that comes or ends is logged once.
 */
import type { Clock, Timer } from '../base/index.ts';
import type { DesiredSnapshot, DesiredSource } from '../desired/index.ts';
import { signEveryMs, type StateStore } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

export const impairmentCauses = ['SourceUnreadable', 'StateNotWritable', 'StateFileReplaced'] as const;
export type ImpairmentCause = (typeof impairmentCauses)[number];

export interface Impairment {
  readonly cause: ImpairmentCause;
  /** What was found, and what does not happen meanwhile. */
  readonly message: string;
  readonly remedy: string;
  /** Unix milliseconds: when it was found. */
  readonly since: number;
}

export interface ImpairmentOptions {
  readonly store: Pick<StateStore, 'diskWaitMs' | 'diskFailure' | 'fileProblem'>;
  readonly source: Pick<DesiredSource, 'description' | 'readingSinceMs'>;
  readonly snapshot: () => Pick<DesiredSnapshot, 'unreadable'> | undefined;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error' | 'info'>;
}

type Found = Omit<Impairment, 'since'>;

/** A disk that takes longer is gone, as a network disk may be. */
const longestWaitMs = 60_000;
/** As often as a sign of life is given. */
const examineEveryMs = signEveryMs;

/** For people: what it is, with what to do. */
export function impairmentTexts(impairments: readonly Impairment[]): readonly string[] {
  return impairments.map(({ message, remedy }) => `${message}; ${remedy}`);
}

export class Impairments {
  readonly #options: ImpairmentOptions;
  #known = new Map<ImpairmentCause, Impairment>();
  #timer: Timer | undefined;

  constructor(options: ImpairmentOptions) {
    this.#options = options;
  }

  start(): void {
    this.examine();
    this.#timer = this.#options.clock.after(examineEveryMs, () => this.start());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** What is so now. It takes some microseconds: one question to the file system. */
  examine(): readonly Impairment[] {
    const { clock, logger } = this.#options;
    const before = this.#known;
    const found = this.#find();
    this.#known = new Map(
      found.map((each) => [each.cause, { ...each, since: before.get(each.cause)?.since ?? clock.wallMs() }]),
    );
    for (const { cause, message, remedy } of found)
      if (!before.has(cause))
        logger.error({ cause, note: `${message}; ${remedy}` }, 'the manager is impaired');
    for (const cause of before.keys())
      if (!this.#known.has(cause)) logger.info({ cause }, 'the manager is not impaired by this any more');
    return [...this.#known.values()];
  }

  #find(): Found[] {
    const { store, source, snapshot, clock } = this.#options;
    return [sourceProblem(source, snapshot(), clock), writeProblem(store), fileProblem(store)].filter(
      (each) => each !== undefined,
    );
  }
}

function sourceProblem(
  { description, readingSinceMs }: ImpairmentOptions['source'],
  snapshot: Pick<DesiredSnapshot, 'unreadable'> | undefined,
  clock: Clock,
): Found | undefined {
  const cause = 'SourceUnreadable';
  if (snapshot?.unreadable) {
    const { message, remedy } = snapshot.unreadable;
    return { cause, message: `${message}; edits are not seen`, remedy };
  }
  const waitMs = readingSinceMs === undefined ? 0 : clock.monotonicMs() - readingSinceMs;
  if (waitMs <= longestWaitMs) return undefined;
  return {
    cause,
    message: `${description} has not answered a reading for ${seconds(waitMs)}; edits are not seen`,
    remedy: 'check the disk or the network file system that it is on; reading continues by itself',
  };
}

function writeProblem({ diskWaitMs = 0, diskFailure }: ImpairmentOptions['store']): Found | undefined {
  const isSlow = diskWaitMs > longestWaitMs;
  if (!isSlow && diskFailure === undefined) return undefined;
  const what = isSlow
    ? `the disk has not confirmed a write for ${seconds(diskWaitMs)}`
    : `the disk did not take the newest write: ${diskFailure}`;
  return {
    cause: 'StateNotWritable',
    message: `the state can't be written: ${what}; nothing but heartbeats is sent, and edits wait`,
    remedy:
      'make room, or mend the disk: it continues by itself, and a restart would only end the heartbeats',
  };
}

function fileProblem({ fileProblem: message }: ImpairmentOptions['store']): Found | undefined {
  if (message === undefined) return undefined;
  return {
    cause: 'StateFileReplaced',
    message,
    remedy: 'put that very file back, or restart: without it, the fleet is found again by its marks',
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
