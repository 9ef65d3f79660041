import type { EventLoop } from '../../src/base/process.ts';

/** An event loop whose turns end when told to. A crash is only noted. */
export class ManualEventLoop implements EventLoop {
  #pending: (() => void)[] = [];
  readonly crashes: unknown[] = [];

  endOfTurn(run: () => void): void {
    this.#pending.push(run);
  }

  crash(error: unknown): void {
    this.crashes.push(error);
  }

  turn(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const run of pending) run();
  }
}
