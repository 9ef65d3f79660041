#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import {
  ProcessSignals,
  holdProcess,
  keepCompiledCode,
  systemClock,
  systemHeap,
  systemRandom,
} from './base/index.ts';
import { watchOutput } from './cli/output/output-loss.ts';

const signals = new ProcessSignals();
const output = watchOutput(process);
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
  heap: systemHeap,
  pid: process.pid,
  hostname: hostname(),
  user: process.getuid?.(),
  stopped: signals.stopped,
  unread: output.unread,
  takeSignals: (taker) => signals.take(taker),
  desktop: {
    platform: process.platform,
    launch: (file, args, onFailure) =>
      spawn(file, args, { stdio: 'ignore', detached: true }).once('error', onFailure).unref(),
  },
});
release();
