/** Everybody else who has a key to the account, and a stranger who has not. */
import { SeededRandom } from '../support/seeded-random.ts';
import type { WorldFault } from './faults.ts';
import type { KeptThing } from './healing.ts';
import type { Network } from './network.ts';
import { ourKey, foreignKey, type Plane } from './plane.ts';
import type { Json, Watcher } from './watch.ts';

/** They try again after it. */
const patienceMs = 5000;

export type ForeignDeed = Extract<WorldFault, `foreign-${string}`>;

export interface ForeignOptions {
  readonly network: Network;
  readonly plane: Plane;
  readonly watcher: () => Required<Pick<Watcher, 'meddled'>>;
  readonly after: (delayMs: number, run: () => void) => void;
  readonly violated: (invariant: string, message: string) => void;
  /** The manager has written down whose it is: it does not need the mark any more. */
  readonly isRecorded: (id: string) => boolean;
  /** Another environment of it can be noticed. */
  readonly showsEnvironment: (id: string) => boolean;
  /** Other fields that requests set, too. */
  readonly showsFields: (id: string) => boolean;
  /** The latest accepted mutation of the manager. */
  readonly lastMutation: () =>
    | { readonly method: string; readonly path: string; readonly key: string; readonly body: Json }
    | undefined;
}

export class ForeignHands {
  readonly #options: ForeignOptions;
  /** What they have registered and not released. */
  readonly #activities = new Map<string, string>();
  /** Services that they have changed. Where the API hides that, a change of the state would hide it from the revision, too (docs/concepts/drift.md). */
  readonly #changed = new Set<string>();
  #left = 0;

  constructor(options: ForeignOptions) {
    this.#options = options;
  }

  async act(deed: ForeignDeed, seed: number): Promise<unknown> {
    const random = new SeededRandom(seed);
    if (!this.#options.plane.isUp) return undefined;
    switch (deed) {
      case 'foreign-change':
        return this.#change(random);
      case 'foreign-delete':
        return this.#delete(random);
      case 'foreign-create':
        return this.#create(random);
      case 'foreign-activity':
        return this.#register(random);
      case 'foreign-probe':
        return this.#probe(random);
    }
  }

  /** A service of a colleague, without a mark: its id. */
  async leave(): Promise<string | undefined> {
    const { network, plane } = this.#options;
    if (!plane.isUp) return undefined;
    const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
    const text = JSON.stringify({
      name: 'theirs',
      region: 'standard',
      image: 'ghcr.io/other/app:1',
      resources,
    });
    const key = `left-${(this.#left += 1)}`;
    const request = { method: 'POST', path: '/api/services', key, text, isForeign: true };
    const reply = await network.deliver(request, headers(key, text));
    return reply?.status === 201 ? (JSON.parse(reply.body) as { id: string }).id : undefined;
  }

  /** People delete what the message of an object asks them to. */
  async deleteForGood({ kind, id }: KeptThing): Promise<void> {
    const again = () => void this.deleteForGood({ kind, id });
    const key = `kept-${id}`;
    const status =
      kind === 'services'
        ? await this.#call('POST', `/api/services/${id}/actions`, { action: 'delete' }, key)
        : await this.#call('DELETE', `/api/volumes/${id}`, undefined, key);
    if (status === undefined || status === 429) this.#options.after(patienceMs, again);
  }

  async releaseAll(): Promise<void> {
    for (const activity of this.#activities.keys()) await this.#release(activity);
  }

  async #change(random: SeededRandom): Promise<unknown> {
    const { services, volumes, templates } = this.#there();
    if (templates.length > 0 && random.chance(0.2)) {
      const { id, name, description, revision } = random.pick(templates);
      const spec = { name, image: 'ghcr.io/other/app:9', description };
      return this.#call('PUT', `/api/templates/${id}`, { revision, spec }, random.uuid());
    }
    if (volumes.length > 0 && random.chance(0.2)) {
      const { id, revision, requestedSizeGb } = random.pick(volumes);
      return this.#call(
        'PATCH',
        `/api/volumes/${id}`,
        { revision, sizeGb: requestedSizeGb + 1 },
        random.uuid(),
      );
    }
    if (services.length === 0) return undefined;
    const { id, revision } = random.pick(services);
    const { isRecorded, showsEnvironment, showsFields } = this.#options;
    if (this.#changed.has(id) && !(showsEnvironment(id) && showsFields(id))) return undefined;
    this.#changed.delete(id);
    this.#options.watcher().meddled(id);
    const path = `/api/services/${id}`;
    const action = random.pick(['stop', 'start', 'restart', 'patch', 'patch', 'sleep']);
    if (action === 'sleep')
      return this.#call('PATCH', `${path}/sleep`, { sleepAfterMinutes: 7 }, random.uuid());
    if (action !== 'patch') return this.#call('POST', `${path}/actions`, { action }, random.uuid());
    const drawn = random.pick([
      { image: 'ghcr.io/other/app:9' },
      { environment: { OTHER: 'x' } },
      { httpPort: 99 },
    ]);
    // With its environment the mark goes: without it a service whose creation was never answered can't be found.
    const isKept = drawn.environment && !(isRecorded(id) && showsEnvironment(id));
    const patch = isKept ? { httpPort: 99 } : drawn;
    if (!showsFields(id)) return undefined;
    this.#changed.add(id);
    return this.#call('PATCH', path, { revision, patch }, random.uuid());
  }

  async #delete(random: SeededRandom): Promise<unknown> {
    const { services, volumes } = this.#there();
    const volume = volumes.find(({ serviceId, mode }) => serviceId === null && mode === 'independent');
    if (volume && random.chance(0.3))
      return this.#call('DELETE', `/api/volumes/${volume.id}`, undefined, random.uuid());
    if (services.length === 0) return undefined;
    const { id } = random.pick(services);
    this.#options.watcher().meddled(id);
    return this.#call('POST', `/api/services/${id}/actions`, { action: 'delete' }, random.uuid());
  }

