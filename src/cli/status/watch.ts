/**
 * `status --watch`. On a terminal the table is drawn again and again, as much of it as there is room for; elsewhere, and where nothing can be
 * drawn, rows that changed are printed, as `kubectl get -w` does. It ends when the process is asked to stop.
 */
import { isDeepStrictEqual } from 'node:util';
import { UserError, sleep } from '../../base/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { complain, print, type Context } from '../context.ts';
import { oneLine } from '../output/terminal-text.ts';
import { isRedrawn, openLiveArea, type Canvas } from '../output/live-area.ts';
import { conditionOf, type StatusEntry } from '../../shown/entries.ts';
import { managerLine, type ManagerState } from '../../shown/manager-state.ts';
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
  const { clock, stopped, unread, stdout, environment } = context;
  const show = isRedrawn(stdout, environment)
    ? await redrawing(context, options)
    : printing(context, options.output);
  try {
    let now = options.first;
    // With `| grep -q` there is nobody to go on for, once that has found something.
    while (!stopped.aborted && !unread.aborted) {
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

async function redrawing(context: Context, { output, first }: WatchOptions): Promise<Display> {
  const { stdout: stream, clock, environment } = context;
  let now = first;
  const draw = ({ lines }: Canvas) => frame(context, output, now, lines);
  const area = await openLiveArea({ clock, stream, environment, draw });
  return {
    update: (next) => {
      now = next;
      area.changed();
    },
    end: () => area.close(),
  };
}

/** What does not fit is counted; who is not Ready is shown first. */
function frame(context: Context, output: StatusOutput, { entries, manager }: Watched, lines: number): string {
  // Beside rows: the manager, the head, what is left out, and the line of the cursor.
  const room = Math.max(1, lines - 4);
  if (entries.length <= room) return beginning(statusText(context, output, entries, manager), lines);
  const [ready = [], others = []] = [true, false].map((isReady) =>
    entries.filter((entry) => (conditionOf(entry, 'Ready')?.status === 'True') === isReady),
  );
  const shown = new Set([...others, ...ready].slice(0, room));
  const rows = entries.filter((entry) => shown.has(entry));
  const text = statusText(context, output, rows, manager)
    .split('\n')
    .slice(0, room + 2)
    .join('\n');
  const left = `… and ${entries.length - room} more; ${ready.length} of ${entries.length} are Ready`;
  return `${text}\n${viewOf(context, output).colours.dim(left)}`;
}

function beginning(text: string, lines: number): string {
  const all = text.split('\n');
  return all.length < lines ? text : [...all.slice(0, Math.max(1, lines - 2)), '…'].join('\n');
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
