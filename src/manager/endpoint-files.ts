/**
 * `run --endpoints-dir`: the endpoints of each fleet in the file NAMESPACE/NAME.json, for gateways that read files. A file is written
 * beside the old one and then takes its name. So a reader, and whoever comes after a killed manager, finds a whole file.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { messageOf, UserError, writeAnew, type Clock } from '../base/index.ts';
import { endpointsOf } from '../kinds/index.ts';
import { serviceFleet } from '../kinds/service-fleet/declaration.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface EndpointFilesOptions {
  readonly folder: string;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** For all to read. */
const fileMode = 0o644;

export class EndpointFiles {
  readonly #options: EndpointFilesOptions;
  readonly #written = new Map<ObjectKey, string>();

  /** Throws a `UserError` when nothing can be written there. */
  constructor(options: EndpointFilesOptions) {
    this.#options = options;
    try {
      mkdirSync(options.folder, { recursive: true });
      writeAnew(path.join(options.folder, '.fleetkeeper'), '', fileMode);
      rmSync(path.join(options.folder, '.fleetkeeper'));
    } catch (error) {
      throw new UserError(
        `can't write to ${options.folder}: ${messageOf(error)}`,
        'name a folder with --endpoints-dir that this user may write to',
        error,
      );
    }
  }

  /** An object has had a pass. */
  passed(key: ObjectKey): void {
    const { kind, namespace, name } = parseObjectKey(key);
    if (kind !== serviceFleet.name) return;
    const { store, clock, folder, logger } = this.#options;
    const endpoints = endpointsOf(store, key, clock.wallMs());
    const text = endpoints && `${JSON.stringify({ namespace, name, endpoints }, undefined, 2)}\n`;
    if (text !== undefined && this.#written.get(key) === text) return;
    const file = path.join(folder, namespace, `${name}.json`);
    try {
      if (text === undefined) rmSync(file, { force: true });
      else replace(file, text);
    } catch (error) {
      this.#written.delete(key);
      return logger.warn({ object: key, file, note: messageOf(error) }, 'the endpoints were not written');
    }
    if (text === undefined) this.#written.delete(key);
    else this.#written.set(key, text);
  }
}

function replace(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  const beside = path.join(path.dirname(file), `.${path.basename(file)}.new`);
  writeAnew(beside, text, fileMode);
  renameSync(beside, file);
}
