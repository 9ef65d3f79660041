/**
 * A manager and a reference control plane in this process, over real HTTP: for lives of many steps, which processes
 * and folders would make slow. Everything is awaited by the passes of the manager.
 */
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { digestKey, systemClock, systemRandom } from '../../../src/base/index.ts';
import { startControlPlane, type ControlPlane } from '../../../src/control-plane/main.ts';
import type { DesiredSnapshot, DesiredSource } from '../../../src/desired/index.ts';
import { Manager } from '../../../src/manager/index.ts';
import { oneShotGrace } from '../../../src/engine/index.ts';
import { objectKey, type ManagedKind, type ObjectKey } from '../../../src/resources/index.ts';
import { MemoryStore, type ObjectRecord } from '../../../src/state/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { desiredOf } from '../desired.ts';
import { apiKey, type RecordedRequest } from './control-plane.ts';
import { account } from './fleet.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const logger = pino({ level: 'silent' });
/** The same key in every lab, so that beacons are the same, too. */
const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab', ownerConfirmed: true };

/** Documents that are handed over as if a folder had been read. */
class GivenSource implements DesiredSource {
  readonly description = 'what the test wants';
  #snapshot: DesiredSnapshot = desiredOf({});

  get snapshot(): DesiredSnapshot {
    return this.#snapshot;
  }

  #onChange: (snapshot: DesiredSnapshot) => void = () => {};

  give(documents: readonly object[]): void {
    this.#snapshot = desiredOf({ 'fleet.yaml': documents.map((each) => stringify(each)).join('---\n') });
    this.#onChange(this.#snapshot);
  }

  async start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot> {
    this.#onChange = onChange;
    return this.#snapshot;
  }

  async stop(): Promise<void> {
    this.#onChange = () => {};
  }
}

export class Lab {
  readonly #plane: ControlPlane;
  readonly #source = new GivenSource();
  readonly #waiters = new Set<() => void>();
  readonly #documents: readonly object[];
  readonly store = new MemoryStore(identity, [], []);
  readonly manager: Manager;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    this.#documents = account(plane.url, { pollSeconds: 0.2 });
    this.manager = new Manager({
      source: this.#source,
      store: this.store,
      environment: { url: undefined, apiKey: () => undefined },
      clock: systemClock,
      random: systemRandom,
      logger,
      metrics: createMetrics(),
      settleMs: 150,
      grace: oneShotGrace,
      allowMassChange: true,
      mode: 'manage',
      commandFlags: '--source fleet',
      onPass: () => {
        for (const waiter of this.#waiters) waiter();
      },
    });
  }

  /** Ends with the test. `timeScale`: a service is provisioned in 8 s of its time. */
  static async start(timeScale = 600): Promise<Lab> {
    const plane = await startControlPlane({
      listen: { host: '127.0.0.1', port: 0 },
      adminListen: { host: '127.0.0.1', port: 0 },
      database: ':memory:',
      accounts: {
        accounts: [
          {
            name: 'acme',
            email: 'a@b.example',
            emailVerified: true,
            balanceMicros: 1_000_000_000_000,
            apiKeys: [apiKey],
          },
        ],
      },
      timeScale,
      clock: systemClock,
      random: systemRandom,
      logger,
    });
    const lab = new Lab(plane);
    onTestFinished(async () => {
      await lab.manager.stop();
      await plane.close();
    });
    lab.want([]);
    await lab.manager.start();
    return lab;
  }

  /** Exactly these, beside the Account. */
  want(documents: readonly object[]): void {
    this.#source.give([...this.#documents, ...documents]);
  }

  record(kind: ManagedKind, name: string): ObjectRecord | undefined {
    return this.store.record(objectKey(kind, 'default', name));
  }

  /** Of everything but the Account. */
  records(): ObjectRecord[] {
    return [...this.store.records()].filter(({ key }) => !key.startsWith('Account/'));
  }

  /** Asked after each pass of the manager. */
  async until(what: string, holds: () => boolean, timeoutMs = 30_000): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const ask = () => {
      if (holds()) resolve();
    };
    const deadline = setTimeout(
      () => reject(new Error(`not within ${timeoutMs} ms: ${what}${this.#reported()}`)),
      timeoutMs,
    );
    this.#waiters.add(ask);
    ask();
    try {
      await promise;
    } finally {
      clearTimeout(deadline);
      this.#waiters.delete(ask);
    }
  }

  /** Until all that is wanted is as wanted, and nothing else is left. */
  async untilSettled(keys: readonly ObjectKey[], timeoutMs?: number): Promise<void> {
    const holds = () =>
      this.manager.snapshot === this.#source.snapshot && isSettled(this.records(), keys, this.store);
    await this.until('everything settled', holds, timeoutMs);
  }

  #reported(): string {
    return this.records()
      .flatMap(({ key, status }) => {
        const ready = status?.conditions.find(({ type }) => type === 'Ready');
        return [`\n${key} ${ready?.status} ${ready?.reason}: ${ready?.message}`];
      })
      .join('');
  }

  /** As somebody with the same key, but not the manager. */
  async call(method: string, path: string, body?: unknown): Promise<Json> {
    const response = await fetch(`${this.#plane.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: Json = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  async faults(list: readonly object[]): Promise<void> {
    await this.#admin('PUT', '/faults', list);
  }

  async faultHits(): Promise<number> {
    const answer: Json = await this.#admin('GET', '/faults');
    const list: { hits: number }[] = Array.isArray(answer) ? answer : answer.faults;
    return list.reduce((sum, { hits }) => sum + hits, 0);
  }

  async requests(): Promise<RecordedRequest[]> {
    return (await this.#admin('GET', '/requests')).requests;
  }

  async forgetRequests(): Promise<void> {
    await this.#admin('DELETE', '/requests');
  }

  async #admin(method: string, path: string, body?: unknown): Promise<Json> {
    const response = await fetch(`${this.#plane.adminUrl}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    return text ? JSON.parse(text) : undefined;
  }
}

function isSettled(
  records: readonly ObjectRecord[],
  keys: readonly ObjectKey[],
  store: MemoryStore,
): boolean {
  if (records.length !== keys.length) return false;
  return records.every(({ key, generation, status, deletionRequestedAt }) => {
    const ready = status?.conditions.find(({ type }) => type === 'Ready')?.status;
    const isCurrent = status?.observedGeneration === generation && deletionRequestedAt === undefined;
    return keys.includes(key) && isCurrent && ready === 'True' && !store.openIntent(key);
  });
}
