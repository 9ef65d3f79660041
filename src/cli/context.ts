/** What commands are given of the process: nothing below reads the environment, the arguments or a stream by itself. */
import {
  plainLines,
  terminalLines,
  type Clock,
  type Heap,
  type Random,
  type UserError,
} from '../base/index.ts';
import type { Desktop } from './browser.ts';
import type { Ports } from './ports.ts';

export interface Context {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly clock: Clock;
  readonly random: Random;
  /** How this program is called, for messages that advise a command: `fleetkeeper`, or a script of npm in a checkout. */
  readonly command: string;
  /** Where a folder that nobody named is found; default: that of the process. */
  readonly currentFolder?: string;
  readonly pid: number;
  readonly hostname: string;
  /** Undefined where users have no numbers: nor do the modes of files mean anything there. */
  readonly user?: number | undefined;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  readonly stopped: AbortSignal;
  /** Aborted when nobody reads stdout any more, as behind `| head`: what only shows has nothing left to do. */
  readonly unread: AbortSignal;
  /** Signals go to `handle` from now on, and no longer stop anything; until the returned function is called. */
  readonly takeSignals: (handle: (signal: NodeJS.Signals) => void) => () => void;
  /** The folder whose own control plane is the account of the environment (`local/with-local.ts`). */
  readonly local?: string;
  /** Undefined: what is free in it is never given back. */
  readonly heap?: Heap;
  /** Undefined: no browser is opened. */
  readonly desktop?: Desktop;
  /** A simulation's own ways out of the process. */
  readonly ports?: Ports;
}

/** Resolves when the process is asked to stop. */
export function untilStopped({ stopped }: Pick<Context, 'stopped'>): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    else stopped.addEventListener('abort', () => resolve(), { once: true });
  });
}

export function print(context: Context, text: string): void {
  context.stdout.write(`${text}\n`);
}

/** `text` may quote others. */
export function complain(context: Context, text: string): void {
  context.stderr.write(`${terminalLines(text)}\n`);
}

/** What went wrong, and what to do. */
export function explainError(context: Context, { message, remedy }: UserError): void {
  complain(context, plainLines(`error: ${message}`));
  if (remedy) complain(context, plainLines(`  ${remedy}`));
}

/**
 * Exit codes of `plan`, and of the others as far as they apply. `noManager`: what `status` shows is no longer kept up to date. `refused`:
 * of `apply PLANFILE`, the world, the file or the account is not what was reviewed. `denied`: a policy denies something of the plan; stronger
 * than `changes`. `unfinished`: of `apply PLANFILE`, steps are left, and the same file may continue. `failed` is stronger than all. `notRun`: somebody else's command has not run, or nobody knows what came of it; as `docker exec` has it.
 */
export const exitCodes = {
  ok: 0,
  failed: 1,
  changes: 2,
  noManager: 3,
  refused: 3,
  denied: 4,
  unfinished: 5,
  notRun: 125,
} as const;
