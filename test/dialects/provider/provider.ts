/**
 * A control plane written from CONTROL-API.md alone. It shares no code with `src/control-plane/` and `src/api/wire.ts`: a wrong reading
 * of the contract there is not repeated here. It decides as its `Conduct` says where the contract is silent, and
 * writes down every request that the contract does not allow (`faults`).
 */
import { createHash } from 'node:crypto';
import { plainConduct, type Conduct, type Json, type Refusal } from './conduct.ts';
import { Records, type Registry, type Service, type Template, type Volume } from './records.ts';
import {
  checkAction,
  checkActivity,
  checkCreate,
  checkPatch,
  checkTemplate,
  checkVolume,
} from './requests.ts';
import {
  accountOf,
  activityOf,
  catalog,
  registryOf,
  serviceOf,
  templateOf,
  volumeOf,
} from './plain-forms.ts';

export interface Request {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly key: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Json;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** What it has accepted, in order. */
export interface Mutation {
  readonly atMs: number;
  readonly what: string;
  readonly path: string;
}

export const apiKey = 'key-of-the-fleet';

class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

export class Provider {
  readonly conduct: Conduct;
  readonly records: Records;
  readonly #nowMs: () => number;
  readonly #answered = new Map<string, Answer>();
  readonly mutations: Mutation[] = [];
  /** Requests that the contract does not allow. */
  readonly faults: string[] = [];
  /** Names of services and volumes that were ever created, each as often as it was. */
  readonly created: string[] = [];
  /** When each activity was registered, renewed and released. */
  readonly heartbeats = new Map<string, number[]>();
  #count = 0;
  #requests = 0;

  constructor(nowMs: () => number, conduct: Partial<Conduct> = {}) {
    this.#nowMs = nowMs;
    this.conduct = { ...plainConduct, ...conduct };
    this.records = new Records(this.conduct);
    this.records.templates.set('8f14e45f-ceea-467a-9575-6f1d1f0a7a01', {
      id: '8f14e45f-ceea-467a-9575-6f1d1f0a7a01',
      revision: 1,
      builtIn: true,
      spec: { name: 'Notebook', image: 'ghcr.io/provider/notebook:3' },
      createdAtMs: nowMs(),
    });
  }

  handle(request: Request): Answer {
    const nowMs = this.#nowMs();
    this.records.settle(nowMs);
    try {
      return this.#admitted(request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { status, code, message } = error.refusal;
      const headers = status === 429 ? { 'Retry-After': this.conduct.retryAfter } : {};
      return { status, headers, body: { error: { code, message } } };
    } finally {
      this.records.remember(nowMs);
    }
  }

