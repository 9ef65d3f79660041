/**
 * Fleets as people declare them, in a folder or in a cluster, and what the command line says of them. The same tests run on both:
 * `createFleet` makes the one that the project of the run asks for (vitest.config.ts).
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'vitest';
import { stringify } from 'yaml';
import { systemRandom } from '../../../src/base/index.ts';
import {
  apiVersion,
  parseObjectKey,
  resourceTypes,
  type Condition,
  type ManagedKind,
} from '../../../src/resources/index.ts';
import { readState, type ObjectRecord } from '../../../src/state/index.ts';
import { readPlanJson } from '../plan-form.ts';
import { apiKey } from './control-plane.ts';
import { isSimulated } from '../world.ts';
import { launch, type Program, eventually, fleetkeeper, type Finished } from './processes.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export function account(url: string, spec: object = {}): object[] {
  return [
    {
      apiVersion,
      kind: 'Account',
      metadata: { name: 'default' },
      spec: {
        url,
        credentialsSecretRef: { name: 'compute', key: 'apiKey' },
        pollSeconds: 1,
        requests: { perSecond: 100, burst: 100, concurrency: 8 },
        ...spec,
      },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'compute' }, stringData: { apiKey } },
  ];
}

export function service(name: string, spec: object = {}, annotations?: Record<string, string>): object {
  return {
    apiVersion,
    kind: 'ContainerService',
    metadata: { name, ...(annotations ? { annotations } : {}) },
    spec: {
      region: 'standard',
      image: 'ghcr.io/acme/app:1',
      resources: { cpu: 1, memoryGb: 1 },
      ...spec,
    },
  };
}

export function volume(name: string, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'StorageVolume',
    metadata: { name },
    spec: { region: 'standard', sizeGb: 10, ...spec },
  };
}

/** Of the service `web`, if `spec` names no other one. */
export function task(name: string, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'ProtectedTask',
    metadata: { name },
    spec: { serviceRef: { name: 'web' }, ...spec },
  };
}

function isReady({ status }: ObjectRecord): boolean {
  return status?.conditions.some((item) => item.type === 'Ready' && item.status === 'True') === true;
}

/** What tests do with a fleet, wherever it is declared. */
export abstract class Fleet {
  /** That name it on the command line. */
  abstract readonly flags: string[];
  /** Of documents that name none. */
  abstract readonly namespace: string;

  /** One file of documents; a string is written as it is. What the file held before, and does not now, goes. */
  abstract write(file: string, documents: readonly object[] | string): Promise<void>;
  /** A file or a folder of files. */
  abstract remove(file: string): Promise<void>;
  abstract run(...flags: string[]): Program;
  /** Until there is nothing left to be done; the code is 0 when everything is Ready. */
  abstract apply(...flags: string[]): Promise<Finished>;
  /** The records as any reader of the state sees them, by `Kind/name`. */
  abstract records(): Promise<Map<string, ObjectRecord>>;

  async plan(...flags: string[]): Promise<{ code: number | null; plan: Json; stderr: string }> {
    const { code, stdout, stderr } = await fleetkeeper(['plan', ...this.flags, '--output', 'json', ...flags]);
    return { code, plan: stdout ? readPlanJson(stdout) : undefined, stderr };
  }

  async condition(object: string, type: string): Promise<Condition | undefined> {
    const record = (await this.records()).get(object);
    return record?.status?.conditions.find((condition) => condition.type === type);
  }

  /** Waits until the condition has the status (and reason, if one is given). */
  async until(
    object: string,
    type: string,
    status: string,
    reason?: string,
    timeoutMs = 30_000,
  ): Promise<Condition> {
    let last: Condition | undefined;
    const ask = async () => {
      last = await this.condition(object, type);
      return last?.status === status && (reason === undefined || last.reason === reason) && last;
    };
    return eventually(`${object} ${type}=${status} ${reason ?? ''}`, ask, timeoutMs).catch((error: Error) => {
      throw new Error(`${error.message}; at last it was ${JSON.stringify(last)}`);
    });
  }

