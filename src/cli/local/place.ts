/**
 * The control plane of a folder, on this machine. Its files are in `.fleetkeeper/dev/` of the folder:
 *
 *     settings.json      what its containers are, where the engine is, and its port, which stays the same while it is free
 *     key                the API key, made for this folder
 *     control-plane.db   its database; one process has the lock of it
 *     address            where it answers, while a process serves it
 *     control-plane.log  what it logs
 *
 * A folder that has these settings uses no other control plane. Documents don't name it, so the same documents work at a provider.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError, messageOf, type Random } from '../../base/index.ts';
import { isCluster } from '../cluster.ts';

export type LocalRuntime = 'docker' | 'simulated';

export interface LocalSettings {
  readonly runtime: LocalRuntime;
  /** As DOCKER_HOST has it; where the containers of this folder are. */
  readonly engine?: string;
  /** 0: none was used yet. */
  readonly port: number;
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

/** Undefined: the source has no control plane of its own. */
export function localPlaceOf(source: string | undefined): LocalPlace | undefined {
  if (source === undefined || isCluster(source)) return undefined;
  const place = placeIn(source);
  return existsSync(place.settingsFile) ? place : undefined;
}

export function readSettings({ settingsFile }: LocalPlace): LocalSettings {
  try {
    const { runtime, engine, port } = JSON.parse(
      readFileSync(settingsFile, 'utf8'),
    ) as Partial<LocalSettings>;
    if (runtime !== 'docker' && runtime !== 'simulated') throw new Error('no known `runtime`');
    const isPort = Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535;
    return {
      runtime,
      port: isPort ? Number(port) : 0,
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

export function writeSettings({ settingsFile }: LocalPlace, settings: LocalSettings): void {
  const text = `${JSON.stringify(settings)}\n`;
  writeFileSync(`${settingsFile}.new`, text, { mode: 0o600 });
  renameSync(`${settingsFile}.new`, settingsFile);
}

/** Makes the settings and the key. Nothing of a folder that was used with a provider is taken over: its records are of things there. */
export function createPlace(
  source: string,
  settings: Omit<LocalSettings, 'port'>,
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
  const folder = path.dirname(place.settingsFile);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The key is in it.
  writeFileSync(path.join(folder, '.gitignore'), '*\n');
  writeFileSync(place.keyFile, `${random.bytes(32).toString('base64url')}\n`, { mode: 0o600 });
  chmodSync(place.keyFile, 0o600);
  writeSettings(place, { ...settings, port: 0 });
  return place;
}
