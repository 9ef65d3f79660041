/** What a random client does next: a table of everything that the contract offers, with weights. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Oracle } from './oracle.ts';
import { canary, type Json, type Kind, type SoakRequest } from './requests.ts';

export interface World {
  readonly account: string;
  readonly random: SeededRandom;
  readonly oracle: Oracle;
  /** Another number each time. */
  readonly count: () => number;
}

/** Undefined when there is nothing to do it to. */
type Action = (world: World) => SoakRequest | undefined;

const servicesAtMost = 12;
const repositories = Array.from({ length: 25 }, (_, index) => `registry.example/soak/app-${index}`);

const actions: readonly (readonly [weight: number, action: Action])[] = [
  [10, () => ({ method: 'GET', path: '/api/account', answers: 'account' })],
  [3, () => ({ method: 'GET', path: '/api/volumes', answers: 'volumes' })],
  [3, () => ({ method: 'GET', path: '/api/templates', answers: 'templates' })],
  [3, () => ({ method: 'GET', path: '/api/registries', answers: 'registries' })],
  [1, () => ({ method: 'GET', path: '/api/me' })],
  [1, () => ({ method: 'GET', path: '/api/catalog' })],
  [8, readOne('service')],
  [4, readOne('volume')],
  [4, readPart],
  [8, createService],
  [10, patchService],
  [10, actOnService],
  [4, setSleepPolicy],
  [8, recordActivity],
  [2, runCommand],
  [1, openBrowser],
  [8, createVolume],
  [8, updateVolume],
  [4, deleteVolume],
  [8, createTemplate],
  [5, replaceTemplate],
  [3, deleteOf('template', 'templates')],
  [4, createRegistry],
  [4, rotateRegistry],
  [2, deleteOf('registry', 'registries')],
  [4, touchForeign],
];
const totalWeight = actions.reduce((sum, [weight]) => sum + weight, 0);

export function nextRequest(world: World): SoakRequest {
  for (;;) {
    let place = world.random.fraction() * totalWeight;
    for (const [weight, action] of actions) {
      place -= weight;
      if (place >= 0) continue;
      const request = action(world);
      if (request) return request;
      break;
    }
  }
}

/** A few less than an account may have of each. */
export function almostFull(): SoakRequest[] {
  const many = (length: number, make: (index: number) => SoakRequest) =>
    Array.from({ length }, (_, index) => make(index));
  return [
    ...many(45, (index) => volumeCreation(`filler-${index}`, 10)),
    ...many(46, (index) => templateCreation({ name: `filler-${index}`, image: 'nginx' })),
    ...many(18, (index) => registryCreation(repositories[index] ?? '', () => index)),
  ];
}

function some({ account, random, oracle }: World, kind: Kind): Json {
  const objects = oracle.present(account, kind);
  return objects.length === 0 ? undefined : random.pick(objects);
}

function readOne(kind: 'service' | 'volume'): Action {
  return (world) => {
    const object = some(world, kind);
    return object && { method: 'GET', path: `/api/${kind}s/${object.id}`, about: object.id, answers: kind };
  };
}

function readPart(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  const part = world.random.pick(['activity', 'activity', 'events', 'logs', 'metrics?minutes=15']);
  return (
    service && {
      method: 'GET',
      path: `/api/services/${service.id}/${part}`,
      about: service.id,
      ...(part === 'activity' && { answers: 'activities' }),
    }
  );
}

function resourcesFrom({ random }: World): Json {
  return { gpuCount: random.between(0, 1), cpu: random.between(1, 4), memoryGb: random.between(1, 8) };
}

function environmentFrom({ random, count }: World): Record<string, string> {
  const names = ['ALPHA', 'BETA', 'GAMMA'].slice(0, random.between(0, 3));
  return Object.fromEntries(names.map((name) => [name, `${canary}-${count()}`]));
}