  /** Waits until there are `count` objects (accounts not counted), all of them Ready; `timeoutMs`: without any change of that. */
  async untilReady(count: number, timeoutMs = 60_000): Promise<void> {
    let missing = '';
    await eventually(
      `${count} objects Ready`,
      async () => {
        const objects = [...(await this.records())].filter(([name]) => !name.startsWith('Account/'));
        missing = objects
          .filter(([, record]) => !isReady(record))
          .map(
            ([name, { status }]) =>
              `${name} ${status?.conditions[0]?.reason}: ${status?.conditions[0]?.message}`,
          )
          .join('\n');
        return objects.length === count && missing === '';
      },
      timeoutMs,
      () => missing,
    ).catch((error: Error) => {
      throw new Error(`${error.message}; not Ready:\n${missing.slice(0, 2000)}`);
    });
  }
}

/** Where fleets of this run are declared. */
export const isInCluster = process.env['FLEETKEEPER_TEST_SOURCE'] === 'kubernetes';

/** For what only folders have: files, a state file, its lock. */
export const testInFolder = isInCluster ? test.skip : test;

/** For what takes a quarter of an hour, which only a simulated world has. */
export const testInTime = isSimulated ? testInFolder : test.skip;

/** The same, for what takes some minutes, in folders and clusters. */
export const testOnClock = isSimulated ? test : test.skip;

/** For what only clusters have: resources of replicas, and their owners. */
export const testInCluster = isInCluster ? test : test.skip;

/** How messages name the place of an object, as the source of a regular expression. */
export function placeOf(kind: ManagedKind, name: string, file: string): string {
  if (isInCluster) return `${resourceTypes[kind].plural}/[a-z0-9-]+/${name}`;
  return `${file.replaceAll('.', '\\.')}:\\d+`;
}

export function folderOf(fleet: Fleet): FleetFolder {
  if (fleet instanceof FleetFolder) return fleet;
  throw new Error('this test needs a folder: declare it with testInFolder');
}

/** Ends with the test. */
export async function createFleet(folder: string): Promise<Fleet> {
  if (!isInCluster) return new FleetFolder(folder);
  const { createClusterFleet } = await import('./cluster-fleet.ts');
  return createClusterFleet(folder);
}

export class FleetFolder extends Fleet {
  readonly namespace = 'default';
  readonly folder: string;
  readonly state: string;

  constructor(folder: string) {
    super();
    this.folder = path.join(folder, 'fleet');
    this.state = path.join(folder, 'state', 'state.db');
  }

  async write(file: string, documents: readonly object[] | string): Promise<void> {
    const target = path.join(this.folder, file);
    await mkdir(path.dirname(target), { recursive: true });
    const text =
      typeof documents === 'string'
        ? documents
        : documents.map((document) => stringify(document)).join('---\n');
    await writeFile(target, text);
  }

  async remove(file: string): Promise<void> {
    await rm(path.join(this.folder, file), { recursive: true });
  }

  get flags(): string[] {
    return ['--source', this.folder, '--state', this.state];
  }

  run(...flags: string[]): Program {
    // Tests take documents out of files, and don't wait a minute for that.
    return launch(['run', ...this.flags, '--settle', '1s', '--file-grace', '500ms', ...flags]);
  }

  apply(...flags: string[]) {
    return fleetkeeper(['apply', ...this.flags, '--yes', '--settle', '1s', '--stable', '500ms', ...flags]);
  }

  async records(): Promise<Map<string, ObjectRecord>> {
    if (!existsSync(this.state)) return new Map();
    const store = readState(this.state, systemRandom, { default: 'fleet', explicit: undefined });
    return new Map(
      [...store.records()].map((record) => {
        const { kind, name } = parseObjectKey(record.key);
        return [`${kind}/${name}`, record];
      }),
    );
  }
}
