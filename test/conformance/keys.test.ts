import { randomUUID } from 'node:crypto';
import { expect, test, type TestContext } from 'vitest';
import type { Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

/** §4: all mutating endpoints require the header Idempotency-Key. Each request here is right but for that. */
const workspace = new Workspace();
const { api } = workspace;
const service = once(() => workspace.runningService());
const volume = once(() => workspace.readyVolume());
const template = once(() => workspace.createTemplate());
const registryForm = (context: TestContext) => required(context, 'registrySpec', '--registry-spec');
const registryOf = once(async () => {
  const spec = workspace.registrySpec(target.registrySpec ?? {}, 'secret');
  return { spec, registry: await workspace.createRegistry(spec) };
});

interface Request {
  readonly path: string;
  readonly body?: object;
}
type Build = (context: TestContext) => Promise<Request>;

const ofService =
  (rest: string, body: (service: Json, context: TestContext) => object | undefined): Build =>
  async (context) => {
    const { id } = await service();
    const given = body(await api.service(id), context);
    return { path: `/api/services/${id}${rest}`, ...(given && { body: given }) };
  };

const requests: Readonly<Record<string, Build>> = {
  'POST /api/services': async () => ({ path: '/api/services', body: workspace.serviceSpec() }),
  'PATCH /api/services/{id}': ofService('', ({ revision }) => ({
    revision,
    patch: { image: target.otherImage },
  })),
  'POST /api/services/{id}/actions': ofService('/actions', () => ({ action: 'restart' })),
  'PATCH /api/services/{id}/sleep': ofService('/sleep', () => ({ sleepAfterMinutes: 1440 })),
  'POST /api/services/{id}/exec': ofService('/exec', (_, context) =>
    required(context, 'execBody', '--exec-body'),
  ),
  'POST /api/services/{id}/activity': ofService('/activity', () => ({ id: randomUUID(), name: 'x' })),
  'POST /api/services/{id}/browser-session': ofService('/browser-session', () => undefined),
  'POST /api/volumes': async () => ({ path: '/api/volumes', body: workspace.volumeSpec() }),
  'PATCH /api/volumes/{id}': async () => {
    const { id } = await volume();
    const { revision } = await api.volume(id);
    return { path: `/api/volumes/${id}`, body: { revision, name: workspace.name() } };
  },
  'DELETE /api/volumes/{id}': async () => ({ path: `/api/volumes/${(await volume()).id}` }),
  'POST /api/templates': async () => ({ path: '/api/templates', body: workspace.templateSpec() }),
  'PUT /api/templates/{id}': async () => {
    const { id, revision } = await template();
    return { path: `/api/templates/${id}`, body: { revision, spec: workspace.templateSpec() } };
  },
  'DELETE /api/templates/{id}': async () => {
    const { id, revision } = await template();
    return { path: `/api/templates/${id}`, body: { revision } };
  },
  'POST /api/registries': async (context) => ({
    path: '/api/registries',
    body: workspace.registrySpec(registryForm(context), 'secret'),
  }),
  'PUT /api/registries/{id}': async (context) => {
    registryForm(context);
    const { spec, registry } = await registryOf();
    return { path: `/api/registries/${registry.id}`, body: { revision: registry.revision, spec } };
  },
  'DELETE /api/registries/{id}': async (context) => {
    registryForm(context);
    const { registry } = await registryOf();
    return { path: `/api/registries/${registry.id}`, body: { revision: registry.revision } };
  },
};

test.for(Object.entries(requests))('§4 %s: requires an Idempotency-Key', async ([name, build], context) => {
  const [method = ''] = name.split(' ');
  const { path, body } = await build(context);
  const answer = await api.call(method, path, body, { idempotencyKey: null });
  if (answer.status < 300) await keepWhatWasMade(path, answer.body);
  expectRefused(answer);
});

async function keepWhatWasMade(path: string, made: Json): Promise<void> {
  const kinds = { services: 'service', volumes: 'volume', templates: 'template', registries: 'registry' };
  const kind = kinds[path.replace('/api/', '') as keyof typeof kinds];
  if (kind) workspace.keep(kind as 'service', made);
  expect(path).toBeDefined();
}
