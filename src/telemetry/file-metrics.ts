/** Metrics of files that commands were given: plan files, and the timeline. */
import { Counter, type Registry } from 'prom-client';

export function fileMetrics(registers: Registry[]) {
  return {
    planFiles: new Counter({
      name: 'fleetkeeper_plan_files_total',
      help: 'Plan files that were begun on this state file, as far as it remembers them, by how their last apply ended (completed, continued: begun again and interrupted, refused, timeout). Read when `run` starts.',
      labelNames: ['outcome'],
      registers,
    }),
    timelineLines: new Counter({
      name: 'fleetkeeper_timeline_lines_total',
      help: 'Lines of `run --timeline` by what became of them (written, failed: the file could not be written, dropped: too many waited for the disk).',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
