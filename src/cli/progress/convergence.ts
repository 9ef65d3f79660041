/**
 * When a command that converges a fleet has finished: each object is settled, and what was started is steady.
 *
 * An object whose outcome is unknown is not settled, though it may be reported as stalled since another process sent the request:
 * this one has only begun to look for evidence. It is settled when an operator is needed.
 *
 *     converging ── all settled ──> checking (Steadiness) ── due: read again, still all settled and steady ──> finished
 *          ^──────── an object is not settled any more ────────┘
 */
import type { Clock, Timer } from '../../base/index.ts';
import type { PassResult } from '../../engine/index.ts';
import { entryOf, isBlocking, isReason, reasons } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import { Outstanding } from '../output/outstanding.ts';
import { isSettled } from '../output/settled.ts';
import type { ProgressScreen } from './screen.ts';
import { Steadiness } from './steadiness.ts';

export interface ConvergenceOptions {
  readonly clock: Clock;
  readonly store: Pick<StateStore, 'record' | 'lastIntent'>;
  /** Those that are waited for. */
  readonly records: Pick<StateStore, 'records' | 'record'>;
  readonly stableMs: number;
  /** Whatever passes by itself is awaited, even if it also needs a person; of these objects also the turn that their owner gives. */
  readonly isAwaited?: ((key: ObjectKey) => boolean) | undefined;
  readonly screen: Pick<ProgressScreen, 'onPass' | 'checking' | 'confirmed'>;
  /** Objects whose status is current. */
  readonly passed: () => ReadonlySet<ObjectKey>;
  /** Reads all accounts once more, and makes the passes that follow from that. */
  readonly readAgain: () => Promise<void>;
  readonly onFinished: () => void;
}

export class Convergence {
  readonly #options: ConvergenceOptions;
  readonly #outstanding: Outstanding;
  readonly #steadiness: Steadiness;
  /** Evidence of an outcome is looked for. */
  readonly #unclear = new Set<ObjectKey>();
  #timer: Timer | undefined;
  #isReading = false;

  constructor(options: ConvergenceOptions) {
    this.#options = options;
    const { records, passed } = options;
    this.#outstanding = new Outstanding(records, (record) => this.#isSettled(record, passed()));
    this.#steadiness = new Steadiness(options);
  }

  onPass(key: ObjectKey, result: PassResult): void {
    const { screen } = this.#options;
    screen.onPass(key, result);
    if (isUnclear(result)) this.#unclear.add(key);
    else this.#unclear.delete(key);
    if (this.#steadiness.observe(key, result)) screen.checking(key);
    this.#outstanding.check(key);
    this.#advance();
  }

  /** All objects are settled, though what was started may not be steady yet. */
  get isSettled(): boolean {
    return this.#outstanding.isEmpty;
  }

  /** The outcome of a request is awaited. */
  get isUnclear(): boolean {
    return this.#unclear.size > 0;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #isSettled(record: ObjectRecord, passed: ReadonlySet<ObjectKey>): boolean {
    const { isAwaited } = this.#options;
    if (isAwaited && isWaiting(record, isAwaited(record.key))) return false;
    return passed.has(record.key) && !this.#unclear.has(record.key) && isSettled(record);
  }

  #advance(): void {
    const { clock, onFinished } = this.#options;
    if (this.#isReading || !this.#outstanding.isEmpty) return;
    const { leftMs } = this.#steadiness;
    if (leftMs === undefined) return onFinished();
    this.#timer?.cancel();
    this.#timer = clock.after(leftMs, () => void this.#readAgain());
  }

  async #readAgain(): Promise<void> {
    const { leftMs } = this.#steadiness;
    if (!this.#outstanding.isEmpty || leftMs === undefined || leftMs > 0) return this.#advance();
    this.#isReading = true;
    await this.#options.readAgain();
    this.#isReading = false;
    const { screen } = this.#options;
    // What was not found Ready any more is not among them.
    const stillDue = (this.#steadiness.leftMs ?? 0) <= 0;
    if (stillDue) for (const key of this.#steadiness.confirm()) screen.confirmed(key);
    this.#advance();
  }
}

/** `isAwaited`: it is not only a replica of a fleet that is awaited. */
function isWaiting({ report }: ObjectRecord, isAwaited: boolean): boolean {
  const reason = report?.pending?.reason;
  if (reason === undefined || !isReason(reason) || !isBlocking(reason)) return false;
  return reasons[reason].kind === 'waiting' && (isAwaited || entryOf(reason).inPlan !== 'owner');
}

function isUnclear({ plan, removed }: PassResult): boolean {
  if (removed || plan.kind !== 'wait' || plan.stalled) return false;
  return entryOf(plan.reason).stalled?.since === 'outcome';
}
