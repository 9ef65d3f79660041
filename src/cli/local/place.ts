/**
 * The control plane of a folder, on this machine. Its files are in `.fleetkeeper/dev/` of the folder:
 *
 *     settings.json      what its containers are, where the engine is, its port and that of the page, which stay the same while they are free
 *     key                the API key, made for this folder
 *     control-plane.db   its database; one process has the lock of it
 *     address            where it answers, while a process serves it
 *     control-plane.log  what it logs
 *
 * A folder that has these settings uses no other control plane. Documents don't name it, so the same documents work at a provider.
 *
 * Whoever wrote these files decides which containers run here, or to which engine they are sent. They may have come with a cloned folder, so
 * they are used only where they were made: the settings have the number of the folder in its file system. The key belongs to this user, and
 * nobody else may read it, as ssh has it.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import { UserError, messageOf, writeAnew, type Random } from '../../base/index.ts';
import { isCluster } from '../cluster.ts';
import type { Context } from '../context.ts';

export type LocalRuntime = 'docker' | 'simulated';

export interface LocalSettings {
  readonly runtime: LocalRuntime;
  /** As DOCKER_HOST has it; where the containers of this folder are. */
  readonly engine?: string;
  /** 0: none was used yet. */
  readonly port: number;
  /** Of the page; likewise. */
  readonly pagePort?: number;
  /** Where they were made (`identityOf`). */
  readonly folder: string | undefined;
}

export interface LocalPlace {
  /** Of the documents. */
  readonly source: string;
  readonly settingsFile: string;
  readonly keyFile: string;
  readonly database: string;
  readonly addressFile: string;
  readonly logFile: string;
}

export function placeIn(source: string): LocalPlace {
  const inside = (name: string) => path.join(source, '.fleetkeeper', 'dev', name);
  return {
    source,
    settingsFile: inside('settings.json'),
    keyFile: inside('key'),
    database: inside('control-plane.db'),
    addressFile: inside('address'),
    logFile: inside('control-plane.log'),
  };
}

/** Undefined: the source has no control plane of its own. Throws a `UserError` if somebody else may have made it. */
export function localPlaceOf(
  { user }: Pick<Context, 'user'>,
  source: string | undefined,
): LocalPlace | undefined {
  if (source === undefined || isCluster(source)) return undefined;
  const place = placeIn(source);
  if (!existsSync(place.settingsFile)) return undefined;
  refuseForeign(place, user);
  return place;
}

function refuseForeign(place: LocalPlace, user: number | undefined): void {
  const { source, keyFile, settingsFile } = place;
  const folder = path.dirname(keyFile);
  const refusal = (fault: string, otherwise: string) =>
    new UserError(
      `${source} has a control plane of its own, but did this user make it? ${fault}. Nothing was started`,
      `if ${folder} came with files of somebody else, remove it; ${otherwise}`,
    );
  const link = linkIn(place);
  if (link !== undefined) throw refusal(`${link} is a link`, 'if you made it, put the folder itself there');
  const key = lstatSync(keyFile, { throwIfNoEntry: false });
  const fault = key ? faultOf(key, user) : 'it is missing';
  if (fault !== undefined) {
    const otherwise = 'if you made it, give it back its key, as a file of yours with the mode 0600';
    throw refusal(`Its key is ${keyFile}, and ${fault}`, otherwise);
  }
  const identity = identityOf(folder);
  if (readSettings(place).folder === identity) return;
  throw refusal(
    'It was made in another folder, and copied or unpacked here',
    `if you copied it yourself, write "folder": "${identity}" into ${settingsFile}`,
  );
}

/** A link would lead to files of something else. */
function linkIn({ settingsFile }: LocalPlace): string | undefined {
  const folder = path.dirname(settingsFile);
  return [path.dirname(folder), folder].find((one) =>
    lstatSync(one, { throwIfNoEntry: false })?.isSymbolicLink(),
  );
}

/** Nobody who writes an archive, or a repository, can know the number that a folder will get where it is unpacked. */
function identityOf(folder: string): string {
  return String(statSync(folder, { bigint: true }).ino);
}

function faultOf(key: Stats, user: number | undefined): string | undefined {
  if (!key.isFile()) return 'it is no plain file';
  if (user === undefined) return undefined;
  if (key.uid !== user) return `it belongs to the user ${key.uid}, not to ${user}`;
  const mode = key.mode & 0o777;
  return (mode & 0o077) === 0
    ? undefined
    : `others may use it (its mode is 0${mode.toString(8).padStart(3, '0')})`;
}

export function readSettings({ settingsFile }: LocalPlace): LocalSettings {
  try {
    const text = readFileSync(settingsFile, 'utf8');
    const { runtime, engine, port, pagePort, folder } = JSON.parse(text) as Partial<LocalSettings>;
    if (runtime !== 'docker' && runtime !== 'simulated') throw new Error('no known `runtime`');
    return {
      runtime,
      port: portIn(port),
      pagePort: portIn(pagePort),
      folder: typeof folder === 'string' ? folder : undefined,
      ...(typeof engine === 'string' && { engine }),
    };
  } catch (error) {
    throw new UserError(
      `can't read ${settingsFile}, the settings of this folder's control plane: ${messageOf(error)}`,
      'write {"runtime": "docker"} or {"runtime": "simulated"} into it, as it was before',
      error,
    );
  }
}

function portIn(value: unknown): number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535 ? Number(value) : 0;
}

export function writeSettings({ settingsFile }: LocalPlace, settings: LocalSettings): void {
  const text = `${JSON.stringify(settings)}\n`;
  const beside = `${settingsFile}.new`;
  writeAnew(beside, text, 0o600);
  renameSync(beside, settingsFile);
}

/** Makes the settings and the key. Nothing of a folder that was used with a provider is taken over: its records are of things there. */
export function createPlace(
  source: string,
  settings: Omit<LocalSettings, 'port' | 'pagePort' | 'folder'>,
  random: Random,
): LocalPlace {
  const state = path.join(source, '.fleetkeeper', 'state.db');
  if ((statSync(state, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new UserError(
      `${source} has a state already (${state}): it is the folder of a fleet at a provider`,
      'copy its documents, without Accounts, into a folder of their own, and use that one',
    );
  }
  const place = placeIn(source);
  refuseLeftovers(place);
  const folder = path.dirname(place.settingsFile);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The key is in it.
    writeAnew(path.join(folder, '.gitignore'), '*\n', 0o644);
    writeAnew(place.keyFile, `${random.bytes(32).toString('base64url')}\n`, 0o600);
    writeSettings(place, { ...settings, port: 0, folder: identityOf(folder) });
  } catch (error) {
    throw new UserError(
      `can't make a control plane for ${source} in ${folder}: ${messageOf(error)}`,
      'check that this user may write there, and that the disk has room',
      error,
    );
  }
  return place;
}

/** What is there without settings was made by nobody who uses this folder. A link in it would be written through. */
function refuseLeftovers(place: LocalPlace): void {
  const files = [place.database, place.logFile, place.addressFile];
  const link = linkIn(place);
  const left = link ?? files.find((one) => lstatSync(one, { throwIfNoEntry: false }));
  if (left === undefined) return;
  throw new UserError(
    `can't make a control plane for ${place.source}: ${left} is ${link ? 'a link' : 'there already, without its settings'}`,
    `remove ${link ?? path.dirname(place.settingsFile)}`,
  );
}
