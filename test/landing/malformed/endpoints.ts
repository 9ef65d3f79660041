/** A right request for each endpoint with a body, and of which kind each of its fields is. */
import { randomUUID } from 'node:crypto';

/** Whatever a body holds. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export type Kind =
  | { readonly is: 'text'; readonly longest?: number; readonly mayBeEmpty?: boolean }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'amount'; readonly max: number; readonly isWhole?: boolean }
  | { readonly is: 'uuid' }
  | { readonly is: 'boolean' }
  | { readonly is: 'words'; readonly mayBeEmpty?: boolean }
  | { readonly is: 'names' }
  | { readonly is: 'environment' }
  | { readonly is: 'one of'; readonly values: readonly string[] }
  | { readonly is: 'object' };

interface Field {
  readonly kind: Kind;
  readonly isRequired?: boolean;
  readonly mayBeNull?: boolean;
}

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
  /** By their paths in the body, such as `spec.name`. */
  readonly fields: Readonly<Record<string, Field>>;
}

/** Objects of the account; the endpoints point at them. */
export interface Ids {
  readonly service: string;
  readonly volume: string;
  readonly template: string;
  readonly registry: string;
}

const integer = (min: number, max: number): Kind => ({ is: 'integer', min, max });
const revision: Field = { kind: integer(1, Number.MAX_SAFE_INTEGER), isRequired: true };
const port: Field = { kind: integer(1, 65_535) };
const sleep: Field = { kind: integer(1, 1440), mayBeNull: true };
const size = integer(10, 4096);

const resources: Endpoint['fields'] = {
  resources: { kind: { is: 'object' }, isRequired: true },
  'resources.gpuCount': { kind: { is: 'amount', max: 16, isWhole: true }, isRequired: true },
  'resources.cpu': { kind: { is: 'amount', max: 512 }, isRequired: true },
  'resources.memoryGb': { kind: { is: 'amount', max: 4096 }, isRequired: true },
};

const template: Endpoint['fields'] = {
  name: { kind: { is: 'text', longest: 128 }, isRequired: true },
  image: { kind: { is: 'text', longest: 1024 }, isRequired: true },
  description: { kind: { is: 'text', longest: 4096, mayBeEmpty: true } },
  command: { kind: { is: 'words', mayBeEmpty: true }, mayBeNull: true },
  ...resources,
  resources: { kind: { is: 'object' } },
  httpPort: { ...port, mayBeNull: true },
  containerDiskGb: { kind: integer(1, 4096) },
  workspaceGb: { kind: size, mayBeNull: true },
  sleepAfterMinutes: sleep,
  requiredEnvironment: { kind: { is: 'names' } },
};

const registry: Endpoint['fields'] = {
  repository: { kind: { is: 'text', longest: 255 }, isRequired: true },
  username: { kind: { is: 'text', longest: 1024 }, isRequired: true },
  password: { kind: { is: 'text', longest: 16_384 }, isRequired: true },
};

const oneCpu = { gpuCount: 0, cpu: 1, memoryGb: 1 };
const templateBody = {
  name: 'malformed',
  image: 'nginx',
  description: 'text',
  command: ['run'],
  resources: oneCpu,
  httpPort: 80,
  containerDiskGb: 10,
  workspaceGb: 10,
  sleepAfterMinutes: 60,
  requiredEnvironment: ['TOKEN'],
};
const registryBody = { repository: 'registry.example/malformed/app', username: 'user', password: 'password' };

