/** A refusal of a key says nothing of another one: what was held for a 403, or waited for a 401, is asked again at once. */
import { expect, test } from 'vitest';
import { Sensitive } from '../../../src/base/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  web,
  type ScriptedApi,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const patch = `PATCH /api/services/${serviceId}`;
const edited = serviceDocument('web', []).replace('web:1', 'web:2');
const withKey = (key: string) => access['secret.yaml'].replace('apiKey: key', `apiKey: ${key}`);
const wish = (key: string) => desiredOf({ ...access, 'secret.yaml': withKey(key), 'web.yaml': edited });

async function refused(status: number, more: ScriptedFleetOptions = {}, desired = wish('first')) {
  const fleet = await scriptedFleet(desired, {
    records: [knownService()],
    prepare: (api: ScriptedApi) => {
      api.services = [shownService()];
      api.on[patch] = () => ({ status });
    },
    ...more,
  });
  await fleet.clock.advance(120_000);
  fleet.api.news();
  return fleet;
}

test.each([
  [403, 'Forbidden'],
  [401, 'CredentialRejected'],
])('a %i ends with a new Secret', async (status, reason) => {
  const fleet = await refused(status);
  expect(readyReason(fleet, web)).toBe(reason);
  fleet.api.on[patch] = () => ({
    status: 200,
    body: shownService({ revision: 2, image: 'ghcr.io/acme/web:2' }),
  });
  fleet.tell(wish('second'));
  await fleet.clock.advance(3000);
  expect(fleet.api.news()).toContain(patch);
  await fleet.manager.stop();
});

test.each([
  [403, 'Forbidden'],
  [401, 'CredentialRejected'],
])('a %i ends with a new key file or environment', async (status, reason) => {
  let key = 'first';
  const environment = { url: 'https://api.invalid', apiKey: () => new Sensitive(key) };
  const fleet = await refused(status, { environment }, desiredOf({ 'web.yaml': edited }));
  expect(readyReason(fleet, web)).toBe(reason);
  fleet.api.on[patch] = () => ({
    status: 200,
    body: shownService({ revision: 2, image: 'ghcr.io/acme/web:2' }),
  });
  key = 'second';
  await fleet.clock.advance(5000);
  expect(fleet.api.news()).toContain(patch);
  await fleet.manager.stop();
});

test('what a process before was refused with another key is asked at once, and with the same one it is not', async () => {
  const before = await refused(403);
  await before.manager.stop();
  const startMs = before.clock.wallMs();
  for (const [key, isAsked] of [
    ['first', false],
    ['second', true],
  ] as const) {
    const fleet = await scriptedFleet(wish(key), {
      store: before.store,
      startMs,
      prepare: (api) => {
        api.services = [shownService()];
        api.on[patch] = () => ({ status: 403 });
      },
    });
    await fleet.clock.advance(5000);
    expect([key, fleet.api.news().includes(patch)]).toEqual([key, isAsked]);
    await fleet.manager.stop();
  }
});
