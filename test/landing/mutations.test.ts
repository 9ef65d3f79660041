/** Whatever becomes of a request, the life of an object ends as if nothing had. */
import { expect, test } from 'vitest';
import { objectKey, type ManagedKind } from '../../src/resources/index.ts';
import { isMutation, keysWithTwoBodies, type RecordedRequest } from '../support/processes/control-plane.ts';
import { Lab } from '../support/processes/lab.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const apiVersion = 'fleetkeeper.dev/v1alpha1';

/** Each of them hits the first mutation of each kind in each step. */
const faults: Readonly<Record<string, object>> = {
  'a request that is lost': { fault: 'drop-request' },
  'an answer that is lost': { fault: 'drop-response' },
  'a 500 of a proxy': { fault: 'status', status: 500 },
  'a 503 of the API': { fault: 'status', status: 503, code: 'unavailable' },
  'a 409 of the API': { fault: 'status', status: 409, code: 'revision_conflict' },
};

const collections = ['services', 'volumes', 'templates', 'registries'];
const methods = ['POST', 'PATCH', 'PUT', 'DELETE'];

interface Life {
  readonly kind: ManagedKind;
  readonly name: string;
  readonly spec: object;
  /** What is written in each step, beside all that was written before; one mutation each. The first one is the creation. */
  readonly steps: readonly (readonly [string, object])[];
}

const lives: readonly Life[] = [
  {
    kind: 'ContainerService',
    name: 'web',
    spec: {
      region: 'standard',
      image: 'ghcr.io/acme/app:1',
      resources: { cpu: 1, memoryGb: 1 },
      httpPort: 80,
      env: [{ name: 'MODE', value: 'one' }],
      disruption: 'Always',
    },
    steps: [
      ['create', {}],
      ['patch the image', { image: 'ghcr.io/acme/app:2' }],
      ['patch the environment', { env: [{ name: 'MODE', value: 'two' }] }],
      ['resize', { resources: { cpu: 2, memoryGb: 4 } }],
      ['set the sleep policy', { sleepAfterMinutes: 1440 }],
      ['stop', { desiredState: 'Stopped' }],
      ['start', { desiredState: 'Running' }],
      ['restart', { restartToken: 'again' }],
    ],
  },
  {
    kind: 'StorageVolume',
    name: 'data',
    spec: { region: 'standard', sizeGb: 10, deletionPolicy: 'Delete' },
    steps: [
      ['create', {}],
      ['grow', { sizeGb: 20 }],
      ['rename', { volumeName: 'renamed' }],
    ],
  },
  {
    kind: 'ServiceTemplate',
    name: 'base',
    spec: { image: 'ghcr.io/acme/base:1', resources: { cpu: 1, memoryGb: 1 } },
    steps: [
      ['create', {}],
      ['replace', { image: 'ghcr.io/acme/base:2' }],
    ],
  },
  {
    kind: 'ImageRegistry',
    name: 'images',
    spec: { repository: 'ghcr.io/secret/app' },
    steps: [
      ['create', credentials('first')],
      ['rotate', credentials('second')],
    ],
  },
];
const stepCount = Math.max(...lives.map(({ steps }) => steps.length));

function credentials(name: string): object {
  return { credentialsSecretRef: { name, usernameKey: 'user', passwordKey: 'password' } };
}

const secrets = ['first', 'second'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { user: 'robot', password: `${name}-password` },
}));

function documentsOf(step: number): object[] {
  const objects = lives.map(({ kind, name, spec, steps }) => {
    const written = steps.slice(0, step + 1).map(([, change]) => change);
    return { apiVersion, kind, metadata: { name }, spec: Object.assign({}, spec, ...written) as object };
  });
  return [...secrets, ...objects];
}

/** In all of it, deletions included. */
const mutations = lives.reduce((sum, { steps }) => sum + steps.length + 1, 0);

/** What there is at the provider, without what differs from one run to the next. */
async function live(lab: Lab): Promise<Json> {
  const { services, volumes } = await lab.call('GET', '/api/account');
  const { templates } = await lab.call('GET', '/api/templates');
  const { registries } = await lab.call('GET', '/api/registries');
  const workspace = templates.filter(({ builtIn }: Json) => !builtIn);
  return { services, volumes, templates: workspace, registries };
}

const fleeting = new Set(['id', 'revision', 'createdAt', 'rotatedAt', 'endpoint', 'volumeId', 'gpuModel']);
const lasting = (value: Json): Json =>
  JSON.parse(JSON.stringify(value, (key, member: unknown) => (fleeting.has(key) ? undefined : member)));

/** The states after each step, and what the events tell of the service's whole life. */
async function lifeWith(
  fault: object | undefined,
): Promise<{ reported: Json[]; requests: RecordedRequest[] }> {
  const lab = await Lab.start();
  const reported: Json[] = [];
  let hits = 0;
  for (let step = 0; step <= stepCount; step += 1) {
    await lab.faults(fault === undefined ? [] : faultsOnAll(fault));
    const isEnd = step === stepCount;
    if (isEnd) reported.push(await eventsOf(lab));
    lab.want(isEnd ? [] : documentsOf(step));
    const keys = lives.map(({ kind, name }) => objectKey(kind, 'default', name));
    await lab.untilSettled(isEnd ? [] : keys);
    hits += fault === undefined ? 0 : await lab.faultHits();
    reported.push(lasting(await live(lab)));
  }
  const requests = await lab.requests();
  expect(keysWithTwoBodies(requests)).toEqual([]);
  expect(hits).toBe(fault === undefined ? 0 : mutations);
  return { reported, requests };
}

function faultsOnAll(fault: object): object[] {
  return collections.flatMap((collection) =>
    methods.map((method) => Object.assign({ method, path: `^/api/${collection}`, times: 1 }, fault)),
  );
}

async function eventsOf(lab: Lab): Promise<string[]> {
  const { services } = await lab.call('GET', '/api/account');
  const { events } = await lab.call('GET', `/api/services/${services[0].id}/events`);
  return events.map(({ message }: Json) => message);
}

// COVERAGE 5, 6, 7, 11, 21, 22, 23, 43, 95, 98
test('every mutation of the life of each kind survives every fault, with the effect of one', async () => {
  const [undisturbed, ...disturbed] = await Promise.all(
    [undefined, ...Object.values(faults)].map((fault) => lifeWith(fault)),
  );
  expect(undisturbed?.requests.filter(isMutation)).toHaveLength(mutations);
  expect(undisturbed?.reported.at(-1)).toEqual({ services: [], volumes: [], templates: [], registries: [] });
  for (const [index, name] of Object.keys(faults).entries()) {
    expect.soft(disturbed[index]?.reported, name).toEqual(undisturbed?.reported);
  }
});
