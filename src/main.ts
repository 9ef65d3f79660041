#!/usr/bin/env node
import { hostname } from 'node:os';
import { holdProcess, systemClock, systemRandom } from './base/index.ts';
import { runCommandLine } from './cli/program.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one means it.
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
  });
}
// Whoever reads our output may stop reading (`| head`); that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const release = holdProcess();
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
  pid: process.pid,
  hostname: hostname(),
  stopped: stopping.signal,
});
release();
