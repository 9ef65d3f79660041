/** `docs/demo.svg`: a picture of the demo, recorded from a run of it. `npm run docs:picture` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { sleep, systemClock, systemRandom } from '../../src/base/index.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { renderSvg } from './svg.ts';
import { Terminal, type Screen } from './terminal.ts';

const columns = 96;
const rows = 30;
const frames = 14;
const everyMs = 250;

/** The screens from the first object on, until the demo has shown all and waits for the person who watches. */
async function recordDemo(): Promise<Screen[]> {
  const terminal = new Terminal(columns, rows);
  const stop = new AbortController();
  const ended = runCommandLine(['demo'], {
    environment: { TERM: 'xterm-256color' },
    stdin: new PassThrough() as unknown as NodeJS.ReadStream,
    stdout: terminal.stdout,
    stderr: process.stderr,
    clock: systemClock,
    random: systemRandom,
    command: 'fleetkeeper',
    pid: process.pid,
    hostname: 'laptop',
    stopped: stop.signal,
    unread: new AbortController().signal,
    takeSignals: () => () => undefined,
  });
  const screens: Screen[] = [];
  for (;;) {
    await sleep(systemClock, everyMs);
    const screen = await terminal.screen();
    if (has(screen, 'your turn')) break;
    if (has(screen, 'service')) screens.push(screen);
  }
  stop.abort();
  await ended;
  return screens;
}

const has = (screen: Screen, text: string) =>
  screen.some((line) => line.some((run) => run.text.includes(text)));

/** So many, with even pauses; the last one is among them. */
function chosen(screens: readonly Screen[], count: number): Screen[] {
  return Array.from({ length: count }, (_, index) => {
    const at = Math.round(((index + 1) / count) * (screens.length - 1));
    return screens[at] ?? [];
  });
}

const title =
  'fleetkeeper demo: a fleet is created, drift is corrected, a volume grows, four replicas are updated, and a broken image is taken back';
const file = path.join(import.meta.dirname, '../../docs/demo.svg');
writeFileSync(file, renderSvg(chosen(await recordDemo(), frames), columns, title));
