/**
 * The last line of the terminal while `run` works: how many objects are Ready, waiting and held. The log is above it. Without a terminal
 * that can be redrawn, and with a log for programs, there is only the log.
 */
import type { PassResult } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { complain, type Context } from '../context.ts';
import { cut } from '../output/fit.ts';
import { isRedrawn, openLiveArea, type LiveArea } from '../output/live-area.ts';
import { summary } from './table.ts';
import { FleetProgress } from './view.ts';

export class SummaryLine {
  readonly #context: Context;
  readonly #isWanted: boolean;
  #fleet: FleetProgress | undefined;
  #live: LiveArea | undefined;

  constructor(context: Context, isTextLog: boolean) {
    this.#context = context;
    this.#isWanted = isTextLog && isRedrawn(context.stderr, context.environment);
  }

  /** A line of the log. */
  write(text: string): void {
    if (this.#live) this.#live.post(text);
    else complain(this.#context, text);
  }

  async open(store: StateStore): Promise<void> {
    if (!this.#isWanted) return;
    const { clock, stderr, environment } = this.#context;
    const fleet = new FleetProgress(clock.monotonicMs());
    fleet.expect(store.everyKey(), clock.monotonicMs());
    this.#fleet = fleet;
    this.#live = await openLiveArea({
      clock,
      stream: stderr,
      environment,
      draw: ({ columns, colours }) => colours.strong(cut(summary(fleet.counts), columns - 1)),
    });
  }

  onPass(key: ObjectKey, store: StateStore, result: PassResult): void {
    const { clock } = this.#context;
    if (this.#fleet?.observe(key, store.record(key), result, clock.monotonicMs())) this.#live?.changed();
  }

  close(): void {
    this.#live?.close();
  }
}
