/**
 * The signals that end a program, unless a command takes them for a while.
 *
 *     default: the first one stops, the second one but SIGHUP ends at once ── take ──> the taker's, with HUP, QUIT, USR1 and USR2 ── release ──> default
 */
export type SignalTaker = (signal: NodeJS.Signals) => void;

/** A terminal that closes sends SIGHUP, also to what runs in its background. Node ignores that `nohup` has it ignored. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const passedSignals = ['SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** As shells tell of a program that was interrupted. */
const interruptedCode = 130;

export class ProcessSignals {
  readonly #stopping = new AbortController();
  #taker: SignalTaker | undefined;

  constructor() {
    // Never removed: with its listener, Node forgets a signal that has arrived and was not delivered yet.
    for (const signal of stopSignals) process.on(signal, () => (this.#taker ?? this.#stop)(signal));
    // Without somebody who takes it, Node opens its debugger, through which anybody on this machine reads every secret.
    process.on('SIGUSR1', () => undefined);
  }

  /** Aborted by the first one that nobody takes. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Until the returned function is called. */
  take(taker: SignalTaker): () => void {
    this.#taker = taker;
    for (const signal of passedSignals) process.on(signal, taker);
    return () => {
      this.#taker = undefined;
      for (const signal of passedSignals) process.off(signal, taker);
    };
  }

  readonly #stop = (signal: NodeJS.Signals): void => {
    // Both the shell and the kernel send one.
    if (this.#stopping.signal.aborted && signal === 'SIGHUP') return;
    if (this.#stopping.signal.aborted) process.exit(interruptedCode);
    this.#stopping.abort();
  };
}
