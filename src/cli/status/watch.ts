/**
 * `status --watch`. On a terminal the table is drawn again whenever something has changed; elsewhere rows that changed
 * are printed, as `kubectl get -w` does. It ends when the process is asked to stop.
 */
import { isDeepStrictEqual } from 'node:util';
import { UserError, sleep } from '../../base/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { complain, print, type Context } from '../context.ts';
import { oneLine } from '../output/terminal-text.ts';
import type { StatusEntry } from './entries.ts';
import { managerLine, type ManagerState } from './manager-state.ts';
import { statusText, viewOf, type StatusOutput } from './output.ts';
import { createTable, type Table } from './table.ts';

export interface Watched {
  readonly entries: readonly StatusEntry[];
  readonly manager: ManagerState;
}

export interface WatchOptions {
  readonly output: StatusOutput;
  readonly everyMs: number;
  readonly first: Watched;
  /** The selected objects as they are now. */
  readonly read: () => Promise<Watched>;
}

/** Resolves when it was stopped. */
export async function watchStatus(context: Context, options: WatchOptions): Promise<void> {
  const { format } = options.output;
  if (format !== 'text' && format !== 'wide') {
    throw new UserError(`--watch does not work with -o ${format}`, 'use it with -o text or -o wide');
  }
  const show = context.stdout.isTTY
    ? await redrawing(context, options.output)
    : printing(context, options.output);
  const { clock, stopped } = context;
  try {
    let now = options.first;
    while (!stopped.aborted) {
      show.update(now);
      await sleep(clock, options.everyMs, stopped);
      if (!stopped.aborted) now = await options.read();
    }
  } finally {
    show.end();
  }
}

interface Display {
  update(now: Watched): void;
  end(): void;
}

async function redrawing(context: Context, output: StatusOutput): Promise<Display> {
  const { createLogUpdate } = await import('log-update');
  const screen = createLogUpdate(context.stdout);
  return {
    update: ({ entries, manager }) => screen(statusText(context, output, entries, manager)),
    end: () => screen.done(),
  };
}

function printing(context: Context, output: StatusOutput): Display {
  let before: ReadonlyMap<ObjectKey, StatusEntry> | undefined;
  let phase: string | undefined;
  let table: Table | undefined;
  return {
    update({ entries, manager }) {
      const view = viewOf(context, output);
      if (manager.phase !== phase) complain(context, oneLine(managerLine(manager, view.nowMs)));
      ({ phase } = manager);
      table ??= createTable(entries, view);
      if (!before) print(context, table.head);
      const now = new Map(entries.map((entry) => [entry.record.key, entry]));
      for (const entry of entries) {
        const known = before?.get(entry.record.key);
        if (!known || !isDeepStrictEqual(known.record, entry.record)) print(context, table.row(entry));
      }
      for (const [key, entry] of before ?? []) if (!now.has(key)) print(context, table.goneRow(entry));
      before = now;
    },
    end: () => undefined,
  };
}
