/** Helm itself, of version 3.17 or newer: the program that `HELM` names, else the one on the PATH. */
import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';

const program = (): string => process.env['HELM'] || 'helm';

/** Why the charts can't be given to Helm here; undefined when they can. */
export function whatHelmNeeds(): string | undefined {
  const { status, stdout } = spawnSync(program(), ['version', '--short'], { encoding: 'utf8' });
  if (status !== 0) return `${program()} is no program that runs; HELM may name one`;
  const [, major = 0, minor = 0] = (/^v(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
  return major > 3 || (major === 3 && minor >= 17)
    ? undefined
    : `it needs Helm 3.17 or newer, not ${stdout.trim()}`;
}

/** Helm's output; rejects with what it printed unless it exits with 0. `input`: for files named `-`. */
export async function helm(args: readonly string[], input = ''): Promise<string> {
  const running = spawn(program(), args, { stdio: ['pipe', 'pipe', 'pipe'] });
  // It may end before it has read all.
  running.stdin.on('error', () => undefined).end(input);
  const [output, errors, status] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    new Promise<number | null>((resolve, reject) => running.on('error', reject).on('close', resolve)),
  ]);
  if (status !== 0) throw new Error(`helm ${args.join(' ')}: ${errors}`);
  return output;
}
