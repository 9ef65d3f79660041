/** `run --timeline FILE` (manager/timeline.ts has the lines, manager/timeline-file.ts the file). */
import { Option } from 'commander';
import { Timeline, TimelineFile } from '../manager/index.ts';
import type { PassResult } from '../engine/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { isCluster } from './cluster.ts';
import type { Context } from './context.ts';
import { refuseDocument } from './no-document.ts';

export interface TimelineFlags {
  readonly timeline?: string;
  /** A folder, or the cluster. */
  readonly source: string;
}

export function timelineOption(): Option {
  return new Option(
    '--timeline <file>',
    'append a line of JSON there for each pass that acted, began to wait, or ended a wait',
  );
}

export interface OpenTimeline {
  passed(
    key: ObjectKey,
    result: PassResult,
    durationMs: number,
    store: Pick<StateStore, 'lastIntent'> | undefined,
  ): void;
  stop(): Promise<void>;
}

/** Undefined without the flag. Throws a `UserError` if the file can't be written, or would be read as a document. */
export async function openTimeline(
  { clock }: Pick<Context, 'clock'>,
  { timeline: file, source }: TimelineFlags,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
): Promise<OpenTimeline | undefined> {
  if (file === undefined) return undefined;
  if (!isCluster(source)) refuseDocument(source, file, 'the timeline');
  const written = await TimelineFile.open({ file, clock, logger, metrics });
  const timeline = new Timeline(clock);
  return {
    passed: (key, result, durationMs, store) => {
      const line = timeline.passed(key, result, durationMs, store?.lastIntent(key));
      if (line) written.add(line);
    },
    stop: () => written.stop(),
  };
}