  /** What is there, and not on its way out. */
  settled(): Records {
    this.records.settle(this.#nowMs());
    return this.records;
  }

  #admitted(request: Request): Answer {
    const { method, path, authorization, key } = request;
    if (path === '/api/catalog') return answer(200, catalog());
    if (authorization !== `Bearer ${apiKey}`)
      throw new Refused({ status: 401, code: 'unauthorized', message: 'who?' });
    this.#requests += 1;
    const { throttlesEvery } = this.conduct;
    if (throttlesEvery > 0 && this.#requests % throttlesEvery === 0)
      throw new Refused({ status: 429, code: 'slow_down', message: 'too many requests' });
    if (method === 'GET') return this.#read(path);
    if (key === undefined) return this.#fault(request, 'has no Idempotency-Key');
    const known = this.#answered.get(`${method} ${path} ${key}`);
    const { repeatedKey } = this.conduct;
    if (known && repeatedKey === 'answer') return known;
    if (known && typeof repeatedKey === 'object') throw new Refused(repeatedKey);
    const done = this.#change(request);
    this.#answered.set(`${method} ${path} ${key}`, done);
    return done;
  }

  // ---- reads -----------------------------------------------------------------------------------------

  #read(path: string): Answer {
    const [, , kind, id, part] = path.split('/');
    const { records } = this;
    if (path === '/api/me')
      return answer(200, { id: 'acme', email: 'ops@acme.example', emailVerified: true });
    if (path === '/api/account')
      return answer(200, accountOf(this.#lagging(this.conduct.listLagMs), this.conduct, this.#nowMs()));
    if (path === '/api/registries') {
      const registries = [...records.registries.values()].map((registry) => this.#registryForm(registry));
      return answer(200, { registries });
    }
    if (path === '/api/templates')
      return answer(200, { templates: [...records.templates.values()].map(templateOf) });
    if (path === '/api/volumes') return answer(200, { volumes: [...records.volumes.values()].map(volumeOf) });
    const { services, volumes } = this.#lagging(this.conduct.readLagMs);
    if (kind === 'volumes') return answer(200, { volume: volumeOf(this.#known(volumes, id)) });
    if (kind !== 'services') throw new Refused(this.conduct.unknownId);
    if (part === undefined)
      return answer(200, { service: serviceOf(this.#known(services, id), this.conduct, this.#nowMs()) });
    const service = this.#known(records.services, id);
    if (part === 'events') return answer(200, { events: this.#events(service) });
    if (part === 'activity') return answer(200, { activities: [...service.activities].map(activityOf) });
    throw new Refused(this.conduct.unknownId);
  }

  /** §6: newest first. */
  #events({ state, createdAtMs }: Service): Json[] {
    const failed = { message: `launch failed: ${this.conduct.brokenReason}`, created_at: createdAtMs + 1000 };
    const created = { message: 'created', created_at: createdAtMs };
    return state === 'error' ? [failed, created] : [created];
  }

  #lagging(lagMs: number) {
    return this.records.before(this.#nowMs(), lagMs);
  }

  #known<Item>(items: ReadonlyMap<string, Item>, id = ''): Item {
    const item = items.get(id.toLowerCase());
    if (!item) throw new Refused(this.conduct.unknownId);
    return item;
  }

  // ---- changes ---------------------------------------------------------------------------------------

  #change(request: Request): Answer {
    const { method, path, body } = request;
    const [, , kind = '', id, part] = path.split('/');
    const route = `${method} ${[kind, id && 'id', part].filter(Boolean).join('/')}`;
    const routes: Readonly<Record<string, () => Answer>> = {
      'POST services': () => this.#createService(request),
      'PATCH services/id': () => this.#patchService(request, this.#known(this.records.services, id)),
      'POST services/id/actions': () => this.#act(request, this.#known(this.records.services, id)),
      'PATCH services/id/sleep': () => this.#setSleep(this.#known(this.records.services, id), body),
      'POST services/id/activity': () => this.#heartbeat(request, this.#known(this.records.services, id)),
      'POST volumes': () => this.#createVolume(request),
      'PATCH volumes/id': () => this.#updateVolume(request, this.#known(this.records.volumes, id)),
      'DELETE volumes/id': () => this.#deleteVolume(this.#known(this.records.volumes, id)),
      'POST templates': () => this.#createTemplate(request),
      'PUT templates/id': () => this.#replaceTemplate(request, this.#known(this.records.templates, id)),
      'DELETE templates/id': () => this.#deleteTemplate(request, this.#known(this.records.templates, id)),
      'POST registries': () => this.#createRegistry(request),
      'PUT registries/id': () => this.#rotate(request, this.#known(this.records.registries, id)),
      'DELETE registries/id': () => this.#deleteRegistry(request, this.#known(this.records.registries, id)),
    };
    const change = routes[route];
    if (!change) return this.#fault(request, 'is no endpoint of §4');
    const done = change();
    const verb = part === 'actions' ? ` ${body.action}` : '';
    if (part !== 'activity') this.mutations.push({ atMs: this.#nowMs(), what: `${route}${verb}`, path });
    return done;
  }

  #fault({ method, path }: Request, what: string): never {
    this.faults.push(`${method} ${path} ${what}`);
    throw new Refused({ status: 400, code: 'invalid_request', message: what });
  }

  #check(request: Request, problem: string | undefined): void {
    if (problem !== undefined) this.#fault(request, problem);
  }

  #createService(request: Request): Answer {
    const { body } = request;
    const { conduct, records } = this;
    const nowMs = this.#nowMs();
    this.#check(request, checkCreate(body));
    const refusal = conduct.refusesCreation;
    if (refusal && nowMs < refusal.untilMs) throw new Refused(refusal);
    const volume: Volume | undefined = body.volumeId
      ? this.#known(records.volumes, body.volumeId)
      : undefined;
    if (volume && (volume.serviceId !== null || volume.status !== 'ready')) throw new Refused(conduct.inUse);
    const id = this.#uuid('service', body.name);
    const service: Service = {
      id,
      name: conduct.storesName(body.name),
      region: body.region,
      geography: !body.geography || body.geography === 'auto' ? 'europe' : body.geography,
      image: conduct.storesImage(body.image),
      command: body.command ?? [],
      httpPort: body.httpPort ?? null,
      resources: body.resources,
      environment: body.environment ?? {},
      volumeId: volume?.id ?? null,
      sleepAfterMinutes: body.sleepAfterMinutes ?? null,
      state: '',
      revision: conduct.firstRevision,
      createdAtMs: nowMs,
      next: [],
      activities: new Map(),
      idleSinceMs: nowMs,
    };
    if (volume) volume.serviceId = id;
    this.created.push(body.name);
    records.services.set(id, service);
    this.#launch(service);
    return answer(201, serviceOf(service, conduct, nowMs));
  }

  #patchService(request: Request, service: Service): Answer {
    const { body } = request;
    this.#check(request, checkPatch(body));
    this.#demandRevision(body.revision, service);
    if (service.state === 'deleting') throw new Refused(this.conduct.wrongState);
    const { image, command, environment, httpPort } = body.patch;
    if (image !== undefined) service.image = this.conduct.storesImage(image);
    if (command !== undefined) service.command = command;
    if (environment !== undefined) service.environment = environment;
    if (httpPort !== undefined) service.httpPort = httpPort;
    this.#advance(service);
    if (this.conduct.patchRestarts && service.state === 'running') this.#launch(service);
    return this.#shown(service);
  }

  #act(request: Request, service: Service): Answer {
    const { body } = request;
    this.#check(request, checkAction(body));
    const { state, volumeId } = service;
    const allowed: Readonly<Record<string, readonly string[]>> = {
      start: ['paused', 'sleeping'],
      stop: ['running', 'provisioning', 'queued', 'sleeping', 'error'],
      restart: ['running', 'error'],
      resize: ['running', 'paused', 'sleeping'],
      delete: ['running', 'provisioning', 'queued', 'stopping', 'sleeping', 'paused', 'error'],
    };
    if (!allowed[body.action]?.includes(state)) throw new Refused(this.conduct.wrongState);
    const storage = volumeId === null ? undefined : this.records.volumes.get(volumeId);
    // §3 rule 5.
    if (body.action === 'start' && storage && storage.status !== 'ready')
      throw new Refused(this.conduct.inUse);
    this.#advance(service);
    if (body.action === 'stop') this.#stop(service);
    else if (body.action === 'delete') this.#end(service);
    else if (body.action === 'resize') this.#resize(service, body.resources);
    else this.#launch(service);
    return this.#shown(service);
  }

  #resize(service: Service, resources: Service['resources']): void {
    service.resources = resources;
    if (service.state === 'running') this.#launch(service);
  }

  #setSleep(service: Service, body: Json): Answer {
    service.sleepAfterMinutes = body.sleepAfterMinutes;
    service.idleSinceMs = this.#nowMs();
    this.#advance(service);
    return this.#shown(service);
  }

  #heartbeat(request: Request, service: Service): Answer {
    const { body } = request;
    this.#check(request, checkActivity(body));
    const nowMs = this.#nowMs();
    const id = body.id.toLowerCase();
    this.heartbeats.set(id, [...(this.heartbeats.get(id) ?? []), nowMs]);
    const before = service.activities.get(id);
    if (body.release && before && this.conduct.keepsReleased)
      service.activities.set(id, { ...before, releasedAtMs: nowMs });
    else if (body.release) service.activities.delete(id);
    else
      service.activities.set(id, {
        name: body.name,
        registeredAtMs: before?.registeredAtMs ?? nowMs,
        beatenAtMs: nowMs,
      });
    service.idleSinceMs = nowMs;
    return answer(200, { id: body.id, heartbeatSeconds: 30, expiresInSeconds: 300 });
  }

  #createVolume(request: Request): Answer {
    const { body } = request;
    this.#check(request, checkVolume(body));
    const { conduct, records } = this;
    const id = this.#uuid('volume', body.name);
    const volume: Volume = {
      id,
      name: conduct.storesName(body.name),
      region: body.region,
      geography: !body.geography || body.geography === 'auto' ? 'europe' : body.geography,
      mode: 'independent',
      serviceId: null,
      status: 'provisioning',
      sizeGb: body.sizeGb,
      requestedSizeGb: body.sizeGb,
      provisioned: false,
      revision: conduct.firstRevision,
      createdAtMs: this.#nowMs(),
      next: [{ atMs: this.#nowMs() + conduct.stepMs, state: 'ready' }],
    };
    this.created.push(body.name);
    records.volumes.set(id, volume);
    return answer(201, volumeOf(volume));
  }

  #updateVolume(request: Request, volume: Volume): Answer {
    const { revision, name, sizeGb } = request.body;
    this.#demandRevision(revision, volume);
    if (name === undefined && sizeGb === undefined) this.#fault(request, 'neither name nor sizeGb (§2)');
    const { conduct, records } = this;
    const user = volume.serviceId === null ? undefined : records.services.get(volume.serviceId);
    if (sizeGb !== undefined && sizeGb < volume.requestedSizeGb) this.#fault(request, 'shrinks a volume');
    if (sizeGb !== undefined && sizeGb > volume.requestedSizeGb) {
      // §3 rule 5.
      if (volume.status !== 'ready' || (user && user.state !== 'paused'))
        throw new Refused(conduct.wrongState);
      volume.requestedSizeGb = sizeGb;
      volume.status = 'expanding';
      volume.next = [{ atMs: this.#nowMs() + conduct.stepMs, state: 'ready' }];
    }
    if (name !== undefined) volume.name = conduct.storesName(name);
    this.#advance(volume);
    return answer(200, volumeOf(volume));
  }

  #deleteVolume(volume: Volume): Answer {
    if (volume.serviceId !== null || volume.mode !== 'independent') throw new Refused(this.conduct.inUse);
    const isAgain = volume.status === 'deleting';
    if (isAgain && this.conduct.secondDeletion === 'refused') throw new Refused(this.conduct.wrongState);
    if (!isAgain) this.#endOf(volume, 'status');
    return answer(200, { volumeId: volume.id, operationId: `op-${volume.id}`, status: 'deleting' });
  }

  #createTemplate(request: Request): Answer {
    const { body } = request;
    this.#demandKnown(body, this.conduct.unknownKeys.template);
    this.#check(request, checkTemplate(body));
    const id = this.#uuid('template', body.name);
    const template: Template = {
      id,
      revision: this.conduct.firstRevision,
      builtIn: false,
      spec: body,
      createdAtMs: this.#nowMs(),
    };
    this.records.templates.set(id, template);
    this.created.push(body.name);
    return answer(201, templateOf(template));
  }

  #replaceTemplate(request: Request, template: Template): Answer {
    const { revision, spec } = request.body;
    this.#demandKnown(spec, this.conduct.unknownKeys.template);
    this.#check(request, checkTemplate(spec));
    this.#demandRevision(revision, template);
    template.spec = spec;
    this.#advance(template);
    return answer(200, templateOf(template));
  }

  #deleteTemplate({ body }: Request, template: Template): Answer {
    this.#demandRevision(body.revision, template);
    this.records.templates.delete(template.id);
    return answer(200, { id: template.id, deleted: true });
  }

