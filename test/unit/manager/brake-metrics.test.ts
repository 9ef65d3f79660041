/** The gauge of the brakes shows at each scrape what is true then, for each cause. */
import pino from 'pino';
import { expect, test } from 'vitest';
import { collectFleetMetrics } from '../../../src/manager/index.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const names = Array.from({ length: 12 }, (_, index) => `web-${index + 10}`);
const keyOf = (name: string) => objectKey('ContainerService', 'default', name);
const idOf = (name: string) => `00000000-0000-4000-8000-0000000000${name.slice(-2)}`;
const documents = Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name)]));
const shown = (name: string) => shownService({ id: idOf(name), name });

const whole = desiredOf({ ...access, ...documents });
const allowedUntil = (time: string) => ({
  'account.yaml': access['account.yaml'].replace(
    'name: default',
    `$&\n  annotations: {fleetkeeper.dev/allow-mass-change-until: "${time}"}`,
  ),
});

const running = stoppedAfterEach();

/** Twelve services that are as desired. */
async function fleetOf(): Promise<{ readonly fleet: ScriptedFleet; readonly logged: string[] }> {
  const logged: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => logged.push(String(JSON.parse(line).msg)) });
  const fleet = await scriptedFleet(whole, {
    logger,
    records: names.map((name) => knownService(keyOf(name), { externalId: idOf(name) })),
    prepare: (api) => {
      api.services = names.map(shown);
    },
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  return { fleet, logged };
}

/** The causes with their value, as a scrape has them. */
async function causes({ metrics, manager, clock }: ScriptedFleet): Promise<Record<string, number>> {
  collectFleetMetrics(metrics, manager, clock);
  const { values } = await metrics.brakeEngaged.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.cause, value]));
}

const none = { source: 0, account: 0, drift: 0 };

/** The image of so many is another one, and what Fleetkeeper sends takes effect. */
function drift({ api }: ScriptedFleet, image: string, count = names.length): void {
  api.services = api.services.map((service, at) =>
    at < count ? { ...service, image, revision: Number(service['revision']) + 1 } : service,
  );
  for (const name of names) {
    const path = `/api/services/${idOf(name)}`;
    api.on[`PATCH ${path}`] = ({ body }) => {
      const now = { ...api.services.find(({ id }) => id === idOf(name)), revision: body.revision + 1 };
      const changed: Record<string, unknown> = { ...now, ...body.patch };
      api.services = api.services.map((service) => (service['id'] === idOf(name) ? changed : service));
      return { status: 200, body: changed };
    };
  }
}

const drifted = ({ api }: ScriptedFleet) =>
  api.services.filter(({ image }) => image !== 'ghcr.io/acme/web:1').length;

test('each cause is shown from the start', async () => {
  const { fleet } = await fleetOf();
  expect(await causes(fleet)).toEqual(none);
});

test('a source that lost many, until it has them again', async () => {
  const { fleet } = await fleetOf();
  fleet.tell(desiredOf({ ...access, 'web-10.yaml': documents['web-10.yaml'] ?? '' }));
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual({ ...none, source: 1 });
  fleet.tell(whole);
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual(none);
});

test('an account read that lacks many, until one shows them again', async () => {
  const { fleet } = await fleetOf();
  fleet.api.services = [];
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual({ ...none, account: 1 });
  fleet.api.services = names.map(shown);
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual(none);
});

test('an account read that lacks many, until that is confirmed', async () => {
  const { fleet } = await fleetOf();
  fleet.api.services = [];
  await fleet.clock.advance(60_000);
  fleet.tell(desiredOf({ ...access, ...documents, ...allowedUntil('2030-01-01T00:00:00Z') }));
  expect(await causes(fleet)).toEqual({ ...none, account: 1 });
  await fleet.clock.advance(1000);
  expect(await causes(fleet)).toEqual(none);
});

test('the same drift on many, until it is corrected after a confirmation; the next one is logged, too', async () => {
  const { fleet, logged } = await fleetOf();
  drift(fleet, 'ghcr.io/acme/web:9');
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual({ ...none, drift: 1 });
  expect(logged).toEqual(['drift brake engaged']);

  fleet.tell(desiredOf({ ...access, ...documents, ...allowedUntil('2030-01-01T00:00:00Z') }));
  await fleet.clock.advance(120_000);
  expect(drifted(fleet)).toBe(0);
  expect(await causes(fleet)).toEqual(none);
  fleet.tell(whole);
  await fleet.clock.advance(900_000);
  expect(await causes(fleet)).toEqual(none);

  drift(fleet, 'ghcr.io/acme/web:8');
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual({ ...none, drift: 1 });
  expect(logged).toEqual(['drift brake engaged', 'drift brake engaged']);
});

test('the same drift on many, until somebody takes it back', async () => {
  const { fleet, logged } = await fleetOf();
  for (const round of [1, 2]) {
    drift(fleet, 'ghcr.io/acme/web:9');
    await fleet.clock.advance(60_000);
    expect(await causes(fleet)).toEqual({ ...none, drift: 1 });
    expect(logged.length).toBe(round);
    drift(fleet, 'ghcr.io/acme/web:1');
    await fleet.clock.advance(60_000);
    expect(readyReason(fleet, keyOf('web-10'))).toBe('Running');
    expect(await causes(fleet)).toEqual(none);
  }
});

test.each([
  ['the documents have it', (text: string) => text.replace('web:1', 'web:9')],
  ['it is only to be reported', (text: string) => `${text}\n  driftPolicy: Report\n`],
])('the same drift on many, until %s', async (_what, edit) => {
  const { fleet } = await fleetOf();
  drift(fleet, 'ghcr.io/acme/web:9');
  await fleet.clock.advance(60_000);
  const edited = Object.entries(documents).map(([file, text]) => [file, edit(text)] as const);
  fleet.tell(desiredOf({ ...access, ...Object.fromEntries(edited) }));
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual(none);
});

test('drift that was held stays so while the account can not be read, and is logged once', async () => {
  const { fleet, logged } = await fleetOf();
  drift(fleet, 'ghcr.io/acme/web:9');
  await fleet.clock.advance(60_000);
  fleet.api.on['GET /api/account'] = () => ({ status: 500 });
  await fleet.clock.advance(600_000);
  expect(readyReason(fleet, keyOf('web-10'))).toBe('ApiUnreachable');
  expect(await causes(fleet)).toEqual({ ...none, drift: 1 });
  fleet.api.on['GET /api/account'] = () => undefined;
  await fleet.clock.advance(600_000);
  expect(await causes(fleet)).toEqual({ ...none, drift: 1 });
  expect(logged).toEqual(['drift brake engaged']);
});

test('drift of an account that is gone', async () => {
  const { fleet } = await fleetOf();
  drift(fleet, 'ghcr.io/acme/web:9');
  await fleet.clock.advance(60_000);
  fleet.tell(desiredOf(documents));
  await fleet.clock.advance(60_000);
  expect(await causes(fleet)).toEqual(none);
});
