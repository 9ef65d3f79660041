/** What is in an account and shows no price is not taken for nothing, though nobody manages it (BI6). */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  stoppedAfterEach,
  web,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

const team: ObjectKey = 'Budget/default/team';
const volumeId = '00000000-0000-4000-8000-000000000003';
const ofAccount = { accountRef: { name: 'default' } };
const gpu = { region: 'standard', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 }, hourlyMicros: 700 };
const storage = { region: 'standard', storageGbHourMicros: 9 };
const large = { gpuCount: 8, cpu: 64, memoryGb: 512 };

function files(scope: object, prices: readonly object[], spec: object = {}): Record<string, string> {
  const limits = { hourlyMicros: 1_000_000 };
  const document = {
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'team' },
    spec: { limits, ...scope, ...spec },
  };
  const account = prices.length === 0 ? '' : `  prices: ${JSON.stringify(prices)}\n`;
  return { ...access, 'account.yaml': accountDocument + account, 'budget.yaml': stringify(document) };
}

async function fleetWith(
  desired: Record<string, string>,
  shown: { readonly services?: object[]; readonly volumes?: object[] },
  options: ScriptedFleetOptions = {},
) {
  const prepare: ScriptedFleetOptions['prepare'] = (api) => {
    api.services = (shown.services ?? []) as Record<string, unknown>[];
    api.volumes = (shown.volumes ?? []) as Record<string, unknown>[];
  };
  const fleet = await scriptedFleet(desiredOf(desired), { ...options, prepare });
  running.push(fleet);
  await fleet.clock.advance(70_000);
  return fleet;
}

function statusOf({ store }: ScriptedFleet) {
  const status = store.record(team)?.status;
  const within = status?.conditions.find(({ type }) => type === 'WithinBudget');
  return {
    hourlyMicros: status?.['hourlyMicros'],
    unpricedObjects: status?.['unpricedObjects'],
    members: status?.['members'],
    message: within?.message,
  };
}

const theirs = shownService({ id: otherId, name: 'theirs', hourlyMicros: undefined });
const unknownPrice = shownService({ id: serviceId, name: 'huge', hourlyMicros: undefined, resources: large });

test('what nobody manages in an account counts with its estimate, and as unpriced', async () => {
  const volume = shownVolume(volumeId, null);
  const fleet = await fleetWith(files(ofAccount, [gpu, storage]), { services: [theirs], volumes: [volume] });
  expect(statusOf(fleet)).toEqual({ hourlyMicros: 790, unpricedObjects: 2, members: 2, message: '' });
});

test('without any price it is shown that nobody knows what it costs', async () => {
  const fleet = await fleetWith(files(ofAccount, [gpu]), { services: [theirs, unknownPrice] });
  const { message, ...rest } = statusOf(fleet);
  expect(rest).toEqual({ hourlyMicros: 700, unpricedObjects: 2, members: 2 });
  expect(message).toContain('the price of 1 of its objects is not known, so what that costs is missing here');
});

test('a thing of an object counts once', async () => {
  const shown = { services: [shownService({ hourlyMicros: undefined })] };
  const desired = { ...files(ofAccount, [gpu]), 'web.yaml': serviceDocument('web') };
  const fleet = await fleetWith(desired, shown, { records: [knownService()] });
  expect(statusOf(fleet)).toEqual({ hourlyMicros: 700, unpricedObjects: 1, members: 1, message: '' });
});

test('a price that is declared later counts from then on', async () => {
  const fleet = await fleetWith(files(ofAccount, []), { services: [theirs] });
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, unpricedObjects: 1 });
  fleet.tell(desiredOf(files(ofAccount, [gpu])));
  await fleet.clock.advance(130_000);
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 700, unpricedObjects: 1, message: '' });
});

test('a volume that was made with a service counts with its estimate', async () => {
  const shown = { services: [shownService({ volumeId })], volumes: [shownVolume(volumeId, serviceId)] };
  const desired = { ...files({ namespace: true }, [storage]), 'web.yaml': serviceDocument('web') };
  const fleet = await fleetWith(desired, shown, { records: [knownService()] });
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 91, unpricedObjects: 1 });
});

async function created(unpriced: string, services: object[]) {
  const desired = files(ofAccount, [gpu], { unpriced });
  const fleet = await fleetWith(desired, { services });
  fleet.tell(desiredOf({ ...desired, 'web.yaml': serviceDocument('web') }));
  await fleet.clock.advance(20_000);
  const isAsked = fleet.api.asked.some(({ what }) => what === 'POST /api/services');
  const { message } = fleet.store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready') ?? {};
  return { isAsked, reason: readyReason(fleet, web), message };
}

test('with `unpriced: Block`, nothing grows as long as nobody knows what the rest costs', async () => {
  const found = await created('Block', [unknownPrice]);
  expect(found).toMatchObject({ isAsked: false, reason: 'BudgetExceeded' });
  expect(found.message).toContain('the price of 1 of its objects is not known');
});

test.each([
  ['with `unpriced: Allow`', 'Allow', [unknownPrice]],
  ['where all prices are known', 'Block', [theirs]],
])('%s, it is made', async (_, unpriced, services) => {
  expect(await created(unpriced, services)).toMatchObject({ isAsked: true });
});
