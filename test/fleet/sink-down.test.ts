/** No pass and no heartbeat waits for a sink (AI3). There are more Notifications than workers, so passes that wait would be all there are. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testOnClock, type Fleet } from '../support/processes/fleet.ts';
import { eventually, fetch, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { TestSink } from '../support/processes/sink.ts';

const minuteMs = 60_000;
const notifications = 18;
/** Each has its own account, so each is a message of its own, of each Notification. */
const problems = 57;
const queuedAtMost = 1000;

const notification = (name: string): object => ({
  apiVersion,
  kind: 'Notification',
  metadata: { name },
  spec: { sink: { webhook: { urlFrom: { secretKeyRef: { name: 'sink', key: 'url' } } } }, maxPerHour: 1000 },
});

interface Watched {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
}

/** How long each of some edits takes to arrive at the provider. */
async function reactionsMs({ plane, fleet }: Watched, round: string): Promise<number[]> {
  const took: number[] = [];
  for (const turn of [1, 2, 3, 4, 5]) {
    const image = `ghcr.io/acme/app:${round}${turn}`;
    const fromMs = nowMs();
    await fleet.write('api.yaml', [service('api', { image })]);
    await eventually('the edit', async () => (await plane.service('api'))?.image === image, 5 * minuteMs);
    took.push(nowMs() - fromMs);
    await fleet.until('ContainerService/api', 'Ready', 'True', undefined, 5 * minuteMs);
  }
  return took;
}

/** The longest time between two heartbeats while `during` lasts. */
async function longestGapMs({ plane }: Watched, during: () => Promise<unknown>): Promise<number> {
  await plane.forgetRequests();
  await during();
  const times = (await plane.requests())
    .filter(({ method, path }) => method === 'POST' && path.endsWith('/activity'))
    .map(({ at }) => Date.parse(at));
  expect(times.length).toBeGreaterThan(3);
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
}

/** Kinds that had a pass of more than five seconds: an attempt that hangs takes ten. */
function longPasses(metrics: string): string[] {
  const counts = new Map<string, number>();
  const pattern =
    /^controller_runtime_reconcile_time_seconds_bucket\{le="(5|\+Inf)",controller="(\w+)"\} (\d+)$/gm;
  for (const [, le = '', kind = '', count] of metrics.matchAll(pattern))
    counts.set(`${kind} ${le}`, Number(count));
  expect(counts.size).toBeGreaterThan(0);
  return [...counts.keys()].filter(
    (name) => name.endsWith(' 5') && counts.get(name) !== counts.get(name.replace(/5$/, '+Inf')),
  );
}

const most = (times: readonly number[]) => Math.max(...times);

testOnClock(
  'passes and heartbeats are as fast with a sink that is down for two hours, and what is dropped is counted and reported',
  { timeout: 300_000 },
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    const sink = await new TestSink().open();
    const names = Array.from({ length: notifications }, (_, at) => `on-call-${at}`);
    const watched = { plane, fleet };
    await fleet.write('account.yaml', account(plane.url, { pollSeconds: 60 }));
    await fleet.write('web.yaml', [service('web'), task('epoch')]);
    await fleet.write('on-call.yaml', [
      ...names.map(notification),
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'sink' }, stringData: { url: sink.url } },
    ]);
    const run = fleet.run('--notify-allow-loopback', '--listen', '127.0.0.1:0');
    const [, url = ''] = await run.line(/^listening on (.*)$/);
    await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
    let before: number[] = [];
    const gapBefore = await longestGapMs(watched, async () => {
      before = await reactionsMs(watched, 'before');
      await sleep(5 * minuteMs);
    });

    sink.answer = 'hang';
    await fleet.write(
      'lost.yaml',
      Array.from({ length: problems }, (_, at) =>
        service(`lost-${at}`, { accountRef: { name: `nowhere-${at}` } }),
      ),
    );
    await eventually('messages', async () => sink.received.length > 3, 5 * minuteMs);
    let during: number[] = [];
    const gapDuring = await longestGapMs(watched, async () => {
      during = await reactionsMs(watched, 'during');
      await sleep(30 * minuteMs);
    });
    for (const _ of [1, 2, 3]) await sleep(30 * minuteMs);
    const late = await reactionsMs(watched, 'late');

    // Polls and heartbeats have their jitter.
    expect(most(during) - most(before)).toBeLessThan(3000);
    expect(most(late) - most(before)).toBeLessThan(3000);
    expect(gapDuring - gapBefore).toBeLessThan(3000);

    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(longPasses(metrics)).toEqual([]);
    const [, dropped = 0] = /fleetkeeper_notifications_total\{outcome="dropped"\} (\d+)/.exec(metrics) ?? [];
    expect(Number(dropped)).toBeGreaterThanOrEqual(notifications * problems - queuedAtMost);
    expect(run.stderr).toContain('a message of a Notification was given up');
    const records = await fleet.records();
    const counted = names.map((name) => Number(records.get(`Notification/${name}`)?.status?.['dropped']));
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(Number(dropped));
    await fleet.until('Notification/on-call-0', 'Stalled', 'True', 'SinkRefused');
    await run.kill('SIGTERM');
  },
);
