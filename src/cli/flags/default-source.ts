/**
 * Which fleet a command is about:
 *
 * | given                | the source                                                                        |
 * |----------------------|-----------------------------------------------------------------------------------|
 * | `--source X`         | X                                                                                 |
 * | the argument DIR     | that of a command that is started in the folder DIR without any; else DIR itself  |
 * | neither              | `source` of fleetkeeper.yaml; else the folder `fleet`, or the current folder      |
 *
 * A folder of a fleet has a state, or documents: `fleet` anywhere in it, the current folder directly in it. If both have, nobody but
 * a person can tell: the two have different owners and states, so the wrong one would create everything anew.
 */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../base/index.ts';
import { holdsFleet } from '../../desired/index.ts';
import { isCluster } from '../cluster.ts';
import { settingsIn, type Settings } from './settings.ts';

export interface Given {
  /** The argument. */
  readonly dir: string | undefined;
  readonly source: string | undefined;
  /** Where the command was started; empty: the current folder of the process. */
  readonly currentFolder: string;
}

export interface ChosenSource {
  readonly source: string;
  readonly settings: Settings | undefined;
  /** The command line has it in these letters. */
  readonly isNamed: boolean;
}

/** The name of the folder that is found beside what starts the commands. */
const fleetFolder = 'fleet';

/** Undefined: nobody named one, and there is none. */
export async function chooseSource(given: Given): Promise<ChosenSource | undefined> {
  const source = await sourceOf(given);
  if (source === undefined) return undefined;
  const { dir, currentFolder } = given;
  const places = new Set([dir ?? currentFolder, source, currentFolder].filter(isFolder).map(resolved));
  const files = [...places].flatMap((place) => settingsFor(source, shownPlace(place, given, source)));
  const [settings, second] = files;
  if (settings && second) {
    throw new UserError(
      `${settings.file} and ${second.file} are both for the fleet ${source}`,
      'keep one of them',
    );
  }
  return { source, settings, isNamed: isNamed(source, given) };
}

async function sourceOf({ dir, source, currentFolder }: Given): Promise<string | undefined> {
  if (dir === undefined) return source ?? fleetIn(currentFolder);
  const named = isFolder(dir) && !isCluster(dir) ? ((await fleetIn(dir)) ?? dir) : dir;
  if (source === undefined || isSame(source, named)) return source ?? named;
  if (isSame(source, dir)) return source;
  if (!existsSync(dir)) throw new UserError(`there is no ${dir}`, 'correct the folder, or the plan file');
  throw new UserError(`${dir} and --source ${source} are different folders`, 'give one of them');
}

/** What a command is about that is started in the folder. */
async function fleetIn(folder: string): Promise<string | undefined> {
  const settings = settingsIn(folder);
  if (settings?.source !== undefined) return settings.source;
  const inside = path.join(folder, fleetFolder);
  const hasInside = isFolder(inside) && (hasState(inside) || (await holdsFleet(inside, true)));
  const here = path.join(folder, '.');
  const hasHere = hasState(here) || (await holdsFleet(here, false));
  if (hasInside && hasHere) {
    throw new UserError(
      `${shown(here)} and ${shown(inside)} may both be the fleet: each has documents or a state`,
      `name one with --source, or write it as \`source\` to ${path.join(folder, 'fleetkeeper.yaml')}; the other one's owner and state are different`,
    );
  }
  return hasInside ? inside : hasHere ? here : undefined;
}

function isNamed(source: string, { source: named, dir }: Given): boolean {
  const written = named ?? dir;
  return written !== undefined && isSame(written, source);
}

/** A file that names no source is for its own folder, and for the folder `fleet` in it. */
function settingsFor(source: string, folder: string): Settings[] {
  const settings = settingsIn(folder);
  if (!settings) return [];
  const of = settings.source === undefined ? [folder, path.join(folder, fleetFolder)] : [settings.source];
  return of.some((one) => isSame(one, source)) ? [settings] : [];
}

/** As the command line has it, for messages. */
function shownPlace(place: string, { dir, currentFolder }: Given, source: string): string {
  return [currentFolder, dir, source].find((one) => one !== undefined && resolved(one) === place) ?? place;
}

/** As a person calls it. */
export function shown(source: string): string {
  if (isCluster(source)) return 'the cluster';
  return source === '.' ? 'the current folder' : `the folder ${source}`;
}

/** The state that a source without `--state` has (`stateFile`). */
export function hasState(folder: string): boolean {
  try {
    return statSync(path.join(folder, '.fleetkeeper', 'state.db'), { throwIfNoEntry: false }) !== undefined;
  } catch {
    // One that this user must not see. The command that reads it reports why.
    return true;
  }
}

/**
 * Whether a folder that no command is about has a state there, or one that a settings file names. What this user can't see or read, or a newer
 * version wrote, is somebody else's.
 */
export function keepsState(folder: string): boolean {
  if (existsSync(path.join(folder, '.fleetkeeper', 'state.db'))) return true;
  return [folder, path.dirname(folder)].some((place) => namesState(place, folder));
}

function namesState(place: string, folder: string): boolean {
  try {
    const states = settingsFor(folder, place).flatMap((one) => one.of('apply').get('state')?.text ?? []);
    return states.some((file) => existsSync(file));
  } catch {
    return false;
  }
}

/** Of a source named by `--source`: the fleet that `plan SOURCE` would be about instead, if only that one has a state. */
export function otherFleetIn(source: string): string | undefined {
  const inside = path.join(source, fleetFolder);
  return hasState(inside) && !hasState(source) ? inside : undefined;
}

function isFolder(place: string): boolean {
  if (isCluster(place)) return false;
  try {
    return statSync(place || '.').isDirectory();
  } catch {
    // The command that needs it reports why.
    return false;
  }
}

function isSame(one: string, other: string): boolean {
  if (isCluster(one) || isCluster(other)) return one === other;
  return resolved(one) === resolved(other);
}

function resolved(place: string): string {
  return path.resolve(place);
}
