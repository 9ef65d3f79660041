/**
 * A whole life of a small fleet with a provider that speaks a dialect: the real manager on a clock that the test moves.
 *
 *     create -> quiet -> drift -> edit, in a race with somebody else -> grow -> another process takes over -> quiet -> delete
 *
 * Every phase ends when all is as wanted at the provider, and the status says so.
 */
import { setImmediate } from 'node:timers/promises';
import pino from 'pino';
import type { HttpRequest, Transport } from '../../src/api/index.ts';
import type { DesiredSnapshot } from '../../src/desired/index.ts';
import { Manager } from '../../src/manager/index.ts';
import { defaultShortenedGrace } from '../../src/engine/index.ts';
import { MemoryStore } from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { randomPort } from '../simulation/random-port.ts';
import { desiredOf } from '../support/desired.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { stateIdentity } from '../support/scripted-fleet.ts';
import type { Dialect, Held } from './dialect.ts';
import { access, broken, differences, documents, first, type Wanted } from './fleet.ts';
import type { Json } from './provider/conduct.ts';
import { apiKey, Provider } from './provider/provider.ts';
import { rendered } from './render.ts';

const pollSeconds = 5;
const longestPhaseMs = 15 * 60_000;
/** Longer than what takes longest: a service falls asleep after two minutes, and some lists are two minutes old. */
const quietMs = 30 * pollSeconds * 1000;
const mostSilentMs = 300_000;

export interface Phase {
  readonly name: string;
  readonly tookMs: number;
  /** Accepted changes of the manager, sorted. */
  readonly mutations: readonly string[];
}

export interface Life {
  readonly phases: readonly Phase[];
  readonly problems: readonly string[];
  readonly requests: number;
}

/** Where the provider is reached; without one, in this process. */
export interface Wire {
  readonly url: string;
  readonly createTransport: () => Transport;
}

/** How a provider answers what it is asked on the wire. */
export type Answering = (asked: HttpRequest) => {
  status: number;
  retryAfter: string | undefined;
  text: string;
};

/** `connect`: puts what answers behind a wire. */
export async function live(dialect: Dialect, connect?: (answering: Answering) => Wire): Promise<Life> {
  const life = new FleetLife(dialect, connect);
  try {
    return await life.run();
  } finally {
    await life.end();
  }
}

class FleetLife {
  readonly #dialect: Dialect;
  readonly #held: ReadonlySet<string>;
  readonly #wire: Wire;
  readonly #clock = new ManualClock();
  readonly #provider: Provider;
  readonly #store = new MemoryStore(stateIdentity, [], []);
  readonly #random = randomPort(new SeededRandom(15));
  readonly #phases: Phase[] = [];
  readonly #problems: string[] = [];
  #manager: Manager | undefined;
  #tell: (snapshot: DesiredSnapshot) => void = () => {};
  #snapshot: DesiredSnapshot;
  #foreign = 0;
  /** How many of the provider's mutations were made by somebody else. */
  #ours = 0;
  #requests = 0;
  #underWay = 0;

