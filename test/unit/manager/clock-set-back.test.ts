/** A manager whose wall clock is behind that of the one before it, as that of another replica may be. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const startMs = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;
const document = serviceDocument('web', ['env: [{name: MODE, value: one}]', 'sleepAfterMinutes: 7']);
const desired = desiredOf({ ...access, 'web.yaml': document });

const running = stoppedAfterEach();

interface Provider {
  readonly shown: Record<string, unknown>;
  patches: number;
}

/** A service that was created, and runs as it should. */
async function managed(): Promise<[ScriptedFleet, Provider]> {
  const provider: Provider = { shown: shownService({ sleepAfterMinutes: 7 }), patches: 0 };
  const fleet = await scriptedFleet(desired, {
    startMs,
    prepare: (api) => {
      api.on['POST /api/services'] = ({ body }) => {
        Object.assign(provider.shown, {
          name: body.name,
          image: body.image,
          environmentNames: Object.keys(body.environment),
        });
        api.services = [provider.shown];
        return { status: 201, body: provider.shown };
      };
    },
  });
  await fleet.clock.advance(minuteMs);
  expect(readyReason(fleet, web)).toBe('Running');
  return [fleet, provider];
}

/** The next manager of the same objects, on a clock of its own. */
async function nextManager(
  before: ScriptedFleet,
  provider: Provider,
  wallMs: number,
): Promise<ScriptedFleet> {
  await before.manager.stop();
  const fleet = await scriptedFleet(desired, {
    store: before.store,
    startMs: wallMs,
    prepare: (api) => {
      api.services = [provider.shown];
      api.on[`PATCH /api/services/${serviceId}`] = () => {
        provider.patches += 1;
        return { status: 200, body: provider.shown };
      };
    },
  });
  running.push(fleet);
  return fleet;
}

const moveRevision = ({ shown }: Provider) => (shown['revision'] = Number(shown['revision']) + 1);

test('a service that falls asleep after its minutes is not taken to have been changed by somebody', async () => {
  const [before, provider] = await managed();
  const fleet = await nextManager(before, provider, startMs - 60 * minuteMs);
  await fleet.clock.advance(6 * minuteMs);
  // It is on its way to sleep, and still shown as running.
  moveRevision(provider);
  await fleet.clock.advance(minuteMs);
  expect(provider.patches).toBe(0);
  expect(fleet.store.record(web)?.doubted).toEqual(['env']);
});

test('nor is it when the clock has come to the time of before again', async () => {
  const [before, provider] = await managed();
  const fleet = await nextManager(before, provider, startMs - 60 * minuteMs);
  await fleet.clock.advance(62 * minuteMs);
  moveRevision(provider);
  await fleet.clock.advance(minuteMs);
  expect(provider.patches).toBe(0);
});

test('by a clock that was not set back, its environment is sent once more', async () => {
  const [before, provider] = await managed();
  const fleet = await nextManager(before, provider, startMs + 2 * minuteMs);
  moveRevision(provider);
  await fleet.clock.advance(minuteMs);
  expect(provider.patches).toBe(1);
});
