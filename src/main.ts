#!/usr/bin/env node
import { hostname } from 'node:os';
import { ProcessSignals, holdProcess, keepCompiledCode, systemClock, systemRandom } from './base/index.ts';

const signals = new ProcessSignals();
const unread = new AbortController();
// Whoever reads our output may stop reading (`| head`): the rest of it is dropped; what is to be done, and the exit code, stay the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // It forgets that it was destroyed.
    stream.destroy();
    if (stream === process.stdout) unread.abort();
  });
}

const release = holdProcess();
keepCompiledCode(process.env, process.getuid?.());
// Only now, so that it is kept.
const { runCommandLine } = await import('./cli/program.ts');
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  // Of the package and the image, which hold the bundle; or of a checkout.
  command: import.meta.filename.endsWith('.ts') ? 'npm run --silent fleetkeeper --' : 'fleetkeeper',
  random: systemRandom,
  pid: process.pid,
  hostname: hostname(),
  user: process.getuid?.(),
  stopped: signals.stopped,
  unread: unread.signal,
  takeSignals: (taker) => signals.take(taker),
});
release();
