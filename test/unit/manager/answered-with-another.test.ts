/** A creation that is answered with something that was there before: it is not ours, and must not be changed or deleted. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  otherId,
  readyReason,
  scriptedFleet,
  shownService,
  shownVolume,
  web,
  type Answer,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const volumeKey = objectKey('StorageVolume', 'default', 'data');
const templateKey = objectKey('ServiceTemplate', 'default', 'base');
const spec = { region: 'standard', sizeGb: 10, deletionPolicy: 'Delete' };
const document = (kind: string, name: string, given: object) =>
  stringify({ apiVersion, kind, metadata: { name }, spec: given });
const template = { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 } };
const bystander = serviceDocument('bystander', ['deletionPolicy: Retain']);

interface Case {
  readonly key: ObjectKey;
  readonly document: string;
  readonly post: string;
  readonly prepare: (api: ScriptedApi) => object;
}

const service = (more: object): Case => ({
  key: web,
  document: serviceDocument('web', ['deletionPolicy: Delete']),
  post: 'POST /api/services',
  prepare: (api) => {
    api.services = [shownService({ id: otherId, image: 'ghcr.io/others/thing:9', ...more })];
    return { ...api.services[0] };
  },
});
const volume: Case = {
  key: volumeKey,
  document: document('StorageVolume', 'data', spec),
  post: 'POST /api/volumes',
  prepare: (api) => {
    const shown = shownVolume(otherId, null);
    api.volumes = [shown];
    api.on[`GET /api/volumes/${otherId}`] = () => ({ status: 200, body: { volume: shown } });
    return shown;
  },
};
const templates: Case = {
  key: templateKey,
  document: document('ServiceTemplate', 'base', { ...template, deletionPolicy: 'Delete' }),
  post: 'POST /api/templates',
  prepare: (api) => {
    const shown = { id: otherId, name: 'base', revision: 1, description: 'of others', ...template };
    api.on['GET /api/templates'] = () => ({ status: 200, body: { templates: [shown] } });
    return shown;
  },
};

const kinds: [string, Case][] = [
  ['a service without variables', service({ environmentNames: [] })],
  ['a service with other variables', service({ environmentNames: ['MODE'] })],
  ['a service whose names of variables are hidden', service({ environmentNames: undefined })],
  ['a volume', volume],
  ['a template', templates],
];

function fleetOf(given: Case, answer: (shown: object, sent: number) => Answer, more: object = {}) {
  const desired = desiredOf({ ...access, 'it.yaml': given.document, 'bystander.yaml': bystander });
  return scriptedFleet(desired, {
    prepare: (api) => {
      const shown = given.prepare(api);
      const plain = api.on[given.post];
      api.on[given.post] = (asked) => {
        if (asked.body.name === 'bystander') return plain?.(asked) ?? { status: 400 };
        return answer(shown, api.asked.filter(({ what }) => what === given.post).length);
      };
    },
    ...more,
  });
}

/** Requests that name what is not ours. */
function touched({ api }: ScriptedFleet): string[] {
  return api.asked
    .map(({ what }) => what)
    .filter((what) => !what.startsWith('GET ') && what.includes(otherId));
}

const withoutIt = desiredOf({ ...access, 'bystander.yaml': bystander });

test.each(kinds)('%s that was there is not taken for what was asked for', async (_what, given) => {
  const fleet = await fleetOf(given, (shown) => ({ status: 201, body: shown }));
  await fleet.clock.advance(30_000);
  expect(fleet.store.record(given.key)?.externalId).toBeUndefined();
  expect(readyReason(fleet, given.key)).toBe('OutcomeUnknown');
  const reported = fleet.store.record(given.key)?.status?.conditions.map(({ message }) => message);
  expect(reported?.join('\n')).toContain(`adopt: {id: ${otherId}}`);
  await fleet.clock.advance(1_200_000);
  // To send it again would be answered in the same way: a person has to say.
  const creations = fleet.api.asked.filter(
    ({ what, body }) => what === given.post && body.name !== 'bystander',
  );
  expect(creations).toHaveLength(1);
  const stalled = fleet.store.record(given.key)?.status?.conditions.find(({ type }) => type === 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
  fleet.tell(withoutIt);
  await fleet.clock.advance(1_200_000);
  expect(touched(fleet)).toEqual([]);
  await fleet.manager.stop();
});

test.each(kinds)('%s is not taken for it when the first request got no answer', async (_what, given) => {
  const fleet = await fleetOf(given, (shown, sent) => (sent < 3 ? 'lost' : { status: 201, body: shown }));
  await fleet.clock.advance(1_200_000);
  fleet.tell(withoutIt);
  await fleet.clock.advance(1_200_000);
  expect(touched(fleet)).toEqual([]);
  await fleet.manager.stop();
});

test.each(kinds)('%s is not taken for it by the next process', async (_what, given) => {
  const first = await fleetOf(given, () => 'lost');
  await first.clock.advance(90_000);
  await first.manager.stop();
  const fleet = await fleetOf(given, (shown) => ({ status: 201, body: shown }), { store: first.store });
  await fleet.clock.advance(1_200_000);
  fleet.tell(withoutIt);
  await fleet.clock.advance(1_200_000);
  expect(touched(fleet)).toEqual([]);
  await fleet.manager.stop();
});

test('what is meant can be adopted', async () => {
  const given = service({ environmentNames: [] });
  const fleet = await fleetOf(given, (shown) => ({ status: 201, body: shown }));
  await fleet.clock.advance(30_000);
  const adopting = serviceDocument('web', [`adopt: {id: ${otherId}}`]);
  fleet.tell(desiredOf({ ...access, 'it.yaml': adopting, 'bystander.yaml': bystander }));
  await fleet.clock.advance(30_000);
  expect(fleet.store.record(web)?.externalId).toBe(otherId);
  expect(touched(fleet)).toContain(`PATCH /api/services/${otherId}`);
  await fleet.manager.stop();
});

test('what the first request made, and the account shows before it is sent again, is taken', async () => {
  // Its name has lost the mark on the way: the answer to the repetition is all that tells.
  const made = { ...shownVolume(otherId, null), name: 'data' };
  const desired = desiredOf({ ...access, 'it.yaml': volume.document });
  const fleet = await scriptedFleet(desired, {
    prepare: (api) => {
      api.on['POST /api/volumes'] = () => {
        const isFirst = api.volumes.length === 0;
        api.volumes = [made];
        return isFirst ? 'lost' : { status: 201, body: made };
      };
      api.on[`GET /api/volumes/${otherId}`] = () => ({ status: 200, body: { volume: made } });
    },
  });
  await fleet.clock.advance(120_000);
  expect(fleet.store.record(volumeKey)?.externalId).toBe(otherId);
  await fleet.manager.stop();
});
