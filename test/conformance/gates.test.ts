import { expect, test, type TestContext } from 'vitest';
import type { Answer, Api, Json } from './api.ts';
import { expectRefused, knownFields } from './expectations.ts';
import { required, target } from './target.ts';
import { Workspace } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;

function unverified(context: TestContext): Api {
  return api.as(required(context, 'unverifiedApiKey', '--unverified-api-key'));
}

function unverifiedServicePath(context: TestContext): string {
  return `/api/services/${required(context, 'unverifiedService', '--unverified-service')}`;
}

/** Refused, and nothing has changed. */
async function expectNoEffect(read: () => Promise<Json>, attempt: () => Promise<Answer>): Promise<void> {
  const before = await read();
  expectRefused(await attempt());
  expect(await read()).toEqual(before);
}

function idsIn(caller: Api) {
  return async () => {
    const { services, volumes } = await caller.account();
    return [...services, ...volumes].map(({ id }) => id);
  };
}

function idsAndRevisions(answer: Json): Json {
  return answer.registries.map(({ id, revision }: Json) => ({ id, revision }));
}

test('§5 rule 4: creating compute requires a verified email', async (context) => {
  const caller = unverified(context);
  await expectNoEffect(idsIn(caller), () => caller.call('POST', '/api/services', workspace.serviceSpec()));
});

test('§5 rule 4: creating independent storage requires a verified email', async (context) => {
  const caller = unverified(context);
  await expectNoEffect(idsIn(caller), () => caller.call('POST', '/api/volumes', workspace.volumeSpec()));
});

test('§5 rule 4: creating a registry requires a verified email', async (context) => {
  const caller = unverified(context);
  const spec = workspace.registrySpec(required(context, 'registrySpec', '--registry-spec'), 'secret');
  const registries = async () => idsAndRevisions(await caller.get('/api/registries'));
  await expectNoEffect(registries, () => caller.call('POST', '/api/registries', spec));
});

test('§5 rule 4: updating a volume requires a verified email', async (context) => {
  const caller = unverified(context);
  const id = required(context, 'unverifiedVolume', '--unverified-volume');
  const { revision } = await caller.volume(id);
  await expectNoEffect(
    async () => knownFields(await caller.volume(id)),
    () => caller.call('PATCH', `/api/volumes/${id}`, { revision, name: workspace.name() }),
  );
});

test('§5 rule 4: rotating a registry requires a verified email', async (context) => {
  const caller = unverified(context);
  const id = required(context, 'unverifiedRegistry', '--unverified-registry');
  const form = required(context, 'registrySpec', '--registry-spec');
  const list = () => caller.get('/api/registries');
  const { repository, revision } = (await list()).registries.find((item: Json) => item.id === id);
  const spec = workspace.registrySpec(form, 'secret', repository);
  await expectNoEffect(
    async () => idsAndRevisions(await list()),
    () => caller.call('PUT', `/api/registries/${id}`, { revision, spec }),
  );
});

test('§4 PATCH /api/services/{id}: requires a verified account', async (context) => {
  const caller = unverified(context);
  const path = unverifiedServicePath(context);
  const read = async () => knownFields((await caller.get(path)).service);
  const { revision } = await read();
  const body = { revision, patch: { image: target.otherImage } };
  await expectNoEffect(read, () => caller.call('PATCH', path, body));
});

test.for([{ action: 'restart' }, { action: 'resize', resources: target.otherResources }])(
  '§3 rule 2: $action requires a verified email',
  async (body, context) => {
    const caller = unverified(context);
    const path = unverifiedServicePath(context);
    const read = async () => knownFields((await caller.get(path)).service);
    await expectNoEffect(read, () => caller.call('POST', `${path}/actions`, body));
  },
);

test('§3 rule 2: start requires a verified email', async (context) => {
  const caller = unverified(context);
  const path = unverifiedServicePath(context);
  const read = async () => knownFields((await caller.get(path)).service);
  if ((await read()).state !== 'paused')
    await caller.expectSuccess('POST', `${path}/actions`, { action: 'stop' });
  await workspace.eventually('the service is paused', async () => (await read()).state === 'paused');
  await expectNoEffect(read, () => caller.call('POST', `${path}/actions`, { action: 'start' }));
});

test('§4 POST /api/services: requires funds', async (context) => {
  const caller = api.as(required(context, 'brokeApiKey', '--broke-api-key'));
  await expectNoEffect(idsIn(caller), () => caller.call('POST', '/api/services', workspace.serviceSpec()));
});

test('§4 POST /api/services: requires matching capacity', async () => {
  const spec = workspace.serviceSpec({ resources: { gpuCount: 1_000_000, cpu: 1, memoryGb: 1 } });
  await expectNoEffect(idsIn(api), async () =>
    workspace.keepIfMade('service', await api.call('POST', '/api/services', spec)),
  );
});