  #createRegistry(request: Request): Answer {
    const { body } = request;
    const { conduct, records } = this;
    this.#demandKnown(body, conduct.unknownKeys.registry);
    const repository = conduct.storesRepository(body.repository);
    if ([...records.registries.values()].some((each) => each.repository === repository))
      throw new Refused(conduct.inUse);
    const id = this.#uuid('registry', repository);
    const registry: Registry = {
      id,
      revision: conduct.firstRevision,
      repository,
      createdAtMs: this.#nowMs(),
      rotatedAtMs: null,
    };
    records.registries.set(id, registry);
    this.created.push(body.repository);
    return answer(201, this.#registryForm(registry));
  }

  #rotate({ body }: Request, registry: Registry): Answer {
    this.#demandRevision(body.revision, registry);
    registry.rotatedAtMs = this.#nowMs();
    this.#advance(registry);
    return answer(200, this.#registryForm(registry));
  }

  /** §3 rule 6. */
  #deleteRegistry({ body }: Request, registry: Registry): Answer {
    this.#demandRevision(body.revision, registry);
    const linked = this.#linked(registry);
    if (linked.some(({ state }) => state !== 'sleeping')) throw new Refused(this.conduct.inUse);
    this.records.registries.delete(registry.id);
    return answer(200, { id: registry.id, deleted: true });
  }