  constructor(dialect: Dialect, connect?: (answering: Answering) => Wire) {
    this.#dialect = dialect;
    this.#wire = connect?.((asked) => this.#answer(asked)) ?? {
      url: 'https://provider.invalid',
      createTransport: () => this.#direct(),
    };
    this.#held = new Set(Object.keys(dialect.held ?? {}));
    const startMs = this.#clock.wallMs();
    const { adds, refusesCreation } = dialect.conduct ?? {};
    this.#provider = new Provider(() => this.#clock.wallMs(), {
      ...dialect.conduct,
      // Times of a dialect count from the start.
      ...(adds && { adds: { ...adds, fromMs: startMs + adds.fromMs } }),
      ...(refusesCreation && {
        refusesCreation: { ...refusesCreation, untilMs: startMs + refusesCreation.untilMs },
      }),
    });
    this.#snapshot = desiredOf({ ...access(this.#wire.url, pollSeconds), ...documents(first) });
  }

  async run(): Promise<Life> {
    // What nobody here manages, and which a dialect may make unreadable.
    const theirs = { name: 'theirs', region: 'standard', image: 'ghcr.io/other/app:1' };
    await this.#foreignly('POST', '/api/services', {
      ...theirs,
      resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    });
    await this.#foreignly('POST', '/api/volumes', { name: 'theirs', region: 'standard', sizeGb: 10 });
    await this.#foreignly('POST', '/api/templates', { name: 'theirs', image: 'ghcr.io/other/app:1' });
    await this.#startManager();
    await this.#phase('create', first);
    await this.#quiet('quiet');
    await this.#drift();
    await this.#phase('drift', first);
    const edited = { ...first, webImage: 'acme/web:2', apiMode: 'green', workerCpu: 2 };
    // Somebody else is a moment earlier: our revision is not the current one.
    await this.#patch('web', { httpPort: 81 });
    this.#declare(documents(edited));
    await this.#phase('edit', edited);
    const grown = { ...edited, volumeGb: 20 };
    this.#declare(documents(grown));
    await this.#phase('growth', grown);
    const unnamed = { ...grown, volumeGb: 30, isVolumeUnnamed: true };
    this.#declare(documents(unnamed));
    await this.#phase('growth of a volume that its service does not name', unnamed);
    await this.#manager?.stop();
    await this.#startManager();
    await this.#quiet('another process');
    this.#declare({});
    await this.#deletion();
    this.#judge();
    return { phases: this.#phases, problems: this.#problems, requests: this.#requests };
  }

  async end(): Promise<void> {
    await this.#manager?.stop();
  }

  // ---- phases ----------------------------------------------------------------------------------------

  async #phase(name: string, wanted: Wanted): Promise<void> {
    const open = () => [...differences(this.#provider, wanted, this.#held), ...this.#unsettled()];
    await this.#until(name, open);
  }

  async #deletion(): Promise<void> {
    const { stays = [] } = this.#dialect;
    const provider = this.#provider;
    const left = () => {
      const { services, volumes, templates, registries } = provider.settled();
      const names = [
        ...[...services.values()]
          .filter(({ state }) => state !== 'deleted')
          .map(({ name }) => `service ${name}`),
        ...[...volumes.values()].map(({ name }) => `volume ${name}`),
        ...[...templates.values()]
          .filter(({ builtIn }) => !builtIn)
          .map(({ spec }) => `template ${spec.name}`),
        ...[...registries.values()].map(({ repository }) => `registry ${repository}`),
      ];
      const records = [...this.#store.records()]
        .map(({ key }) => key)
        .filter((key) => !key.startsWith('Account/'));
      return [
        ...names.filter((name) => !name.endsWith(' theirs') && !stays.includes(name)),
        ...records.filter((key) => !this.#staying(key)).map((key) => `the record of ${key}`),
      ];
    };
    await this.#until('deletion', left);
  }

  /** It says that it can't go. */
  #staying(key: string): boolean {
    const [kind, , name] = key.split('/');
    return (this.#dialect.stays ?? []).length > 0 && this.#held.has(`${kind}/${name}`);
  }

  async #until(name: string, open: () => readonly string[]): Promise<void> {
    const startMs = this.#clock.wallMs();
    while (open().length > 0 && this.#clock.wallMs() < startMs + longestPhaseMs) await this.#advance(1000);
    const left = open();
    if (left.length > 0) this.#problems.push(`${name}: ${left.join('; ')}`);
    this.#phases.push({ name, tookMs: this.#clock.wallMs() - startMs, mutations: this.#mutations() });
  }

  /** Nothing is left to do: so many polls later nothing was done. */
  async #quiet(name: string): Promise<void> {
    const startMs = this.#clock.wallMs();
    const before = this.#mutations();
    await this.#advance(quietMs);
    const mutations = this.#mutations();
    if (mutations.length > 0) this.#problems.push(`${name}: sent ${mutations.join(', ')}`);
    this.#phases.push({ name, tookMs: this.#clock.wallMs() - startMs, mutations: [...before, ...mutations] });
  }

  async #drift(): Promise<void> {
    await this.#patch('web', { image: 'ghcr.io/other/app:9' });
    await this.#patch('api', { environment: { OTHER: 'x' } });
    const worker = this.#serviceId('worker');
    if (worker) await this.#foreignly('POST', `/api/services/${worker}/actions`, { action: 'stop' });
    const template = [...this.#provider.records.templates.values()].find(({ spec }) => spec.name === 'base');
    if (!template) return;
    const { id, revision, spec } = template;
    await this.#foreignly('PUT', `/api/templates/${id}`, {
      revision,
      spec: { ...spec, image: 'ghcr.io/other/app:9' },
    });
  }

  // ---- the manager -----------------------------------------------------------------------------------

  async #startManager(): Promise<void> {
    const manager = new Manager({
      source: {
        description: 'the documents of the test',
        start: async (onChange) => {
          this.#tell = onChange;
          return this.#snapshot;
        },
        stop: async () => {},
      },
      store: this.#store,
      environment: { url: undefined, apiKey: () => undefined },
      clock: this.#clock,
      random: this.#random,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
      settleMs: 5000,
      grace: { goneMs: 0, ...defaultShortenedGrace },
      allowMassChange: true,
      mode: 'manage',
      createTransport: () => this.#transport(),
    });
    this.#manager = manager;
    await manager.start();
  }

  /** The network, which is not part of the simulated time: that moves on when all answers are there. */
  #transport(): Transport {
    const wire = this.#wire.createTransport();
    return {
      exchange: async (request, signal) => {
        this.#underWay += 1;
        try {
          return await wire.exchange(request, signal);
        } finally {
          this.#underWay -= 1;
        }
      },
      close: () => wire.close(),
    };
  }

  #direct(): Transport {
    return {
      exchange: async (request) => {
        const { status, retryAfter, text } = this.#answer(request);
        return { kind: 'reply', status, retryAfter, body: text };
      },
      close: async () => {},
    };
  }

  #answer({ method, url, headers, body }: HttpRequest): ReturnType<Answering> {
    this.#requests += 1;
    const { pathname: path } = new URL(url);
    const answer = this.#provider.handle({
      method,
      path,
      key: headers['idempotency-key'],
      authorization: headers['authorization'],
      body: body === undefined ? undefined : JSON.parse(body),
    });
    const shown = rendered(this.#dialect, { method, path }, answer.status, answer.body);
    return {
      status: shown.status,
      retryAfter: answer.headers['Retry-After'],
      text: JSON.stringify(shown.body),
    };
  }

  #declare(wanted: Record<string, string>): void {
    this.#snapshot = desiredOf({ ...access(this.#wire.url, pollSeconds), ...wanted });
    this.#tell(this.#snapshot);
  }

  async #advance(durationMs: number): Promise<void> {
    await this.#clock.advance(durationMs);
    do await setImmediate();
    while (this.#underWay > 0);
  }

  // ---- what is seen of it -----------------------------------------------------------------------------

  /** Each object is Ready in its latest generation, or is held with the reason that is expected. */
  #unsettled(): string[] {
    const { held: others = {} } = this.#dialect;
    const held: Held = { [broken]: 'ServiceError', ...others };
    return [...this.#store.records()].flatMap(({ key, generation, status }) => {
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      const [kind, , name] = key.split('/') as [string, string, string];
      const expected = held[`${kind}/${name}`];
      const isSettled =
        status?.observedGeneration === generation &&
        (expected === undefined
          ? ready?.status === 'True'
          : ready?.status === 'False' &&
            ready.reason === expected &&
            (this.#dialect.hidesErrors ?? tells(key, ready.message)));
      return isSettled ? [] : [`${key} says ${ready?.status} ${ready?.reason}: ${ready?.message}`];
    });
  }

  /** Ours, since this was asked last. */
  #mutations(): string[] {
    const all = this.#provider.mutations;
    const news = all.slice(this.#ours).filter((mutation) => !this.#theirs.has(mutation));
    this.#ours = all.length;
    return news.map(({ what }) => what).sort();
  }

  readonly #theirs = new Set<Json>();

  /** What is true whatever the dialect. */
  #judge(): void {
    const { created, faults, heartbeats } = this.#provider;
    const counts = Map.groupBy(created, (name) => name);
    for (const [name, each] of counts) {
      if (each.length > 1 && name !== 'theirs')
        this.#problems.push(`${name} was created ${each.length} times`);
    }
    for (const fault of faults) this.#problems.push(`the contract forbids: ${fault}`);
    const isHeld = this.#held.has('ProtectedTask/epoch') || this.#held.has('ContainerService/job');
    if (heartbeats.size !== 1 && !isHeld)
      this.#problems.push(`${heartbeats.size} activities were registered`);
    for (const [id, times] of heartbeats) {
      const longest = Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0)));
      if (longest > mostSilentMs) this.#problems.push(`activity ${id} had no heartbeat for ${longest} ms`);
    }
    const { services, volumes } = this.#provider.settled();
    const left = [...services.values(), ...volumes.values()].filter(
      ({ name }) => name === this.#provider.conduct.storesName('theirs'),
    );
    if (left.length !== 2) this.#problems.push('what was not ours is gone');
  }

  // ---- somebody else ---------------------------------------------------------------------------------

  #serviceId(name: string): string | undefined {
    const stored = this.#provider.conduct.storesName(name);
    return [...this.#provider.settled().services.values()].find((each) => each.name === stored)?.id;
  }

  async #patch(name: string, patch: object): Promise<void> {
    const id = this.#serviceId(name);
    const service = id === undefined ? undefined : this.#provider.records.services.get(id);
    if (service) await this.#foreignly('PATCH', `/api/services/${id}`, { revision: service.revision, patch });
  }

  /** Until it is accepted. */
  async #foreignly(method: string, path: string, body: object): Promise<void> {
    for (let attempt = 0; attempt < 300; attempt += 1) {
      this.#foreign += 1;
      const before = this.#provider.mutations.length;
      const key = `foreign-${this.#foreign}`;
      this.#provider.handle({ method, path, key, authorization: `Bearer ${apiKey}`, body });
      const made = this.#provider.mutations[before];
      if (made) {
        this.#theirs.add(made);
        return;
      }
      await this.#advance(1000);
    }
    throw new Error(`${method} ${path} was not accepted`);
  }
}

/** Whether it says what failed, in the provider's words. */
function tells(key: string, message: string): boolean {
  return !key.endsWith('/broken') || message.includes('could not be pulled');
}
