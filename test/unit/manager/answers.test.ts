/** What is made of answers that are late or lost, and of edits that come before them. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { settle } from '../../support/manual-clock.ts';
import {
  access,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  web,
} from '../../support/scripted-fleet.ts';

test('a replacement whose creation lost its answer is not made twice when one account read leaves it out', async () => {
  const settleMs = 60_000;
  const service = (image: string) =>
    serviceDocument('web', ['replacement: Recreate']).replace('web:1', image);
  const made = new Map<string, Record<string, unknown>>();
  let lostAtMs: number | undefined;
  let leavesOut = 1;
  const { tell, clock, store, manager } = await scriptedFleet(
    desiredOf({ ...access, 'web.yaml': service('web:1') }),
    {
      // It has been deleted to be created anew.
      records: [knownService(web, { deletedByUs: true })],
      settleMs,
      prepare: (api) => {
        api.on['POST /api/services'] = ({ body, key = '', atMs }) => {
          const { environment, ...rest } = body;
          const id = `00000000-0000-4000-8000-00000000010${made.size}`;
          const shown = { ...rest, id, environmentNames: Object.keys(environment) };
          if (!made.has(key)) made.set(key, shownService(shown));
          if (lostAtMs !== undefined) return { status: 201, body: made.get(key) ?? {} };
          lostAtMs = atMs;
          return 'lost';
        };
        api.on['GET /api/account'] = ({ atMs }) => {
          const isLate = lostAtMs !== undefined && atMs >= lostAtMs + settleMs;
          if (isLate) leavesOut -= 1;
          api.services = isLate && leavesOut >= 0 ? [] : [...made.values()];
          return undefined;
        };
      },
    },
  );
  await clock.advance(5000);
  expect(store.openIntent(web)).toMatchObject({ action: 'create-service', outcome: 'unknown' });
  tell(desiredOf({ ...access, 'web.yaml': service('web:2') }));
  await clock.advance(600_000);
  expect([...made.values()].map(({ id }) => id)).toEqual([store.record(web)?.externalId]);
  await manager.stop();
});

test('an edit that comes while a pass reads why something drifted is carried out', async () => {
  const service = (image: string) => serviceDocument('web', ['driftPolicy: Report']).replace('web:1', image);
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': service('web:1') }), {
    records: [knownService()],
    prepare: (given) => {
      given.services = [shownService()];
    },
  });
  const { tell, clock, api, manager } = fleet;
  await clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('Running');
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const events = `GET /api/services/${serviceId}/events`;
  api.on[events] = async () => {
    await read;
    return { status: 200, body: { events: [] } };
  };
  api.services = [shownService({ image: 'ghcr.io/acme/foreign:9', revision: 2 })];
  await clock.advance(20_000);
  expect(api.news()).toContain(events);
  tell(desiredOf({ ...access, 'web.yaml': service('web:2') }));
  await settle();
  resolve();
  await clock.advance(60_000);
  expect(api.news()).toContain(`PATCH /api/services/${serviceId}`);
  await manager.stop();
});

test('credentials that change while nobody knows whether their registry was made arrive', async () => {
  const registry = objectKey('ImageRegistry', 'default', 'images');
  const document = stringify({
    apiVersion,
    kind: 'ImageRegistry',
    metadata: { name: 'images' },
    spec: { repository: 'ghcr.io/acme/web', credentialsSecretRef: { name: 'robot' } },
  });
  const credentials = (password: string) =>
    stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'robot' },
      stringData: { username: 'robot', password },
    });
  const files = (password: string) =>
    desiredOf({ ...access, 'registry.yaml': document, 'robot.yaml': credentials(password) });
  const passwords: string[] = [];
  const made = { id: otherId, repository: 'ghcr.io/acme/web', revision: 1 };
  const { tell, clock, store, manager } = await scriptedFleet(files('one'), {
    settleMs: 60_000,
    prepare: (api) => {
      api.on['GET /api/registries'] = () => ({
        status: 200,
        body: { registries: passwords.length > 0 ? [made] : [] },
      });
      api.on['POST /api/registries'] = ({ body }) => {
        passwords.push(body.password);
        return 'lost';
      };
      api.on[`PUT /api/registries/${otherId}`] = ({ body }) => {
        passwords.push(body.spec.password);
        made.revision += 1;
        return { status: 200, body: made };
      };
    },
  });
  await clock.advance(20_000);
  expect(store.openIntent(registry)).toMatchObject({ action: 'create-registry', outcome: 'unknown' });
  tell(files('two'));
  await clock.advance(600_000);
  expect(passwords).toEqual(['one', 'two']);
  await manager.stop();
});

test('a service is paused for its volume although a read left the volume out when that was edited', async () => {
  const data = objectKey('StorageVolume', 'default', 'data');
  const files = (sizeGb: number) =>
    desiredOf({
      ...access,
      'web.yaml': serviceDocument('web', ['storage: {volumeRef: {name: data}}']),
      'data.yaml': stringify({
        apiVersion,
        kind: 'StorageVolume',
        metadata: { name: 'data' },
        spec: { region: 'standard', sizeGb, expansion: 'PauseService' },
      }),
    });
  const volume = shownVolume(otherId, serviceId);
  const { tell, clock, api, manager } = await scriptedFleet(files(10), {
    records: [knownService(), knownService(data, { externalId: otherId })],
    prepare: (given) => {
      given.services = [shownService({ volumeId: otherId })];
      given.volumes = [volume];
    },
  });
  api.on[`GET /api/volumes/${otherId}`] = () => ({ status: 200, body: { volume } });
  await clock.advance(60_000);
  api.volumes = [];
  await clock.advance(20_000);
  tell(files(20));
  await settle();
  api.volumes = [volume];
  api.news();
  await clock.advance(60_000);
  expect(api.news()).toContain(`POST /api/services/${serviceId}/actions`);
  await manager.stop();
});

test.each([201, 400])(
  'a pass whose object goes by itself before the answer %i has not failed',
  async (status) => {
    const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
      settleMs: 60_000,
    });
    const { clock, api, store, metrics, manager } = fleet;
    api.on['POST /api/services'] = async () => {
      await store.remove(web);
      return { status, ...(status === 201 ? { body: shownService() } : {}) };
    };
    await clock.advance(60_000);
    expect(api.news()).toContain('POST /api/services');
    expect(store.record(web)).toBeUndefined();
    expect((await metrics.reconcileErrors.get()).values).toEqual([]);
    await manager.stop();
  },
);
