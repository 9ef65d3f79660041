/** Where `apply` shows its progress: a table on a terminal, a line for each change elsewhere; on stderr, since results own stdout. */
import type { PassResult } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { complain, type Context } from '../context.ts';
import { progressLine } from './lines.ts';
import { isRedrawn, openLiveArea, type LiveArea } from '../output/live-area.ts';
import { drawProgress } from './table.ts';
import { FleetProgress } from './view.ts';

export interface ProgressScreen {
  onPass(key: ObjectKey, result: PassResult): void;
  /** All objects are known, and no pass has been made yet of some. */
  started(): void;
  /** It is Ready, and will be read once more. */
  checking(key: ObjectKey): void;
  confirmed(key: ObjectKey): void;
  /** A line of the log. */
  log(text: string): void;
  close(): void;
}

/** `records`: those that are waited for. */
export async function openProgress(
  context: Context,
  store: StateStore,
  records: Pick<StateStore, 'records'>,
): Promise<ProgressScreen> {
  const { clock, stderr, environment } = context;
  const fleet = new FleetProgress(clock.monotonicMs(), store.everyKey());
  const live = isRedrawn(stderr, environment)
    ? await openLiveArea({
        clock,
        stream: stderr,
        environment,
        draw: (canvas) => drawProgress(fleet.view(clock.monotonicMs()), canvas),
      })
    : undefined;
  return screenOf(context, { store, records, fleet, live });
}

interface ScreenParts {
  readonly store: StateStore;
  readonly records: Pick<StateStore, 'records'>;
  readonly fleet: FleetProgress;
  readonly live: LiveArea | undefined;
}

function screenOf(context: Context, { store, records, fleet, live }: ScreenParts): ProgressScreen {
  const nowMs = () => context.clock.monotonicMs();
  const shown = () => live?.changed();
  return {
    onPass: (key, result) => {
      const row = fleet.observe(key, store.record(key), result, nowMs());
      if (row && !live) complain(context, progressLine(row));
      if (row) shown();
    },
    started: () => {
      fleet.expect(
        Array.from(records.records(), ({ key }) => key),
        nowMs(),
      );
      shown();
    },
    checking: (key) => {
      fleet.check(key, nowMs());
      shown();
    },
    confirmed: (key) => {
      fleet.confirm(key, nowMs());
      shown();
    },
    log: (text) => (live ? live.post(text) : complain(context, text)),
    close: () => {
      fleet.end(nowMs());
      live?.close();
    },
  };
}
