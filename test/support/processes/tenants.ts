/** One manager for many accounts, each with a front of its own: as many faults at the same time as there are accounts. */
import { apiVersion, type Condition } from '../../../src/resources/index.ts';
import { ControlPlane } from './control-plane.ts';
import { FleetFolder, service, task } from './fleet.ts';
import { Front, type Exchange, type Seen } from './front.ts';
import { launch, type Program, eventually, temporaryFolder } from './processes.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** A creation whose answer was lost is sent again after twelve times that. */
export const settleMs = 2000;
/** Several managers start at once, and the machine may be busy with others. */
const patienceMs = 90_000;

export class Tenants {
  readonly plane: ControlPlane;
  readonly fleet: FleetFolder;
  readonly #fronts: ReadonlyMap<string, Front>;

  private constructor(plane: ControlPlane, fleet: FleetFolder, fronts: ReadonlyMap<string, Front>) {
    this.plane = plane;
    this.fleet = fleet;
    this.#fronts = fronts;
  }

  /** Ends with the test. */
  static async start(names: readonly string[], timeScale = 600): Promise<Tenants> {
    const folder = await temporaryFolder();
    const entries = names.map(
      (name) =>
        `  - {name: ${name}, email: ${name}@b.example, balanceMicros: 1000000000, apiKeys: [${keyOf(name)}, ${newKeyOf(name)}]}`,
    );
    const plane = new ControlPlane(folder, { accounts: ['accounts:', ...entries].join('\n'), timeScale });
    await plane.start();
    const fronts = new Map<string, Front>();
    for (const name of names) fronts.set(name, await new Front(() => plane.url).start());
    return new Tenants(plane, new FleetFolder(folder), fronts);
  }

  front(name: string): Front {
    const front = this.#fronts.get(name);
    if (!front) throw new Error(`there is no account ${name}`);
    return front;
  }

  /** An Account with its Secret, and by default one service of the same name. */
  async write(
    name: string,
    documents: readonly object[] = [serviceOf(name)],
    { url = this.front(name).url, key = keyOf(name) } = {},
  ): Promise<void> {
    const account = {
      apiVersion,
      kind: 'Account',
      metadata: { name },
      spec: {
        url,
        credentialsSecretRef: { name, key: 'apiKey' },
        pollSeconds: 0.5,
        requests: { perSecond: 100, burst: 100, concurrency: 8 },
      },
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { apiKey: key } };
    await this.fleet.write(`${name}.yaml`, [account, secret, ...documents]);
  }

  run(environment: Readonly<Record<string, string>> = {}): Program {
    const flags = ['--settle', `${settleMs}ms`, '--listen', '127.0.0.1:0'];
    return launch(['run', ...this.fleet.flags, ...flags], environment);
  }

  /** As the account's owner. */
  async call(name: string, method: string, path: string, body?: object): Promise<Json> {
    const answer = await fetch(`${this.plane.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keyOf(name)}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /**
   * A change by somebody else that shows in nothing but the revision. The service is to sleep never: with a policy of
   * an hour it falls asleep seconds later, at this time scale, which moves the revision at any moment.
   */
  async moveRevision(name: string, id: string): Promise<void> {
    await this.call(name, 'PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: null });
  }

  /** What there is, whatever the front shows. */
  async services(name: string): Promise<Json[]> {
    return (await this.call(name, 'GET', '/api/account')).services;
  }

  until(object: string, type: string, status: string, reason?: string): Promise<Condition> {
    return this.fleet.until(object, type, status, reason, patienceMs);
  }

  untilReady(count: number): Promise<void> {
    return this.fleet.untilReady(count, patienceMs);
  }

  mutations(name: string): Seen[] {
    return this.front(name).seen.filter(({ method }) => method !== 'GET');
  }

  reads(name: string): number {
    return this.front(name).seen.filter(({ path }) => path === '/api/account').length;
  }

  /** `count` requests that change something, the first ones, are disturbed so. */
  disturbMutations(name: string, count: number, how: (exchange: Exchange, index: number) => unknown): void {
    let index = 0;
    this.front(name).disturb = ({ method }) => {
      if (method === 'GET' || index >= count) return undefined;
      const turn = index;
      index += 1;
      return (exchange) => how(exchange, turn);
    };
  }
}

export function keyOf(name: string): string {
  return `key-of-${name}-0123456789`;
}

/** Another key of the same account. */
export function newKeyOf(name: string): string {
  return `new-key-of-${name}-0123456789`;
}

/** In the account `account`, which has the service's name unless another one is given. */
export function serviceOf(name: string, spec: object = {}, account = name): object {
  return service(name, { accountRef: { name: account }, ...spec });
}

/** Of the service of its name. */
export function taskOf(name: string): object {
  return task(name, { serviceRef: { name } });
}

/** The request takes effect, and then its answer is in the hands of `how`. */
export function afterwards(how: (exchange: Exchange) => unknown) {
  return async (exchange: Exchange): Promise<void> => {
    await exchange.forward();
    await how(exchange);
  };
}

/** The answer as it is. */
export async function pass(exchange: Exchange, more: Record<string, string> = {}): Promise<void> {
  const { status, body, headers } = await exchange.forward();
  answerWith(exchange, status, body as object, { ...headers, ...more });
}

export function answerWith(
  { response }: Exchange,
  status: number,
  body: string | object,
  headers: Record<string, string> = {},
): void {
  const content = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(content);
}

/** Runs them beside each other, since they mostly wait, and tells what failed. */
export async function failuresOf(
  scenarios: Readonly<Record<string, () => Promise<void>>>,
): Promise<string[]> {
  const entries = Object.entries(scenarios);
  const ends = await Promise.allSettled(entries.map(([, scenario]) => scenario()));
  return ends.flatMap((end, index) =>
    end.status === 'rejected' ? [`${entries[index]?.[0]}: ${(end.reason as Error).stack}`] : [],
  );
}

/** As `eventually`, with more patience. */
export function comesTrue<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false>,
): Promise<Value> {
  return eventually(what, ask, patienceMs);
}
