/** Everybody else who has a key to the account, and a stranger who has not. */
import { SeededRandom } from '../support/seeded-random.ts';
import type { WorldFault } from './faults.ts';
import type { Network } from './network.ts';
import { ourKey, strangersKey, type Plane } from './plane.ts';
import type { Json, Watcher } from './watch.ts';

export interface ForeignOptions {
  readonly network: Network;
  readonly plane: Plane;
  readonly watcher: () => Required<Pick<Watcher, 'meddled'>>;
  readonly after: (delayMs: number, run: () => void) => void;
  readonly violated: (invariant: string, message: string) => void;
  /** The latest accepted mutation of the manager. */
  readonly lastMutation: () =>
    | { readonly method: string; readonly path: string; readonly key: string; readonly body: Json }
    | undefined;
}

export class ForeignHands {
  readonly #options: ForeignOptions;
  /** What they have registered and not released. */
  readonly #activities = new Map<string, string>();

  constructor(options: ForeignOptions) {
    this.#options = options;
  }

  async act(deed: WorldFault, seed: number): Promise<void> {
    const random = new SeededRandom(seed);
    const { store } = this.#options.plane;
    if (!store) return;
    const services = [...store.services.all()].filter(({ state }) => state !== 'deleting');
    const volumes = [...store.volumes.all()].filter(({ status }) => status !== 'deleting');
    const templates = [...store.templates.all()];
    const key = random.uuid();
    const call = (method: string, path: string, body: object | undefined) =>
      this.#call(method, path, body, key);
    switch (deed) {
      case 'foreign-change': {
        if (templates.length > 0 && random.chance(0.2)) {
          const template = random.pick(templates);
          const spec = {
            name: template.name,
            image: 'ghcr.io/other/app:9',
            description: template.description,
          };
          return call('PUT', `/api/templates/${template.id}`, { revision: template.revision, spec });
        }
        if (volumes.length > 0 && random.chance(0.2)) {
          const { id, revision, requestedSizeGb } = random.pick(volumes);
          return call('PATCH', `/api/volumes/${id}`, { revision, sizeGb: requestedSizeGb + 1 });
        }
        if (services.length === 0) return;
        const { id, revision } = random.pick(services);
        this.#options.watcher().meddled(id);
        const action = random.pick(['stop', 'start', 'restart', 'patch', 'patch', 'sleep']);
        if (action === 'sleep') return call('PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: 7 });
        if (action !== 'patch') return call('POST', `/api/services/${id}/actions`, { action });
        const patch = random.pick([
          { image: 'ghcr.io/other/app:9' },
          { environment: { OTHER: 'x' } },
          { httpPort: 99 },
        ]);
        return call('PATCH', `/api/services/${id}`, { revision, patch });
      }
      case 'foreign-delete': {
        const [volume] = volumes.filter(
          ({ serviceId, mode }) => serviceId === null && mode === 'independent',
        );
        if (volume && random.chance(0.3)) return call('DELETE', `/api/volumes/${volume.id}`, undefined);
        if (services.length === 0) return;
        const { id } = random.pick(services);
        this.#options.watcher().meddled(id);
        return call('POST', `/api/services/${id}/actions`, { action: 'delete' });
      }
      case 'foreign-create': {
        const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
        const name = random.pick([...services.map((each) => each.name), 'theirs']);
        if (random.chance(0.3)) return call('POST', '/api/volumes', { name, region: 'standard', sizeGb: 10 });
        return call('POST', '/api/services', {
          name,
          region: 'standard',
          image: 'ghcr.io/other/app:1',
          resources,
        });
      }
      case 'foreign-activity': {
        if (services.length === 0) return;
        const { id } = random.pick(services);
        const activity = random.uuid();
        this.#activities.set(activity, id);
        await call('POST', `/api/services/${id}/activity`, { id: activity, name: 'theirs' });
        this.#options.after(random.between(10_000, 400_000), () => void this.#release(activity));
        return;
      }
      case 'foreign-probe':
        return this.#probe(random);
      default:
    }
  }

  async releaseAll(): Promise<void> {
    for (const activity of this.#activities.keys()) await this.#release(activity);
  }

  async #release(activity: string): Promise<void> {
    const service = this.#activities.get(activity);
    if (service === undefined) return;
    this.#activities.delete(activity);
    const body = { id: activity, name: 'theirs', release: true };
    await this.#call('POST', `/api/services/${service}/activity`, body, `release-${activity}`);
  }

  /** Asks for what nobody may be given: another effect of a used key (R2), or another account's things (R7). */
  async #probe(random: SeededRandom): Promise<void> {
    const { network, violated, plane, lastMutation } = this.#options;
    const [service] = plane.store?.services.all() ?? [];
    if (service && random.chance(0.5)) {
      const path = `/api/services/${service.id}`;
      const request = { method: 'GET', path, key: undefined, text: undefined, isForeign: true };
      const reply = await network.deliver(request, { authorization: `Bearer ${strangersKey}` });
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

  async #call(method: string, path: string, body: object | undefined, key: string): Promise<void> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    await this.#options.network.deliver({ method, path, key, text, isForeign: true }, headers(key, text));
  }
}

function headers(key: string, text: string | undefined): Record<string, string> {
  return {
    authorization: `Bearer ${ourKey}`,
    'idempotency-key': key,
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
  };
}
