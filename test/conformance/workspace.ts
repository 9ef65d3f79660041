/** What the tests of one file make at the server. All of it is removed when they have ended, however they ended. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { Api, type Answer, type Json } from './api.ts';
import { remove, type Kind, type Made } from './removal.ts';
import { target } from './target.ts';

const firstPauseMs = 50;
const longestPauseMs = 2_000;
export const removalTimeoutMs = 60_000;

export class Workspace {
  readonly api = new Api(target.url, target.apiKey);
  readonly #made: Made[] = [];
  #count = 0;

  constructor() {
    afterAll(async () => {
      const left = await remove(this.api, this.#made, removalTimeoutMs);
      if (left.length > 0) throw new Error(`left behind at ${target.url}:\n${left.join('\n')}`);
    }, removalTimeoutMs + target.timeoutMs);
  }

  /** A name that nothing else has. */
  name(): string {
    this.#count += 1;
    return `${target.runName}-${this.#count}-${randomBytes(2).toString('hex')}`;
  }

  serviceSpec(fields: object = {}): Json {
    const { region, image, resources, command } = target;
    return { name: this.name(), region, image, resources, ...(command && { command }), ...fields };
  }

  volumeSpec(fields: object = {}): Json {
    return { name: this.name(), region: target.region, sizeGb: 10, ...fields };
  }

  templateSpec(fields: object = {}): Json {
    return { name: this.name(), image: target.image, ...fields };
  }

  /** Of a repository of its own, unless another is given; the secret is the user name and the password. */
  registrySpec(form: object, secret: string, repository = `registry.example/${this.name()}`): Json {
    const text = JSON.stringify(form).replaceAll('{repository}', repository).replaceAll('{secret}', secret);
    return JSON.parse(text);
  }

  async createService(fields: object = {}): Promise<Json> {
    return this.keep(
      'service',
      await this.api.expect(201, 'POST', '/api/services', this.serviceSpec(fields)),
    );
  }

  async runningService(fields: object = {}): Promise<Json> {
    const { id } = await this.createService(fields);
    return this.untilState(id, 'running');
  }

  async createVolume(fields: object = {}): Promise<Json> {
    return this.keep('volume', await this.api.expect(201, 'POST', '/api/volumes', this.volumeSpec(fields)));
  }

  async readyVolume(fields: object = {}): Promise<Json> {
    const { id } = await this.createVolume(fields);
    return this.untilReady(id);
  }

  async createTemplate(fields: object = {}): Promise<Json> {
    const spec = this.templateSpec(fields);
    return this.keep('template', await this.api.expect(201, 'POST', '/api/templates', spec));
  }

  async createRegistry(spec: object): Promise<Json> {
    return this.keep('registry', await this.api.expect(201, 'POST', '/api/registries', spec));
  }

  keep(kind: Kind, item: Json): Json {
    this.#made.push({ kind, id: String(item.id) });
    return item;
  }

  /** What was meant to be refused is removed all the same when it was not. */
  keepIfMade(kind: Kind, answer: Answer): Answer {
    if (answer.status < 300 && answer.body?.id !== undefined) this.keep(kind, answer.body);
    return answer;
  }

  /** For what was made only to see that it can be made. */
  async discard(kind: Kind, ...items: readonly Json[]): Promise<void> {
    const made = items.map(({ id }) => ({ kind, id: String(id) }));
    const left = await remove(this.api, made, target.timeoutMs);
    if (left.length > 0) throw new Error(`can't be removed: ${left.join('\n')}`);
  }

  async volumesOf(serviceId: string): Promise<Json[]> {
    const { volumes } = await this.api.get('/api/volumes');
    return volumes.filter((volume: Json) => volume.serviceId === serviceId);
  }

  async act(id: string, action: string, fields: object = {}): Promise<Json> {
    return this.api.expect(200, 'POST', `/api/services/${id}/actions`, { action, ...fields });
  }

  untilState(id: string, state: 'running' | 'paused'): Promise<Json> {
    return this.eventually(`service ${id} is ${state}`, async () => {
      const service = await this.api.service(id);
      if (service.state === 'error') throw new Error(`service ${id} is in error: ${JSON.stringify(service)}`);
      return service.state === state && service;
    });
  }

  untilReady(id: string): Promise<Json> {
    return this.eventually(`volume ${id} is ready`, async () => {
      const volume = await this.api.volume(id);
      return volume.status === 'ready' && volume;
    });
  }

  untilGone(id: string): Promise<true> {
    return this.eventually(`${id} is gone from the account`, async () => {
      const { services, volumes } = await this.api.account();
      return ![...services, ...volumes].some((item) => item.id === id);
    });
  }

  /** Asks again, ever more seldom, until the answer is given. */
  async eventually<Value>(what: string, ask: () => Promise<Value | false>): Promise<Value> {
    const untilMs = Date.now() + target.timeoutMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const answer = await ask();
      if (answer !== false) return answer;
      if (Date.now() > untilMs) throw new Error(`not within ${target.timeoutMs / 1000} s: ${what}`);
      await delay(pauseMs);
    }
  }
}

/** Made by the first test that needs it, and shared by the others; each of them fails when it can't be made. */
export function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}
