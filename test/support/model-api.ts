/**
 * The contract as a small model: services and volumes whose life moves on with `tick()`. It throws at every request
 * that the contract does not allow in the state it arrives in (§3), so that a planner which sends one is found out.
 */
import { wire, type ControlApi, type Outcome } from '../../src/api/index.ts';

type Service = wire.Service;
type Volume = wire.Volume;

export interface ModelChoices {
  /** Whether a stop is done at once, or shows a state of its own first. */
  readonly stopsAtOnce: boolean;
  /** `bare`: nothing is returned but id, state and revision. */
  readonly shows: 'everything' | 'bare';
  /** What the API makes of values: in every answer, as in every read. */
  readonly forms?: readonly Form[];
}

export type Form = (service: wire.Service) => Partial<wire.Service>;

export class ModelApi {
  readonly #services = new Map<string, Service>();
  readonly #volumes = new Map<string, Volume>();
  /** What is never returned. */
  readonly environments = new Map<string, Readonly<Record<string, string>>>();
  readonly #choices: ModelChoices;
  #count = 0;

  constructor(choices: ModelChoices) {
    this.#choices = choices;
  }

  /** For `execute`, which knows only the real client. */
  get client(): ControlApi {
    return this as unknown as ControlApi;
  }

  get services(): ReadonlyMap<string, wire.Service> {
    return mapped(this.#services, (service) => this.#show(service));
  }

  get volumes(): ReadonlyMap<string, wire.Volume> {
    return mapped(this.#volumes, (volume) => structuredClone(volume));
  }

  /** The one service, with everything. */
  get onlyService(): Service | undefined {
    return [...this.#services.values()][0];
  }

  get onlyVolume(): Volume | undefined {
    return [...this.#volumes.values()][0];
  }

  /** Every operation that is under way ends. Whether there was one. */
  tick(): boolean {
    let moved = false;
    const move = (change: () => void) => {
      change();
      moved = true;
    };
    for (const service of this.#services.values()) {
      if (service.state === 'provisioning') move(() => set(service, { state: 'running' }));
      else if (service.state === 'stopping') move(() => set(service, { state: 'paused' }));
      else if (service.state === 'deleting') move(() => this.#remove(service));
    }
    for (const volume of this.#volumes.values()) {
      const { status, requestedSizeGb } = volume;
      if (status === 'provisioning' || status === 'expanding')
        move(() => set(volume, { status: 'ready', sizeGb: requestedSizeGb, provisioned: true }));
      else if (status === 'deleting') move(() => this.#volumes.delete(volume.id));
    }
    return moved;
  }

  /** Somebody else's doing, outside of the engine. */
  meddle(change: Partial<Service>): void {
    const service = this.onlyService;
    if (service) set(service, change);
  }

  meddleWithVolume(change: Partial<Volume>): void {
    const volume = this.onlyVolume;
    if (volume) set(volume, change);
  }

  vanish(): void {
    const service = this.onlyService;
    if (service) this.#remove(service);
  }

  // ---- requests ----------------------------------------------------------------------------------------

  /** Nothing changes while a request of it waits for its turn. */
  providedThat(): this {
    return this;
  }

  async createService(body: wire.ServiceCreate): Promise<Outcome<wire.Service>> {
    const spec = wire.serviceCreate.parse(body);
    const id = this.#id();
    const volumeId = spec.volumeGb === undefined ? spec.volumeId : this.#makeStorage(id, spec);
    if (spec.volumeId !== undefined) {
      const volume = this.#volume(spec.volumeId);
      demand(volume.status === 'ready' && !volume.serviceId, 'attached or not ready');
      set(volume, { serviceId: id });
    }
    const service: Service = {
      id,
      name: spec.name,
      state: 'provisioning',
      revision: 1,
      region: spec.region,
      geography: `${spec.geography ?? 'auto'}-7`,
      image: spec.image,
      command: spec.command ?? null,
      httpPort: spec.httpPort ?? null,
      resources: spec.resources,
      environmentNames: Object.keys(spec.environment ?? {}),
      volumeId: volumeId ?? null,
      sleepAfterMinutes: spec.sleepAfterMinutes ?? null,
    };
    this.#services.set(id, service);
    this.environments.set(id, spec.environment ?? {});
    return this.#answer(service);
  }

  async patchService(id: string, body: wire.ServicePatchRequest): Promise<Outcome<wire.Service>> {
    const { revision, patch } = wire.servicePatchRequest.parse(body);
    const { environment, ...fields } = patch;
    const service = this.#service(id);
    demand(revision === service.revision, 'stale revision');
    demand(Object.keys(patch).length > 0, 'empty patch');
    if (environment) {
      this.environments.set(id, environment);
      set(service, { environmentNames: Object.keys(environment) });
    }
    const changes: Partial<Service> = { ...fields };
    set(service, isUp(service) ? { ...changes, state: 'provisioning' } : changes);
    return this.#answer(service);
  }

  async actOnService(id: string, body: wire.ServiceAction): Promise<Outcome<wire.Service>> {
    const request = wire.serviceAction.parse(body);
    const service = this.#service(id);
    const { state } = service;
    switch (request.action) {
      case 'start':
        demand(state === 'paused' || state === 'sleeping', `start in ${state}`);
        demand(this.#storageReady(service), 'start before the storage is ready');
        set(service, { state: 'provisioning' });
        break;
      case 'stop':
        demand(isUp(service) || state === 'sleeping', `stop in ${state}`);
        set(service, { state: this.#choices.stopsAtOnce ? 'paused' : 'stopping' });
        break;
      case 'restart':
        demand(isUp(service), `restart in ${state}`);
        set(service, { state: 'provisioning' });
        break;
      case 'resize':
        demand(isUp(service) || state === 'paused' || state === 'sleeping', `resize in ${state}`);
        set(service, { resources: request.resources, ...(isUp(service) && { state: 'provisioning' }) });
        break;
      case 'delete':
        demand(state !== 'deleting', 'deleted twice');
        set(service, { state: 'deleting' });
    }
    return this.#answer(service);
  }

  async setSleepPolicy(id: string, sleepAfterMinutes: number | null): Promise<Outcome<wire.Service>> {
    wire.sleepRequest.parse({ sleepAfterMinutes });
    const service = this.#service(id);
    set(service, { sleepAfterMinutes });
    return this.#answer(service);
  }

  async createVolume(body: wire.VolumeCreate): Promise<Outcome<wire.Volume>> {
    const { name, region, geography = 'auto', sizeGb } = wire.volumeCreate.parse(body);
    const volume: Volume = {
      id: this.#id(),
      name,
      region,
      geography: `${geography}-7`,
      mode: 'independent',
      serviceId: null,
      status: 'provisioning',
      revision: 1,
      sizeGb,
      requestedSizeGb: sizeGb,
      provisioned: false,
    };
    this.#volumes.set(volume.id, volume);
    return this.#done(volume);
  }

  async updateVolume(id: string, body: wire.VolumeUpdate): Promise<Outcome<wire.Volume>> {
    const { revision, name, sizeGb } = wire.volumeUpdate.parse(body);
    const volume = this.#volume(id);
    const { serviceId, requestedSizeGb } = volume;
    demand(revision === volume.revision, 'stale revision');
    if (name !== undefined) set(volume, { name });
    if (sizeGb !== undefined && sizeGb !== requestedSizeGb) {
      demand(sizeGb > (requestedSizeGb ?? 0), 'shrunk');
      demand(volume.status === 'ready', `expansion in ${volume.status}`);
      demand(!serviceId || this.#service(serviceId).state === 'paused', 'expansion while not paused');
      set(volume, { requestedSizeGb: sizeGb, status: 'expanding' });
    }
    return this.#done(volume);
  }

  async deleteVolume(id: string): Promise<Outcome<wire.VolumeDeletion>> {
    const volume = this.#volume(id);
    demand(volume.mode === 'independent' && !volume.serviceId, 'deleted while attached or owned');
    set(volume, { status: 'deleting' });
    const value = { volumeId: id, operationId: 'op', status: 'deleting' as const };
    return { kind: 'applied', status: 200, value };
  }

  // ----------------------------------------------------------------------------------------------------------

  #makeStorage(serviceId: string, { name, region, volumeGb, volumeMode }: wire.ServiceCreate): string {
    const id = this.#id();
    const mode = volumeMode ?? 'service';
    const size = { sizeGb: volumeGb, requestedSizeGb: volumeGb, provisioned: true };
    this.#volumes.set(id, { id, name, region, mode, serviceId, status: 'ready', revision: 1, ...size });
    return id;
  }

  #remove(service: Service): void {
    this.#services.delete(service.id);
    for (const volume of this.#volumes.values()) {
      if (volume.serviceId !== service.id) continue;
      if (volume.mode === 'independent') set(volume, { serviceId: null });
      else this.#volumes.delete(volume.id);
    }
  }

  #storageReady({ volumeId }: Service): boolean {
    return !volumeId || this.#volumes.get(volumeId)?.status === 'ready';
  }

  #show(service: Service): wire.Service {
    const { id, state, revision } = service;
    const { shows, forms = [] } = this.#choices;
    if (shows === 'bare') return { id, state, revision };
    const shown = structuredClone(service);
    for (const form of forms) Object.assign(shown, form(shown));
    return shown;
  }

  #answer(service: Service): Outcome<Service> {
    return this.#done(this.#show(service));
  }

  #done<Item extends { id: string }>(item: Item): Outcome<Item> {
    return { kind: 'applied', status: 200, value: structuredClone(item) };
  }

  #service(id: string): Service {
    const service = this.#services.get(id);
    if (!service) throw new Error(`the contract forbids it: no service ${id}`);
    return service;
  }

  #volume(id: string): Volume {
    const volume = this.#volumes.get(id);
    if (!volume) throw new Error(`the contract forbids it: no volume ${id}`);
    return volume;
  }

  #id(): string {
    this.#count += 1;
    return `00000000-0000-4000-8000-${String(this.#count).padStart(12, '0')}`;
  }
}

function isUp({ state }: Service): boolean {
  return state === 'running' || state === 'error';
}

function set<Item extends { revision?: number | undefined }>(item: Item, change: Partial<Item>): void {
  Object.assign(item, change, { revision: (item.revision ?? 0) + 1 });
}

function demand(allowed: boolean, what: string): void {
  if (!allowed) throw new Error(`the contract forbids it: ${what}`);
}

function mapped<Item, Shown>(items: ReadonlyMap<string, Item>, show: (item: Item) => Shown) {
  return new Map([...items].map(([id, item]) => [id, show(item)] as const));
}