function imageFrom({ random, count }: World): string {
  const host = random.chance(0.05) ? 'registry.invalid/app' : random.pick(repositories);
  return `${host}:${count()}`;
}

function createService(world: World): SoakRequest | undefined {
  const { random, count } = world;
  if (world.oracle.present(world.account, 'service').length >= servicesAtMost) return undefined;
  const environment = environmentFrom(world);
  const free = world.oracle
    .present(world.account, 'volume')
    .find((volume) => volume.serviceId === null && volume.status === 'ready');
  const storage = random.pick([
    {},
    { volumeGb: 10 },
    { volumeGb: 10, volumeMode: 'independent' },
    free ? { volumeId: free.id } : {},
  ]);
  const sets = {
    name: `service-${count()}`,
    image: imageFrom(world),
    resources: resourcesFrom(world),
    httpPort: random.pick([80, 8080]),
    sleepAfterMinutes: random.pick([null, 1, 2]),
  };
  return {
    method: 'POST',
    path: '/api/services',
    body: { region: 'standard', ...sets, ...storage, environment },
    answers: 'service',
    sets: { ...sets, environmentNames: Object.keys(environment) },
  };
}

function patchService(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  if (!service) return undefined;
  const environment = environmentFrom(world);
  const patch: Json = world.random.pick([
    { image: `${world.random.pick(repositories)}:${world.count()}` },
    { httpPort: world.random.between(1, 65_535) },
    { environment },
  ]);
  return {
    method: 'PATCH',
    path: `/api/services/${service.id}`,
    body: { revision: service.revision, patch },
    about: service.id,
    answers: 'service',
    sets: patch.environment ? { environmentNames: Object.keys(environment) } : patch,
  };
}

function actOnService(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  if (!service) return undefined;
  const action = world.random.pick(['start', 'start', 'stop', 'stop', 'restart', 'resize', 'delete']);
  const resources = resourcesFrom(world);
  return {
    method: 'POST',
    path: `/api/services/${service.id}/actions`,
    body: { action, ...(action === 'resize' && { resources }) },
    about: service.id,
    answers: 'service',
    removes: action === 'delete',
    ...(action === 'resize' && { sets: { resources } }),
  };
}

function setSleepPolicy(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  const sets = { sleepAfterMinutes: world.random.pick([null, 1, 2, 1440]) };
  return (
    service && {
      method: 'PATCH',
      path: `/api/services/${service.id}/sleep`,
      body: sets,
      about: service.id,
      answers: 'service',
      sets,
    }
  );
}

/** Registers a task, beats for one, or releases one. */
function recordActivity(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  if (!service) return undefined;
  const { random } = world;
  const running = world.oracle.activitiesOf(service.id);
  const activity =
    running.length === 0 || random.chance(0.3)
      ? { id: random.uuid(), release: false }
      : { id: random.pick(running), release: random.chance(0.5) };
  return {
    method: 'POST',
    path: `/api/services/${service.id}/activity`,
    body: { ...activity, name: 'task' },
    about: service.id,
    activity,
  };
}

function runCommand(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  const body = { command: ['echo', `${canary}-${world.count()}`] };
  return service && { method: 'POST', path: `/api/services/${service.id}/exec`, body, about: service.id };
}

function openBrowser(world: World): SoakRequest | undefined {
  const service = some(world, 'service');
  return (
    service && { method: 'POST', path: `/api/services/${service.id}/browser-session`, about: service.id }
  );
}

function createVolume({ random, count }: World): SoakRequest {
  return volumeCreation(`volume-${count()}`, random.between(10, 20));
}

function volumeCreation(name: string, sizeGb: number): SoakRequest {
  return {
    method: 'POST',
    path: '/api/volumes',
    body: { name, region: 'standard', sizeGb },
    answers: 'volume',
    sets: { name, requestedSizeGb: sizeGb },
  };
}

