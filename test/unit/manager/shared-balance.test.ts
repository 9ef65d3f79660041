/** S15 with several Accounts for one account at the provider: there is one balance, and what any of them asks for counts against it. */
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  readyReason,
  scriptedFleet,
  secretDocument,
  shownService,
  type Answer,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const floor = 50_000_000;
const gpuHourMicros = 972_000;
const create = 'POST /api/services';
const prices = [{ region: 'standard', gpuHourMicros, cpuHourMicros: 0, memoryGbHourMicros: 0 }];
const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

function accountDocument(name: string, spec: object): string {
  const credentialsSecretRef = { name: 'compute', key: 'apiKey' };
  const url = 'https://api.invalid';
  const requests = { perSecond: 100, burst: 100, concurrency: 32 };
  const all = { url, credentialsSecretRef, minimumBalanceMicros: floor, requests, ...spec };
  return stringify({ apiVersion, kind: 'Account', metadata: { name }, spec: all });
}

const names = Array.from({ length: 8 }, (_, index) => `team${index}`);

/** Eight Accounts with one service each. */
function teams(specOf: (index: number) => object = () => ({ prices })) {
  const documents = names.map((name, index) => [
    [`account-${name}.yaml`, accountDocument(name, specOf(index))],
    [`${name}.yaml`, serviceDocument(name, [`accountRef: {name: ${name}}`])],
  ]);
  return desiredOf({ 'secret.yaml': secretDocument, ...Object.fromEntries(documents.flat()) });
}

/** It makes what it is asked for at once, and the balance stays as it is. */
function provider(balanceMicros: number, answer?: 'lost') {
  return (api: ScriptedApi) => {
    api.on['GET /api/account'] = () => ({
      status: 200,
      body: { balanceMicros, currency: 'USD', services: api.services, volumes: [], ledger: [] },
    });
    api.on[create] = ({ body }): Answer => {
      const { environment, ...shown } = body;
      const id = uuid(api.services.length + 1);
      const environmentNames = Object.keys(environment ?? {});
      const service = shownService({ ...shown, id, environmentNames, hourlyMicros: gpuHourMicros });
      api.services = [...api.services, service];
      return answer ?? { status: 201, body: service };
    };
  };
}

const created = (api: ScriptedApi) => api.asked.filter(({ what }) => what === create).length;

test('eight Accounts of one account at the provider create no more at once than its balance bears', async () => {
  const fleet = await scriptedFleet(teams(), { prepare: provider(floor + 2 * gpuHourMicros, 'lost') });
  await fleet.clock.advance(2000);
  expect(created(fleet.api)).toBe(2);
  const reasons = names.map((name) => readyReason(fleet, objectKey('ContainerService', 'default', name)));
  expect(reasons.filter((reason) => reason === 'BalanceTooLow')).toHaveLength(6);
  await fleet.manager.stop();
});

test('so do those of an API that does not show whose key it is', async () => {
  const fleet = await scriptedFleet(teams(), {
    prepare: (api) => {
      provider(floor + 2 * gpuHourMicros, 'lost')(api);
      api.on['GET /api/me'] = () => ({ status: 403 });
    },
  });
  await fleet.clock.advance(2000);
  expect(created(fleet.api)).toBe(2);
  await fleet.manager.stop();
});

test('a price that nobody knows is found out by one of them', async () => {
  const fleet = await scriptedFleet(
    teams(() => ({})),
    {
      prepare: (api) => {
        provider(floor + 2 * gpuHourMicros)(api);
        api.on[create] = () => 'lost';
      },
    },
  );
  await fleet.clock.advance(2000);
  expect(created(fleet.api)).toBe(1);
  await fleet.manager.stop();
});

test('Accounts at other providers have balances of their own', async () => {
  const specOf = (index: number) => ({ prices, url: `https://api${index}.invalid` });
  const fleet = await scriptedFleet(teams(specOf), {
    prepare: provider(floor + 2 * gpuHourMicros, 'lost'),
  });
  await fleet.clock.advance(2000);
  expect(created(fleet.api)).toBe(8);
  expect(readyOf(fleet, 'team0')).toMatchObject({ reason: 'Connected', message: '' });
  await fleet.manager.stop();
});

function readyOf({ store }: ScriptedFleet, account: string, namespace = 'default') {
  const status = store.record(objectKey('Account', namespace, account))?.status;
  return status?.conditions.find(({ type }) => type === 'Ready');
}

test('Accounts for one account at the provider show it, but no name of another namespace', async () => {
  const elsewhere = stringify({
    ...(parse(accountDocument('team0', { prices })) as object),
    metadata: { name: 'secret-project', namespace: 'lab' },
  });
  const key = stringify({
    ...(parse(secretDocument) as object),
    metadata: { name: 'compute', namespace: 'lab' },
  });
  const documents = {
    'secret.yaml': secretDocument,
    'a.yaml': accountDocument('team0', { prices }),
    'b.yaml': accountDocument('team1', { prices }),
    'far.yaml': elsewhere,
    'far-key.yaml': key,
  };
  const fleet = await scriptedFleet(desiredOf(documents), { prepare: provider(floor) });
  await fleet.clock.advance(20_000);
  expect(readyOf(fleet, 'team0')).toMatchObject({
    status: 'True',
    reason: 'SharedAccount',
    message: expect.stringContaining(
      'as the Accounts team1, 1 of other namespaces: each has its own limiter',
    ),
  });
  expect(readyOf(fleet, 'team1')?.reason).toBe('SharedAccount');
  expect(readyOf(fleet, 'secret-project', 'lab')?.message).toContain('Accounts 2 of other namespaces');
  expect(JSON.stringify(readyOf(fleet, 'team0'))).not.toContain('secret-project');
  const { 'secret.yaml': secret, 'a.yaml': own } = documents;
  fleet.tell(desiredOf({ 'secret.yaml': secret, 'a.yaml': own }));
  await fleet.clock.advance(120_000);
  expect(readyOf(fleet, 'team0')).toMatchObject({ reason: 'Connected', message: '' });
  await fleet.manager.stop();
});
