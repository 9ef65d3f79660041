import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';

/** Keeps the process alive until the returned function is called: pending timers of a `Clock` alone do not. */
export function holdProcess(): () => void {
  const handle = setInterval(() => undefined, 2 ** 30);
  return () => clearInterval(handle);
}

/** The event loop as a parameter, so that a simulation decides when a turn ends. */
export interface EventLoop {
  /**
   * Resolves when all that was written to the file is on the disk, and rejects if the disk did not confirm that. The loop continues meanwhile.
   * Undefined: whoever needs it has to wait in a call.
   */
  readonly toDisk?: (fileDescriptor: number) => Promise<void>;
  /** Calls `run` once, after everything that is ready to be handled now. */
  endOfTurn(run: () => void): void;
  /** Ends the process as an uncaught exception does, whatever catches in between. */
  crash(error: unknown): void;
}

export const systemEventLoop: EventLoop = {
  toDisk: promisify(fdatasync),
  endOfTurn: (run) => void setImmediate(run),
  crash: (error) =>
    queueMicrotask(() => {
      throw error;
    }),
};