function updateVolume(world: World): SoakRequest | undefined {
  const volume = some(world, 'volume');
  if (!volume) return undefined;
  const { random } = world;
  const name = random.chance(0.5) ? `renamed-${world.count()}` : undefined;
  const sizeGb =
    name === undefined || random.chance(0.3)
      ? Math.min(4096, volume.requestedSizeGb + random.between(0, 5))
      : undefined;
  return {
    method: 'PATCH',
    path: `/api/volumes/${volume.id}`,
    body: { revision: volume.revision, name, sizeGb },
    about: volume.id,
    answers: 'volume',
    sets: { ...(name !== undefined && { name }), ...(sizeGb !== undefined && { requestedSizeGb: sizeGb }) },
  };
}

function deleteVolume(world: World): SoakRequest | undefined {
  const volume = some(world, 'volume');
  return (
    volume && {
      method: 'DELETE',
      path: `/api/volumes/${volume.id}`,
      about: volume.id,
      answers: 'deletion',
      removes: true,
    }
  );
}

function templateFrom({ random, count }: World): Json {
  return {
    name: `template-${count()}`,
    image: `nginx:${count()}`,
    ...(random.chance(0.5) && { description: `described ${count()}` }),
  };
}

function createTemplate(world: World): SoakRequest {
  return templateCreation(templateFrom(world));
}

function templateCreation(spec: Json): SoakRequest {
  return {
    method: 'POST',
    path: '/api/templates',
    body: spec,
    answers: 'template',
    sets: shownTemplate(spec),
  };
}

function replaceTemplate(world: World): SoakRequest | undefined {
  const template = some(world, 'template');
  const spec = templateFrom(world);
  return (
    template && {
      method: 'PUT',
      path: `/api/templates/${template.id}`,
      body: { revision: template.revision, spec },
      about: template.id,
      answers: 'template',
      sets: shownTemplate(spec),
    }
  );
}

/** What was omitted has its default. */
function shownTemplate(spec: Json): Json {
  return { description: '', ...spec };
}

function registryFrom(repository: string, count: () => number): Json {
  return { repository, username: `${canary}-user-${count()}`, password: `${canary}-${count()}` };
}

function createRegistry({ random, count }: World): SoakRequest {
  return registryCreation(random.pick(repositories), count);
}

function registryCreation(repository: string, count: () => number): SoakRequest {
  const body = registryFrom(repository, count);
  return { method: 'POST', path: '/api/registries', body, answers: 'registry', sets: { repository } };
}

function rotateRegistry(world: World): SoakRequest | undefined {
  const registry = some(world, 'registry');
  return (
    registry && {
      method: 'PUT',
      path: `/api/registries/${registry.id}`,
      body: { revision: registry.revision, spec: registryFrom(registry.repository, world.count) },
      about: registry.id,
      answers: 'registry',
    }
  );
}

function deleteOf(kind: 'template' | 'registry', path: string): Action {
  return (world) => {
    const object = some(world, kind);
    return (
      object && {
        method: 'DELETE',
        path: `/api/${path}/${object.id}`,
        body: { revision: object.revision },
        about: object.id,
        answers: 'deletion',
        removes: true,
      }
    );
  };
}

/** Everything about the request is right, but the object is somebody else's. */
function touchForeign({ account, random, oracle }: World): SoakRequest | undefined {
  const kind = random.pick(['service', 'volume'] as const);
  const ids = oracle.idsOfOthers(account, kind);
  if (ids.length === 0) return undefined;
  const path = `/api/${kind}s/${random.pick(ids)}`;
  const request = random.pick<SoakRequest>(
    kind === 'service'
      ? [
          { method: 'GET', path },
          { method: 'GET', path: `${path}/events` },
          { method: 'PATCH', path: `${path}/sleep`, body: { sleepAfterMinutes: 1 } },
          { method: 'POST', path: `${path}/actions`, body: { action: 'delete' } },
        ]
      : [
          { method: 'GET', path },
          { method: 'DELETE', path },
        ],
  );
  return { ...request, isForeign: true };
}