  // ---- steps -----------------------------------------------------------------------------------------

  #launch(service: Service): void {
    const { queueMs, stepMs, brokenImages } = this.conduct;
    const nowMs = this.#nowMs();
    service.state = queueMs > 0 ? 'queued' : 'provisioning';
    service.next = [
      ...(queueMs > 0 ? [{ atMs: nowMs + queueMs, state: 'provisioning' }] : []),
      { atMs: nowMs + queueMs + stepMs, state: service.image.includes(brokenImages) ? 'error' : 'running' },
    ];
  }

  #stop(service: Service): void {
    const { stopShows, stepMs } = this.conduct;
    if (stopShows === 'stopping' || service.state !== 'running') service.state = 'stopping';
    service.next = [{ atMs: this.#nowMs() + stepMs, state: 'paused' }];
    if (stopShows !== 'paused') return;
    service.state = 'paused';
    service.next = [];
  }

  #end(service: Service): void {
    this.#endOf(service, 'state');
  }

  #endOf(record: Service | Volume, key: 'state' | 'status'): void {
    const { deletionMs, keepsDeletedMs } = this.conduct;
    const deletedMs = this.#nowMs() + deletionMs;
    Object.assign(record, { [key]: 'deleting' });
    record.next = [
      { atMs: deletedMs, state: 'deleted' },
      { atMs: deletedMs + keepsDeletedMs, state: 'gone' },
    ];
  }

  #advance(record: { revision: number }): void {
    record.revision += this.conduct.revisionStep;
  }

  /** A key that the contract does not show may be another one here. */
  #demandKnown(body: Json, unknown: string | undefined): void {
    if (unknown === undefined || body[unknown] === undefined) return;
    throw new Refused({ status: 400, code: 'invalid_request', message: `unknown field ${unknown}` });
  }

  #demandRevision(revision: unknown, record: { readonly revision: number }): void {
    if (revision !== record.revision) throw new Refused(this.conduct.staleRevision);
  }

  #shown(service: Service): Answer {
    return answer(200, serviceOf(service, this.conduct, this.#nowMs()));
  }

  #registryForm(registry: Registry): Json {
    return registryOf(registry, this.#linked(registry));
  }

  #linked({ repository }: Registry): Service[] {
    return [...this.records.services.values()].filter(
      ({ image, state }) => state !== 'deleted' && image.replace(/[:@][^/]*$/, '') === repository,
    );
  }

  #uuid(kind: string, name: string): string {
    this.#count += 1;
    const hex = createHash('sha256').update(`${kind} ${name} ${this.#count}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }
}

function answer(status: number, body: Json): Answer {
  return { status, headers: {}, body };
}
