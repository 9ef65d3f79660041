/** Annotations may be as large as an object may be. A status has a bound. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { textDigest } from '../../../src/base/index.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
  web,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();
const mostBytes = 32 * 1024;
const asking = (token: string, name = 'reconcile-at') =>
  desiredOf({
    ...access,
    'web.yaml': serviceDocument('web').replace(
      '{name: web}',
      `{name: web, annotations: {fleetkeeper.dev/${name}: "${token}"}}`,
    ),
  });

async function fleetAsked(token: string, name?: string) {
  const fleet = await scriptedFleet(asking(token, name), {
    records: [knownService()],
    prepare: (api) => void (api.services = [shownService()]),
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  return fleet;
}

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test('a token of 200 KB asks for a recheck, and status and record stay small', async () => {
  const token = 'é'.repeat(100_000);
  const fleet = await fleetAsked(token);
  const { status, report } = fleet.store.record(web) ?? {};
  expect(status?.lastHandledReconcileAt).toBe(`sha256:${textDigest(token)}`);
  expect([sizeOf(status), sizeOf(report)].every((size) => size < mostBytes)).toBe(true);
});

test('the same long token asks once, and another one asks again', async () => {
  const fleet = await fleetAsked('x'.repeat(1000));
  const reads = async () => {
    await fleet.clock.advance(1000);
    return fleet.api.news().filter((what) => what === 'GET /api/account').length;
  };
  await fleet.clock.advance(3_600_000);
  fleet.api.news();
  fleet.tell(asking(`${'x'.repeat(999)}y`));
  expect(await reads()).toBeGreaterThan(0);
  expect(fleet.store.record(web)?.status?.lastHandledReconcileAt).toBe(
    `sha256:${textDigest(`${'x'.repeat(999)}y`)}`,
  );
});

test.each(['command', 'accept-drift-until', 'shed-priority'])(
  'an invalid %s of 200 KB is reported in little',
  async (name) => {
    const fleet = await fleetAsked('x'.repeat(200_000), name);
    expect(readyReason(fleet, web)).toBe('InvalidAnnotation');
    expect(sizeOf(fleet.store.record(web)?.status)).toBeLessThan(mostBytes);
  },
);
