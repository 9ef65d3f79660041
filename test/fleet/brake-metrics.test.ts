/** The gauge of the brakes, as a scrape of `run --listen` has it: engaged while the brake stops something, and no longer. */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInTime, type Fleet } from '../support/processes/fleet.ts';
import { eventually, fetch, nowMs, temporaryFolder } from '../support/processes/processes.ts';

const names = Array.from({ length: 12 }, (_, at) => `app-${at}`);
const minuteMs = 60_000;
const none = { source: 0, account: 0, drift: 0 };

/** Twelve services that run, and the address of the metrics. */
async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write(
    'apps.yaml',
    names.map((name) => service(name)),
  );
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.untilReady(12, 2 * minuteMs);
  return { plane, fleet, manager, url };
}

async function causes(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(/^fleetkeeper_mass_change_brake_engaged\{cause="(\w+)"\} (\d)$/gm);
  return Object.fromEntries(Array.from(found, ([, cause = '', value]) => [cause, Number(value)]));
}

const untilCauses = async (url: string, expected: object) => {
  let last: object = {};
  await eventually(
    `the gauge ${JSON.stringify(expected)}`,
    async () => {
      last = await causes(url);
      return JSON.stringify(last) === JSON.stringify(expected);
    },
    5 * minuteMs,
  ).catch(() => expect(last).toEqual(expected));
};

async function confirm(fleet: Fleet, url: string): Promise<void> {
  const until = new Date(nowMs() + 10 * minuteMs).toISOString();
  const [document, secret] = account(url) as [{ metadata: object }, object];
  const annotations = { 'fleetkeeper.dev/allow-mass-change-until': until };
  await fleet.write('account.yaml', [{ ...document, metadata: { name: 'default', annotations } }, secret]);
}

testInTime('a colleague deletes nine of twelve services at once', async () => {
  const { plane, fleet, manager, url } = await world();
  const lines = () =>
    Array.from(manager.stderr.matchAll(/"account":"([^"]*)".*"msg":"mass-change brake (\w+)"/g), (line) =>
      line.slice(1),
    );
  expect(await causes(url)).toEqual(none);
  const gone = await Promise.all(names.slice(0, 9).map((name) => plane.service(name)));
  await Promise.all(
    gone.map(({ id }) => plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' })),
  );
  await untilCauses(url, { ...none, account: 1 });
  const engaged = ['default/default', 'engaged'];
  expect(lines()).toEqual([engaged]);
  expect(manager.stderr).toContain('suddenly lacks 9 of 12 managed objects');
  await confirm(fleet, plane.url);
  await untilCauses(url, none);
  await fleet.untilReady(12, 5 * minuteMs);
  expect(await causes(url)).toEqual(none);
  expect(lines()).toEqual([engaged, ['default/default', 'released']]);
  await manager.kill('SIGTERM');
});

testInTime(
  'a colleague gives all services another image, twice, and it is corrected in between',
  async () => {
    const { plane, fleet, manager, url } = await world();
    const engaged = () => manager.stderr.split('drift brake engaged').length - 1;
    for (const round of [1, 2]) {
      const all = await Promise.all(names.map((name) => plane.service(name)));
      await Promise.all(
        all.map(({ id, revision }) =>
          plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: `theirs:${round}` } }),
        ),
      );
      await untilCauses(url, { ...none, drift: 1 });
      expect(engaged()).toBe(round);
      await confirm(fleet, plane.url);
      await untilCauses(url, none);
      await eventually(
        'the corrections',
        async () => {
          const now = await Promise.all(names.map((name) => plane.service(name)));
          return now.every(({ image }) => image === 'ghcr.io/acme/app:1');
        },
        5 * minuteMs,
      );
      await fleet.write('account.yaml', account(plane.url));
      await fleet.untilReady(12, 5 * minuteMs);
      expect(await causes(url)).toEqual(none);
    }
    await manager.kill('SIGTERM');
  },
);
