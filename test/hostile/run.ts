/** `npm run hostile -- --minutes 5`: one tenant attacks, another one reads and writes. Exit 0: nothing was violated. */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { hostile } from './hostile.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, 'quiet-seconds': { type: 'string', default: '20' } },
});
const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-hostile-'));
try {
  tell(
    `load average before: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
  const report = await hostile({
    quietMs: Number(values['quiet-seconds']) * 1000,
    attackMs: Number(values.minutes) * 60_000,
    folder,
    quietFloorMs: 0,
  });
  tell(
    JSON.stringify(
      report,
      (_, value: unknown) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value),
      2,
    ),
  );
  if (report.violations.length > 0) process.exitCode = 1;
} catch (error) {
  tell(error instanceof Error ? String(error.stack) : String(error));
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
