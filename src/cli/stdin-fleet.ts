/**
 * `plan --source -`: the documents are read from standard input, as kustomize, Helm and others print them. Their state is that of `--state`,
 * which is only read. Without it nothing is known of earlier runs, so `--owner` states whose things they are.
 */
import { UserError } from '../base/index.ts';
import {
  assemble,
  limits,
  parseFile,
  readSecrets,
  type DesiredSnapshot,
  type SecretsReading,
} from '../desired/index.ts';
import { readState } from '../state/index.ts';
import type { Context } from './context.ts';
import { fleetIdentity, isWritten } from './digest-key.ts';
import type { FleetAccess, FleetFlagsOf } from './fleet-access.ts';
import { secretsDirectory } from './secrets-dir.ts';

/** The value of `--source`; a folder of that name is `./-`. */
export const stdinSource = '-';
/** How messages name it. */
const inputName = 'stdin';

export async function readStdinFleet(
  context: Context,
  flags: FleetFlagsOf,
  onNote?: (line: string) => void,
): Promise<Pick<FleetAccess, 'source' | 'store' | 'close' | 'overlay'>> {
  const file = flags.state ?? '';
  if (flags.owner === undefined && !isWritten(file)) {
    throw new UserError(
      'the documents of standard input have no state and no owner',
      'pass --owner NAME, as earlier runs of this fleet have it, or --state with the state of the fleet',
    );
  }
  const given = secretsDirectory(flags, context, onNote);
  const snapshot = snapshotOf(await readInput(context), given && (await readSecrets(given)));
  const identity = await fleetIdentity(context, flags, file, async () => snapshot);
  return {
    source: { description: inputName, start: async () => snapshot, stop: async () => undefined },
    store: readState(file, context.random, identity),
    close: async () => undefined,
  };
}

function snapshotOf(input: Buffer, secrets: SecretsReading | undefined): DesiredSnapshot {
  const parsed = parseFile(inputName, input, limits.inputBytes);
  // What nothing was written to is rarely what somebody wants to plan.
  if (parsed.documentCount === 0 && parsed.problems.length === 0) {
    throw new UserError(
      'there is no document on standard input',
      'check the command before the pipe; `set -o pipefail` ends a script when it fails',
    );
  }
  return assemble([parsed], 1, {
    name: inputName,
    problems: [],
    complete: true,
    folders: new Set(),
    secrets,
  });
}

async function readInput({ stdin, stopped }: Context): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const stop = () => stdin.destroy();
  stopped.addEventListener('abort', stop, { once: true });
  try {
    for await (const part of stdin as AsyncIterable<Buffer | string>) {
      const next = Buffer.from(part);
      bytes += next.length;
      if (bytes > limits.inputBytes) {
        throw new UserError(
          `standard input has more than ${limits.inputBytes / 1024 / 1024} MiB`,
          'split the fleet, or write it to a folder',
        );
      }
      parts.push(next);
    }
  } catch (error) {
    if (stopped.aborted) throw new UserError('stopped before the plan was complete: nothing is changed');
    throw error;
  } finally {
    stopped.removeEventListener('abort', stop);
  }
  return Buffer.concat(parts);
}
