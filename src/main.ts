#!/usr/bin/env node
import { hostname } from 'node:os';
import { ProcessSignals, holdProcess, keepCompiledCode, systemClock, systemRandom } from './base/index.ts';

const signals = new ProcessSignals();
// Whoever reads our output may stop reading (`| head`); that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const release = holdProcess();
keepCompiledCode(process.env);
// Only now, so that it is kept.
const { runCommandLine } = await import('./cli/program.ts');
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
  pid: process.pid,
  hostname: hostname(),
  stopped: signals.stopped,
  takeSignals: (taker) => signals.take(taker),
});
release();
