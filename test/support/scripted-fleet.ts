/** A manager on a clock that the test moves, before an API of which the test says what it answers. */
import pino from 'pino';
import { afterEach } from 'vitest';
import { stringify } from 'yaml';
import type { HttpReply, HttpRequest, Transport } from '../../src/api/index.ts';
import { digestKey, systemRandom } from '../../src/base/index.ts';
import type { DesiredSnapshot } from '../../src/desired/index.ts';
import { Manager, type ManagerOptions, type EnvironmentAccount } from '../../src/manager/index.ts';
import { derivedUid } from '../../src/engine/plan/index.ts';
import type { PassResult } from '../../src/engine/index.ts';
import { defaultShortenedGrace } from '../../src/engine/index.ts';
import { apiVersion, type ObjectKey } from '../../src/resources/index.ts';
import { MemoryStore, newRecord, type ObjectRecord } from '../../src/state/index.ts';
import { createMetrics, type Logger, type Metrics } from '../../src/telemetry/index.ts';
import { ManualClock, settle } from './manual-clock.ts';
import { SeededRandom } from './seeded-random.ts';

export const web: ObjectKey = 'ContainerService/default/web';
export const epoch: ObjectKey = 'ProtectedTask/default/epoch';
export const serviceId = '00000000-0000-4000-8000-000000000001';
export const otherId = '00000000-0000-4000-8000-000000000002';
/** What a heartbeat for the service asks. */
export const heartbeat = `POST /api/services/${serviceId}/activity`;

export const accountDocument = stringify({
  apiVersion,
  kind: 'Account',
  metadata: { name: 'default' },
  spec: { url: 'https://api.invalid', credentialsSecretRef: { name: 'compute', key: 'apiKey' } },
});
export const secretDocument = stringify({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'compute' },
  stringData: { apiKey: 'key' },
});
/** What every fleet has, beside what it is about. */
export const access = { 'account.yaml': accountDocument, 'secret.yaml': secretDocument };

export function taskDocument(spec: object = {}): string {
  return stringify({
    apiVersion,
    kind: 'ProtectedTask',
    metadata: { name: 'epoch' },
    spec: { serviceRef: { name: 'web' }, ...spec },
  });
}

/** The service as the API shows it when it is as `serviceDocument('web')` wants it. */
export function shownService(more: object = {}): Record<string, unknown> {
  return {
    id: serviceId,
    name: 'web',
    state: 'running',
    revision: 1,
    region: 'standard',
    geography: 'auto-7',
    image: 'ghcr.io/acme/web:1',
    command: null,
    httpPort: null,
    resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
    environmentNames: [],
    volumeId: null,
    sleepAfterMinutes: null,
    hourlyMicros: 1,
    ...more,
  };
}

/** An independent volume, attached to the service `user`. */
export function shownVolume(id: string, user: string | null): Record<string, unknown> {
  return {
    id,
    name: 'data',
    mode: 'independent',
    serviceId: user,
    region: 'standard',
    status: 'ready',
    revision: 1,
    sizeGb: 10,
    requestedSizeGb: 10,
    provisioned: true,
  };
}

/** It is known by its id. */
export function knownService(key: ObjectKey = web, more: Partial<ObjectRecord> = {}): ObjectRecord {
  const uid = derivedUid(stateIdentity.ownerName, key);
  return { ...newRecord(key, uid), externalId: serviceId, account: 'default/default', ...more };
}

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface Asked {
  readonly host: string;
  readonly what: string;
  readonly body: Json;
  readonly key: string | undefined;
  /** The API key that it was sent with. */
  readonly credential: string | undefined;
  readonly atMs: number;
}

/** `lost`: nothing comes back, whatever became of it. */
export type Answer =
  | { readonly status: number; readonly body?: object; readonly retryAfter?: string }
  | 'lost';

