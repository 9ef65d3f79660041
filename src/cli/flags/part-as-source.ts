/**
 * A file or a folder inside a fleet, named as the source, as with `kubectl apply -f`. Its owner and its state would be others than those of
 * the fleet: everything in it would be created, and paid, a second time.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../base/index.ts';
import { isSkipped, readFolder } from '../../desired/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import type { Context } from '../context.ts';
import { shellWord, stateFile } from '../options.ts';
import { keepsState } from './default-source.ts';

/** A source that has a state of its own was applied as a fleet before. */
export async function refusePartOfFleet(
  { command: program }: Context,
  command: string,
  source: string,
): Promise<void> {
  if (!existsSync(source) || existsSync(stateFile({ source }))) return;
  const fleet = fleetAround(source);
  if (fleet === undefined) return;
  const selected = await targetsOf(source);
  throw new UserError(
    `${source} is a part of the fleet ${fleet}, which has a state. On its own, it would have another owner and another state, and create everything again`,
    `name the fleet, and what is meant of it: \`${program} ${command} --source ${shellWord(fleet)} ${selected}\`; if it is to be a fleet of its own, give it --owner NAME, or move it`,
  );
}

/** The nearest folder around it that has a state, and whose documents include it. */
function fleetAround(source: string): string | undefined {
  let inner = path.resolve(source);
  for (;;) {
    const folder = path.dirname(inner);
    if (folder === inner || isSkipped(path.basename(inner))) return undefined;
    if (keepsState(folder)) return path.relative('', folder) || '.';
    inner = folder;
  }
}

const mostNamed = 3;

async function targetsOf(source: string): Promise<string> {
  const { objects } = await readFolder(source);
  const named = [...objects.keys()].map(parseObjectKey).map(({ kind, name }) => `--target ${kind}/${name}`);
  if (named.length === 0) return '--target KIND/NAME';
  return [...named.slice(0, mostNamed), ...(named.length > mostNamed ? ['…'] : [])].join(' ');
}
