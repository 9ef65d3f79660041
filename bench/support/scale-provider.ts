/**
 * The provider of a fleet of any size, which answers from texts: nothing but reads and heartbeats. It notes by how much later than its
 * period each heartbeat comes.
 */
import type { ScaleWorkload } from './scale-world.ts';

export const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
export const image = 'ghcr.io/acme/app:1';
/** A provider may want more than one each 30 s (§2): the more there are, the more is seen. */
const heartbeatSeconds = 5;

function digits(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}

export function idOf(account: number, service: number): string {
  return `${digits(account, 8)}-0000-4000-8000-${digits(service, 12)}`;
}

export interface Heartbeats {
  /** How many have had one. */
  readonly activities: number;
  /** Of each but the first one of an activity: by how much later than its period it came. */
  readonly lateMs: readonly number[];
}

export class ScaleProvider {
  readonly #bodies: readonly string[];
  readonly #newest = new Map<string, number>();
  readonly #lateMs: number[] = [];
  #balance = 1e12;

  constructor({ accounts, servicesPerAccount }: Pick<ScaleWorkload, 'accounts' | 'servicesPerAccount'>) {
    this.#bodies = Array.from({ length: accounts }, (_, account) => servicesOf(account, servicesPerAccount));
  }

  get heartbeats(): Heartbeats {
    return { activities: this.#newest.size, lateMs: this.#lateMs };
  }

  /** The text of the answer. The key of an account is its number. */
  answer(pathname: string, authorization: string | undefined, body: string | undefined): string {
    const account = Number((authorization ?? '').replace('Bearer ', ''));
    if (pathname === '/api/me') return `{"id":"account-${account}","emailVerified":true}`;
    if (pathname === '/api/account') {
      this.#balance -= 1;
      return `{"balanceMicros":${this.#balance},"currency":"USD","services":${this.#bodies[account]},"volumes":[],"ledger":[]}`;
    }
    if (pathname.endsWith('/activity')) return this.#activity(body);
    return '{"regions":[],"templates":[],"gpuCatalog":[],"currency":"USD"}';
  }

  #activity(body: string | undefined): string {
    if (!body) return '{"activities":[]}';
    const { id } = JSON.parse(body) as { readonly id: string };
    const nowMs = performance.now();
    const before = this.#newest.get(id);
    if (before !== undefined) this.#lateMs.push(Math.max(0, nowMs - before - heartbeatSeconds * 1000));
    this.#newest.set(id, nowMs);
    return JSON.stringify({ id, heartbeatSeconds, expiresInSeconds: 300 });
  }
}

function servicesOf(account: number, count: number): string {
  const services = Array.from({ length: count }, (_, service) => ({
    id: idOf(account, service),
    name: `service-${service}`,
    state: 'running',
    revision: 1,
    region: 'standard',
    geography: 'auto-7',
    image,
    command: null,
    httpPort: null,
    resources,
    environmentNames: [],
    volumeId: null,
    sleepAfterMinutes: null,
    hourlyMicros: 1,
    endpoint: `https://service-${service}.example`,
  }));
  return JSON.stringify(services);
}
