/** `npm run soak -- --minutes 20 --kills 10 --seed S`: a long soak, with a line per kill. Exit 0: nothing was violated. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    kills: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    'time-scale': { type: 'string', default: '20' },
    clients: { type: 'string', default: '3' },
  },
});
const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-soak-'));
try {
  tell(`seed ${values.seed}`);
  const report = await soak({
    seed: Number(values.seed),
    minutes: Number(values.minutes),
    kills: Number(values.kills),
    timeScale: Number(values['time-scale']),
    clientsPerAccount: Number(values.clients),
    folder,
    tell,
  });
  tell(JSON.stringify(report));
} catch (error) {
  tell(String(error));
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