  /** With the name of one of ours, as often as not. */
  async #create(random: SeededRandom): Promise<unknown> {
    const name = random.pick([...this.#there().services.map((each) => each.name), 'theirs']);
    const key = random.uuid();
    if (random.chance(0.3))
      return this.#call('POST', '/api/volumes', { name, region: 'standard', sizeGb: 10 }, key);
    const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
    return this.#call(
      'POST',
      '/api/services',
      { name, region: 'standard', image: 'ghcr.io/other/app:1', resources },
      key,
    );
  }

  async #register(random: SeededRandom): Promise<void> {
    const { services } = this.#there();
    if (services.length === 0) return;
    const { id } = random.pick(services);
    const activity = random.uuid();
    this.#activities.set(activity, id);
    this.#options.after(random.between(10_000, 400_000), () => void this.#release(activity));
    await this.#call('POST', `/api/services/${id}/activity`, { id: activity, name: 'theirs' }, random.uuid());
  }

  /** What is not being deleted. */
  #there() {
    const { store } = this.#options.plane;
    return {
      services: [...(store?.services.all() ?? [])].filter(({ state }) => state !== 'deleting'),
      volumes: [...(store?.volumes.all() ?? [])].filter(({ status }) => status !== 'deleting'),
      templates: [...(store?.templates.all() ?? [])],
    };
  }

  async #release(activity: string): Promise<void> {
    const service = this.#activities.get(activity);
    if (service === undefined) return;
    const body = { id: activity, name: 'theirs', release: true };
    const status = await this.#call('POST', `/api/services/${service}/activity`, body, `release-${activity}`);
    if (status !== undefined && status < 429) this.#activities.delete(activity);
    else this.#options.after(patienceMs, () => void this.#release(activity));
  }

  /** Asks for what nobody may be given: another effect of a used key (R2), or another account's things (R7). */
  async #probe(random: SeededRandom): Promise<void> {
    const { network, violated, plane, lastMutation } = this.#options;
    const [service] = plane.store?.services.all() ?? [];
    if (service && random.chance(0.5)) {
      const path = `/api/services/${service.id}`;
      const request = { method: 'GET', path, key: undefined, text: undefined, isForeign: true };
      const reply = await network.deliver(request, { authorization: `Bearer ${foreignKey}` });
      if (reply && reply.status < 300) violated('R7', `a stranger was shown service ${service.id}`);
      return;
    }
    const last = lastMutation();
    if (!last?.body) return;
    const text = JSON.stringify({ ...last.body, image: 'ghcr.io/other/app:7', action: 'delete' });
    const reply = await network.deliver({ ...last, text, isForeign: true }, headers(last.key, text));
    if (reply && reply.status < 300)
      violated('R2', `${last.method} ${last.path} was accepted with a used key and another body`);
  }

  /** The status of the answer, if there was one. */
  async #call(
    method: string,
    path: string,
    body: object | undefined,
    key: string,
  ): Promise<number | undefined> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await this.#options.network.deliver(
      { method, path, key, text, isForeign: true },
      headers(key, text),
    );
    return reply?.status;
  }
}

function headers(key: string, text: string | undefined): Record<string, string> {
  return {
    authorization: `Bearer ${ourKey}`,
    'idempotency-key': key,
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
  };
}
