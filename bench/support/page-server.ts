/**
 * The server of B13: the read API and the built page over a fleet in memory, of which a part changes all the time. In a process of its own,
 * so that its CPU is that of the server. What a manager does beside it is not in it.
 *
 * Messages: a number of changes per second, `{mark}` (the marked object gets another region, which answers with the time), `'usage'`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { desiredObjects } from '../../src/desired/index.ts';
import type { Holdings } from '../../src/read-api/fleet/source.ts';
import type { StaticFiles } from '../../src/read-api/static-files.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import type { ObjectRecord } from '../../src/state/index.ts';
import { createPageServer, listen } from '../../test/support/page-server.ts';
import {
  FakeSource,
  held,
  intentOf,
  readAccount,
  ready,
  recordOf,
  waiting,
} from '../../test/unit/read-api/support.ts';

export interface PageUsage {
  /** Of CPU, since the process began. */
  readonly cpuMs: number;
  readonly atMs: number;
  readonly changes: number;
  readonly rssMb: number;
}

const perAccount = 100;
const replicas = 20;
/** Mutations that are kept. */
const mostIntents = 2000;
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export const markedKey = 'ContainerService/team-0/service-0';
export const fleetName = 'team-0/fleet';

const namespaceOf = (index: number) => `team-${Math.floor(index / perAccount)}`;
const keyOf = (index: number): ObjectKey =>
  `ContainerService/${namespaceOf(index)}/service-${index % perAccount}`;

class ChangingFleet extends FakeSource {
  readonly #objects: number;
  changes = 0;

  constructor(objects: number) {
    const services = Array.from({ length: objects }, (_, index) => recordAt(index, 0));
    const fleet = recordOf('ServiceFleet/team-0/fleet', {
      spec: { replicas },
      status: { desiredReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas },
    });
    const accounts = Array.from({ length: Math.ceil(objects / perAccount) }, (_, index) =>
      readAccount(`${namespaceOf(index * perAccount)}/default`),
    );
    const accountRecords = accounts.map(({ name }) => recordOf(`Account/${name as `${string}/${string}`}`));
    super([...accountRecords, fleet, ...services], accounts);
    this.#objects = objects;
  }

  override accounts() {
    const nowMs = Date.now();
    // Each is read every 15 s, at another moment.
    return this.accountsNow.map((account, index) => ({
      ...account,
      readAt: nowMs - ((nowMs + index * 150) % 15_000),
    }));
  }

  override holdings(): Holdings {
    const accounts = this.accountsNow.map(({ name }) => ({
      account: name,
      origin: 'https://api.example',
      contents: {
        services: Array.from({ length: perAccount }, (_, index) => ({
          id: `${name}-${index}`,
          name: `service-${index}`,
          hourlyMicros: 1_940_000,
          environmentNames: [],
        })) as never,
        volumes: [],
        templates: [],
        registries: [],
      },
    }));
    return { accounts, fleet: { snapshot: { objects: desiredObjects() }, store: this.store } };
  }

  /** One object is another one, and each tenth is changed by a request. */
  async change(): Promise<void> {
    this.changes += 1;
    const index = (this.changes * 7919) % this.#objects;
    const record = recordAt(index, this.changes);
    await this.store.save(record);
    if (this.changes % 10 === 0) this.#mutate(record.key);
  }

  #mutate(key: ObjectKey): void {
    const why = { reason: 'SpecChanged', fields: ['image'], askedBy: { by: 'Document' } } as const;
    const at = Date.now();
    const intent = intentOf(key, {
      idempotencyKey: `key-${this.changes}`,
      createdAt: at,
      finishedAt: at,
      why,
    });
    this.intents.push({ number: this.changes, intent });
    if (this.intents.length > 2 * mostIntents) this.intents.splice(0, mostIntents);
  }

  async mark(region: string): Promise<void> {
    await this.store.save(recordAt(0, 0, region));
  }
}

/** One of 50 waits, one of 100 is held; which ones changes. */
function recordAt(index: number, change: number, region = 'standard'): ObjectRecord {
  const turn = (Math.imul(index + 1, 2_654_435_761) + Math.imul(change, 40_503)) >>> 7;
  const conditions =
    turn % 100 === 7 ? held('UnknownRegion') : turn % 50 === 3 ? waiting('CapacityUnavailable') : ready;
  const isReplica = index > 0 && index <= replicas;
  return recordOf(keyOf(index), {
    conditions: index === 0 ? ready : conditions,
    spec: { image: 'ghcr.io/acme/app:1', region, accountRef: { name: 'default' } },
    status: { state: 'running', region, geography: 'europe', hourlyMicros: 1_940_000 + (change % 1000) },
    ...(isReplica ? { derived: { owner: 'ServiceFleet/team-0/fleet' } } : {}),
  });
}

/** As src/http/page-files.ts serves the build. */
function builtFiles(): StaticFiles {
  const folder = path.resolve(import.meta.dirname, '../../dist/page');
  return new Map(
    readdirSync(folder).map((name) => [
      name === 'index.html' ? '/' : `/page/${name}`,
      {
        type: types[path.extname(name)] ?? 'application/octet-stream',
        content: readFileSync(path.join(folder, name)),
        etag: `"${name}"`,
      },
    ]),
  );
}

function usage(fleet: ChangingFleet): PageUsage {
  const { user, system } = process.cpuUsage();
  return {
    cpuMs: (user + system) / 1000,
    atMs: performance.now(),
    changes: fleet.changes,
    rssMb: process.memoryUsage.rss() / 1e6,
  };
}

async function serve(objects: number): Promise<void> {
  const fleet = new ChangingFleet(objects);
  const url = await listen(createPageServer(fleet, builtFiles()));
  let timer: NodeJS.Timeout | undefined;
  process.on('message', (message: number | 'usage' | { readonly mark: string }) => {
    if (message === 'usage') process.send?.(usage(fleet));
    else if (typeof message === 'object')
      void fleet.mark(message.mark).then(() => process.send?.(Date.now()));
    else {
      clearInterval(timer);
      if (message > 0) timer = setInterval(() => void fleet.change(), 1000 / message);
      process.send?.(true);
    }
  });
  process.on('disconnect', () => process.exit());
  process.send?.(url);
}

if (process.argv[1] === import.meta.filename) await serve(Number(process.argv[2]));