export class ScriptedApi {
  readonly clock: ManualClock;
  #reported = 0;
  readonly asked: Asked[] = [];
  services: Record<string, unknown>[] = [];
  volumes: Record<string, unknown>[] = [];
  /** By `METHOD path`; undefined: as an API that has `services` and `volumes`. */
  readonly on: Record<string, (asked: Asked) => Answer | undefined | Promise<Answer | undefined>> = {};

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  readonly createTransport = (): Transport => {
    let isClosed = false;
    return {
      exchange: async (request, signal) =>
        isClosed
          ? { kind: 'not-sent', reason: 'closed' }
          : Promise.race([this.#exchange(request), givenUp(signal)]),
      close: async () => {
        isClosed = true;
      },
    };
  };

  /** What it was asked since this was called last. */
  news(): string[] {
    const news = this.asked.slice(this.#reported).map(({ what }) => what);
    this.#reported = this.asked.length;
    return news;
  }

  async #exchange({ method, url, body, headers }: HttpRequest): Promise<HttpReply> {
    const { host, pathname } = new URL(url);
    const what = `${method} ${pathname}`;
    const asked = {
      host,
      what,
      body: body === undefined ? undefined : JSON.parse(body),
      key: headers['idempotency-key'],
      credential: headers['authorization']?.replace('Bearer ', ''),
      atMs: this.clock.monotonicMs(),
    };
    this.asked.push(asked);
    const answer = (await this.on[what]?.(asked)) ?? this.#plain(method, what);
    if (answer === 'lost') return { kind: 'unknown', reason: 'connection reset' };
    const error = { error: { code: 'no', message: 'no' } };
    const shown = answer.body ?? (answer.status < 300 ? {} : error);
    return {
      kind: 'reply',
      status: answer.status,
      retryAfter: answer.retryAfter,
      body: JSON.stringify(shown),
    };
  }

  #plain(method: string, what: string): Answer {
    const { services, volumes } = this;
    const account = { balanceMicros: 5_000_000, currency: 'USD', services, volumes, ledger: [] };
    if (what === 'GET /api/me') return { status: 200, body: { id: 'acme', emailVerified: true } };
    if (what === 'GET /api/account') return { status: 200, body: account };
    if (what.endsWith('/activity')) {
      const body = method === 'GET' ? { activities: [] } : { heartbeatSeconds: 30, expiresInSeconds: 300 };
      return { status: 200, body };
    }
    const service = services.find(({ id }) => what.endsWith(` /api/services/${id as string}`));
    if (!service) return { status: 404 };
    return { status: 200, body: method === 'GET' ? { service } : service };
  }
}

/** Nobody waits for the answer any more. */
function givenUp(signal: AbortSignal | undefined): Promise<HttpReply> {
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve({ kind: 'unknown', reason: 'given up' }), { once: true });
  });
}

export interface ScriptedFleet {
  readonly clock: ManualClock;
  readonly api: ScriptedApi;
  readonly store: MemoryStore;
  readonly manager: Manager;
  readonly metrics: Metrics;
  /** The source says something else. */
  readonly tell: (snapshot: DesiredSnapshot) => void;
}

export interface ScriptedFleetOptions {
  readonly store?: MemoryStore;
  readonly records?: readonly ObjectRecord[];
  /** Before the same API, on the same clock. */
  readonly beside?: Pick<ScriptedFleet, 'api' | 'clock'>;
  readonly graceMs?: number;
  readonly settleMs?: number;
  /** Unix milliseconds at which it begins. */
  readonly startMs?: number;
  readonly environment?: EnvironmentAccount;
  /** Default `manage`. */
  readonly mode?: 'manage' | 'preview';
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  readonly onPass?: (key: ObjectKey, result: PassResult) => void;
  readonly onAccountNews?: ManagerOptions['onAccountNews'];
  /** Reads the source anew. */
  readonly readNow?: () => Promise<DesiredSnapshot>;
  /** Before the manager starts. */
  readonly prepare?: (api: ScriptedApi) => void;
}

export const stateIdentity = {
  digestKey: digestKey(Buffer.alloc(32, 7)),
  ownerName: 'lab',
  ownerConfirmed: true,
};

/** It has been started, and has done all that it does at once. */
export async function scriptedFleet(
  first: DesiredSnapshot,
  { records = [], graceMs = 0, settleMs = 1000, prepare, ...given }: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const clock = given.beside?.clock ?? new ManualClock(given.startMs);
  const api = given.beside?.api ?? new ScriptedApi(clock);
  prepare?.(api);
  const store = given.store ?? new MemoryStore(stateIdentity, records, []);
  const metrics = createMetrics();
  // Times at which things happen are the same in each run.
  const chance = new SeededRandom(1);
  let tell: ScriptedFleet['tell'] = () => {};
  const manager = new Manager({
    source: {
      description: 'what the test wants',
      start: async (onChange) => {
        tell = onChange;
        return first;
      },
      ...(given.readNow ? { readNow: given.readNow } : {}),
      stop: async () => {},
    },
    store,
    environment: given.environment ?? { url: undefined, apiKey: () => undefined },
    clock,
    random: { ...systemRandom, fraction: () => chance.fraction() },
    logger: given.logger ?? pino({ level: 'silent' }),
    metrics,
    settleMs,
    grace: { goneMs: graceMs, ...defaultShortenedGrace },
    allowMassChange: false,
    mode: given.mode ?? 'manage',
    ...(given.onPass ? { onPass: given.onPass } : {}),
    ...(given.onAccountNews ? { onAccountNews: given.onAccountNews } : {}),
    createTransport: api.createTransport,
  });
  await manager.start();
  await settle();
  return { clock, api, store, manager, metrics, tell };
}

/** Whatever is put into it is stopped after each test of the file that calls this. */
export function stoppedAfterEach(): ScriptedFleet[] {
  const running: ScriptedFleet[] = [];
  afterEach(async () => {
    for (const { manager } of running.splice(0)) await manager.stop();
  });
  return running;
}

/** Why an object is ready, or is not. */
export function readyReason({ store }: ScriptedFleet, key: ObjectKey): string | undefined {
  return store.record(key)?.status?.conditions.find(({ type }) => type === 'Ready')?.reason;
}
