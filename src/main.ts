#!/usr/bin/env node
import { hostname } from 'node:os';
import { holdProcess, keepCompiledCode, systemClock, systemRandom } from './base/index.ts';

const stopping = new AbortController();
function stop(): void {
  // The second one means it.
  if (stopping.signal.aborted) process.exit(130);
  stopping.abort();
}
const stopSignals = ['SIGINT', 'SIGTERM'] as const;
const passedSignals = [...stopSignals, 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
for (const signal of stopSignals) process.on(signal, stop);
// Without somebody who takes it, Node opens its debugger, through which anybody on this machine reads every secret.
process.on('SIGUSR1', () => undefined);

function takeSignals(handle: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of stopSignals) process.off(signal, stop);
  for (const signal of passedSignals) process.on(signal, handle);
  return () => {
    for (const signal of passedSignals) process.off(signal, handle);
    for (const signal of stopSignals) process.on(signal, stop);
  };
}
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
  stopped: stopping.signal,
  takeSignals,
});
release();