export function endpointsFor(ids: Ids): Endpoint[] {
  const service = `/api/services/${ids.service}`;
  return [
    {
      method: 'POST',
      path: '/api/services',
      body: {
        name: 'malformed',
        region: 'standard',
        image: 'nginx',
        resources: oneCpu,
        geography: 'europe',
        command: ['run'],
        httpPort: 80,
        volumeGb: 10,
        volumeMode: 'independent',
        sleepAfterMinutes: 60,
        environment: { NAME: 'value' },
      },
      fields: {
        name: { kind: { is: 'text', longest: 256 }, isRequired: true },
        region: { kind: { is: 'one of', values: ['standard'] }, isRequired: true },
        image: { kind: { is: 'text', longest: 1024 }, isRequired: true },
        ...resources,
        geography: { kind: { is: 'one of', values: ['europe'] } },
        command: { kind: { is: 'words', mayBeEmpty: true } },
        httpPort: port,
        volumeGb: { kind: size },
        volumeMode: { kind: { is: 'one of', values: ['independent'] } },
        volumeId: { kind: { is: 'uuid' } },
        sleepAfterMinutes: sleep,
        environment: { kind: { is: 'environment' } },
      },
    },
    {
      method: 'PATCH',
      path: service,
      body: {
        revision: 1,
        patch: { image: 'nginx', command: ['run'], httpPort: 80, environment: { A: '1' } },
      },
      fields: {
        revision,
        patch: { kind: { is: 'object' }, isRequired: true },
        'patch.image': { kind: { is: 'text', longest: 1024 } },
        'patch.command': { kind: { is: 'words', mayBeEmpty: true } },
        'patch.httpPort': port,
        'patch.environment': { kind: { is: 'environment' } },
      },
    },
    {
      method: 'POST',
      path: `${service}/actions`,
      body: { action: 'resize', resources: oneCpu },
      fields: { action: { kind: { is: 'one of', values: ['resize'] }, isRequired: true }, ...resources },
    },
    ...['start', 'stop', 'restart', 'delete'].map((action) => ({
      method: 'POST',
      path: `${service}/actions`,
      body: { action },
      fields: { action: { kind: { is: 'one of' as const, values: [action] }, isRequired: true } },
    })),
    {
      method: 'PATCH',
      path: `${service}/sleep`,
      body: { sleepAfterMinutes: 60 },
      fields: { sleepAfterMinutes: { ...sleep, isRequired: true } },
    },
    {
      method: 'POST',
      path: `${service}/exec`,
      body: { command: ['true'], timeoutSeconds: 1 },
      fields: {
        command: { kind: { is: 'words' }, isRequired: true },
        timeoutSeconds: { kind: integer(1, 60) },
      },
    },
    {
      method: 'POST',
      path: `${service}/activity`,
      body: { id: randomUUID(), name: 'malformed', release: false },
      fields: {
        id: { kind: { is: 'uuid' }, isRequired: true },
        name: { kind: { is: 'text', longest: 128, mayBeEmpty: true }, isRequired: true },
        release: { kind: { is: 'boolean' } },
      },
    },
    { method: 'POST', path: '/api/templates', body: templateBody, fields: template },
    {
      method: 'PUT',
      path: `/api/templates/${ids.template}`,
      body: { revision: 1, spec: templateBody },
      fields: { revision, ...inSpec(template) },
    },
    { method: 'DELETE', path: `/api/templates/${ids.template}`, body: { revision: 1 }, fields: { revision } },
    { method: 'POST', path: '/api/registries', body: registryBody, fields: registry },
    {
      method: 'PUT',
      path: `/api/registries/${ids.registry}`,
      body: { revision: 1, spec: registryBody },
      fields: { revision, ...inSpec(registry) },
    },
    {
      method: 'DELETE',
      path: `/api/registries/${ids.registry}`,
      body: { revision: 1 },
      fields: { revision },
    },
    {
      method: 'POST',
      path: '/api/volumes',
      body: { name: 'malformed', region: 'standard', geography: 'europe', sizeGb: 10 },
      fields: {
        name: { kind: { is: 'text', longest: 64 }, isRequired: true },
        region: { kind: { is: 'one of', values: ['standard'] }, isRequired: true },
        geography: { kind: { is: 'one of', values: ['europe'] } },
        sizeGb: { kind: size, isRequired: true },
      },
    },
    {
      method: 'PATCH',
      path: `/api/volumes/${ids.volume}`,
      body: { revision: 1, name: 'malformed', sizeGb: 20 },
      fields: {
        revision,
        name: { kind: { is: 'text', longest: 64 } },
        sizeGb: { kind: size },
      },
    },
  ];
}

function inSpec(fields: Endpoint['fields']): Endpoint['fields'] {
  const inside = Object.entries(fields).map(([path, field]) => [`spec.${path}`, field]);
  return { spec: { kind: { is: 'object' }, isRequired: true }, ...Object.fromEntries(inside) };
}
