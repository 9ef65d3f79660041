/** The small fleet that each dialect is lived with, and what of it really has to be at the provider. */
import { stringify } from 'yaml';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, type Provider } from './provider/provider.ts';
import type { Json } from './provider/conduct.ts';

export interface Wanted {
  readonly webImage: string;
  readonly apiMode: string;
  readonly volumeGb: number;
  readonly workerCpu: number;
  /** The document of `api` does not name its volume any more, which stays attached. */
  readonly isVolumeUnnamed?: boolean;
}

export const first: Wanted = { webImage: 'acme/web:1', apiMode: 'blue', volumeGb: 10, workerCpu: 1 };

const small = { gpuCount: 0, cpu: 1, memoryGb: 2 };

function document(kind: string, name: string, spec: object): string {
  return stringify({ apiVersion, kind, metadata: { name }, spec });
}

function secret(name: string, stringData: object): string {
  return stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
}

export function access(url: string, pollSeconds: number): Record<string, string> {
  const credentialsSecretRef = { name: 'compute', key: 'apiKey' };
  const requests = { perSecond: 50, burst: 50, concurrency: 8 };
  return {
    'account.yaml': document('Account', 'default', { url, credentialsSecretRef, requests, pollSeconds }),
    'secrets.yaml': [
      secret('compute', { apiKey }),
      secret('robot', { username: 'robot', password: 'pw' }),
    ].join('---\n'),
  };
}

/** By the key of the object. */
export function documents({
  webImage,
  apiMode,
  volumeGb,
  workerCpu,
  isVolumeUnnamed = false,
}: Wanted): Record<string, string> {
  const service = (name: string, spec: object) =>
    document('ContainerService', name, { region: 'standard', resources: small, ...spec });
  return {
    'ImageRegistry/images': document('ImageRegistry', 'images', {
      repository: 'ghcr.io/secret/app',
      credentialsSecretRef: { name: 'robot' },
    }),
    'ServiceTemplate/base': document('ServiceTemplate', 'base', {
      image: 'ghcr.io/acme/worker:1',
      command: ['work'],
      resources: small,
    }),
    'StorageVolume/data': document('StorageVolume', 'data', {
      region: 'standard',
      sizeGb: volumeGb,
      expansion: 'PauseService',
      deletionPolicy: 'Delete',
    }),
    'ContainerService/api': service('api', {
      image: 'ghcr.io/secret/app:1',
      command: ['serve', '--fast'],
      httpPort: 8080,
      env: [{ name: 'MODE', value: apiMode }],
      ...(!isVolumeUnnamed && { storage: { volumeRef: { name: 'data' } } }),
    }),
    'ContainerService/web': service('web', {
      geography: 'europe',
      image: webImage,
      httpPort: 80,
      env: [
        { name: 'GREETING', value: 'hello' },
        { name: 'LOG_LEVEL', value: 'info' },
      ],
    }),
    'ContainerService/worker': service('worker', {
      templateRef: { name: 'base' },
      resources: { ...small, cpu: workerCpu },
    }),
    'ContainerService/job': service('job', { image: 'ghcr.io/acme/job:1', command: ['train'] }),
    'ContainerService/naps': service('naps', { image: 'ghcr.io/acme/naps:1', sleepAfterMinutes: 2 }),
    [broken]: service('broken', { image: 'ghcr.io/broken/app:1' }),
    'ProtectedTask/epoch': document('ProtectedTask', 'epoch', { serviceRef: { name: 'job' } }),
  };
}

/** Its image can't be had: it comes to be in `error`, and says why. */
export const broken = 'ContainerService/broken';

export const services = ['api', 'web', 'worker', 'job', 'naps'] as const;

const beacon = 'FLEETKEEPER_BEACON_';

/** What is otherwise at the provider than the documents of `wanted` say; `held` is not looked at. */
export function differences(provider: Provider, wanted: Wanted, held: ReadonlySet<string>): string[] {
  const { services: there, volumes, templates, registries } = provider.settled();
  const { conduct } = provider;
  const found: string[] = [];
  const compare = (what: string, actual: unknown, expected: unknown) => {
    if (JSON.stringify(actual) !== JSON.stringify(expected))
      found.push(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
  };
  const volume = [...volumes.values()].find(({ name }) => name.startsWith(conduct.storesName('data')));
  const expected: Record<string, Json> = {
    api: {
      image: 'ghcr.io/secret/app:1',
      environment: { MODE: wanted.apiMode },
      volumeId: volume?.id,
      state: 'running',
    },
    web: { image: wanted.webImage, environment: { GREETING: 'hello', LOG_LEVEL: 'info' }, state: 'running' },
    worker: { image: 'ghcr.io/acme/worker:1', command: ['work'], state: 'running', cpu: wanted.workerCpu },
    job: { image: 'ghcr.io/acme/job:1', state: 'running' },
    naps: { image: 'ghcr.io/acme/naps:1', sleepAfterMinutes: 2 },
  };
  for (const name of services) {
    if (held.has(`ContainerService/${name}`)) continue;
    const service = [...there.values()].find((each) => each.name === conduct.storesName(name));
    const environment = Object.fromEntries(
      Object.entries(service?.environment ?? {}).filter(([key]) => !key.startsWith(beacon)),
    );
    const actual: Json = { ...service, environment, cpu: service?.resources.cpu };
    for (const [key, value] of Object.entries(expected[name]))
      compare(`${name}.${key}`, actual[key], key === 'image' ? conduct.storesImage(value as string) : value);
  }
  if (!held.has('StorageVolume/data')) compare('data.sizeGb', volume?.sizeGb, wanted.volumeGb);
  const template = [...templates.values()].find(({ spec }) => spec.name === 'base');
  if (!held.has('ServiceTemplate/base')) compare('base.image', template?.spec.image, 'ghcr.io/acme/worker:1');
  if (!held.has('ImageRegistry/images')) compare('registries', registries.size, 1);
  return found;
}
