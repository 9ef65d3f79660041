/** What happens besides problems is announced once, over restarts: rollouts, brakes, thresholds of budgets. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInTime,
  testOnClock,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { TestSink } from '../support/processes/sink.ts';

const minuteMs = 60_000;
const allowed = '--notify-allow-loopback';
const update = { minReadySeconds: 0, failureLimit: 0 };
const rolled = (image: string): object =>
  fleetOf('llm', { replicas: 2, template: template({ image }), update });

interface Watched {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly sink: TestSink;
}

async function world(match: object = {}): Promise<Watched> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const sink = await new TestSink().open();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('on-call.yaml', [
    {
      apiVersion,
      kind: 'Notification',
      metadata: { name: 'on-call' },
      spec: { sink: { webhook: { urlFrom: { secretKeyRef: { name: 'sink', key: 'url' } } } }, match },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'sink' }, stringData: { url: sink.url } },
  ]);
  return { plane, fleet, sink };
}

const told = ({ received }: TestSink): string[] =>
  received.map(({ body }) => [body.type, body.reason, ...body.objects.map(nameOf)].join(' '));
const nameOf = (key: string): string => key.split('/').at(-1) ?? '';

const untilTold = (sink: TestSink, expected: readonly string[]) =>
  eventually(
    `${expected.join(', ')} instead of ${told(sink).join(', ')}`,
    async () => sink.received.length >= expected.length,
    5 * minuteMs,
  ).then(() => expect(told(sink)).toEqual(expected));

/** Nothing of what was delivered is sent again. */
async function restarted({ fleet, sink }: Watched, run: { kill(signal: 'SIGKILL'): Promise<unknown> }) {
  await run.kill('SIGKILL');
  const before = told(sink);
  const next = fleet.run(allowed);
  await sleep(5 * minuteMs);
  expect(told(sink)).toEqual(before);
  return next;
}

const delivered = ({ fleet }: Watched) =>
  eventually('that the delivery is saved', async () => {
    const status = (await fleet.records()).get('Notification/on-call')?.status;
    return status?.['lastDeliveredAt'] !== undefined;
  });

testOnClock('the end of each rollout, with its outcome', async () => {
  const watched = await world({ kinds: ['ServiceFleet'] });
  const { fleet, sink } = watched;
  await fleet.write('llm.yaml', [rolled('ghcr.io/acme/llm:1')]);
  const first = fleet.run(allowed);
  await untilTold(sink, ['happened RolloutComplete llm']);
  expect(sink.received[0]?.body).toMatchObject({
    severity: 'info',
    count: 1,
    message: 'the rollout to r1 is complete',
  });
  await delivered(watched);
  const second = await restarted(watched, first);
  await fleet.write('llm.yaml', [rolled('registry.invalid/llm:2')]);
  await untilTold(sink, ['happened RolloutComplete llm', 'happened RevisionFailed llm']);
  expect(sink.received[1]?.body).toMatchObject({
    severity: 'warning',
    message: expect.stringMatching(/^r2 failed: .*; the replicas return to r1$/),
  });
  // What stays so is a problem.
  await eventually('the problem', async () => told(sink).includes('opened RolloutFailed llm'), 10 * minuteMs);
  await fleet.write('llm.yaml', [rolled('ghcr.io/acme/llm:3')]);
  await eventually('the end', async () => sink.received.length >= 5, 10 * minuteMs);
  expect(told(sink).slice(3).toSorted()).toEqual(['ended RolloutFailed llm', 'happened RolloutComplete llm']);
  await second.kill('SIGTERM');
});

testOnClock(
  'what the sink did not accept before a restart, with the same key, its object and its reason',
  async () => {
    const { fleet, sink } = await world({ kinds: ['ServiceFleet'] });
    sink.answer = 500;
    await fleet.write('llm.yaml', [rolled('ghcr.io/acme/llm:1')]);
    const first = fleet.run(allowed);
    await untilTold(sink, ['happened RolloutComplete llm']);
    await first.kill('SIGKILL');
    sink.answer = 204;
    const again = sink.received.length;
    const second = fleet.run(allowed);
    await eventually('the message', async () => sink.received.length > again, 5 * minuteMs);
    await sleep(5 * minuteMs);
    expect(told(sink).slice(again)).toEqual(['happened RolloutComplete llm']);
    expect(new Set(sink.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect((await fleet.records()).get('Notification/on-call')?.status).toMatchObject({ dropped: 0 });
    await second.kill('SIGTERM');
  },
);

// In a cluster, what is being deleted does not come back.
testInTime('a brake that is engaged, and its release', async () => {
  const watched = await world({ reasons: ['MassChangeBrake'] });
  const { fleet, sink } = watched;
  const all = Array.from({ length: 12 }, (_, at) => service(`app-${at}`));
  await fleet.write('apps.yaml', all);
  const first = fleet.run(allowed);
  await fleet.untilReady(13);
  await fleet.write('apps.yaml', all.slice(0, 1));
  await eventually('that it is engaged', async () => sink.received.length > 0, 5 * minuteMs);
  expect(sink.received[0]?.body).toMatchObject({
    type: 'opened',
    reason: 'MassChangeBrake',
    severity: 'critical',
  });
  await delivered(watched);
  const second = await restarted(watched, first);
  await fleet.write('apps.yaml', all);
  await eventually('its release', async () => sink.received.length > 1, 5 * minuteMs);
  const [opened, ended] = sink.received.map(({ body }): Json => body);
  expect(ended).toMatchObject({ type: 'ended', id: opened.id, count: opened.count });
  await (await restarted(watched, second)).kill('SIGTERM');
});

testOnClock('thresholds and limits of a budget that are passed', async () => {
  const watched = await world({ kinds: ['Budget'] });
  const { fleet, sink } = watched;
  const budget = (hourlyMicros: number): object => ({
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'team' },
    spec: { namespace: true, limits: { hourlyMicros }, warnAt: [80] },
  });
  await fleet.write('budget.yaml', [budget(15_000)]);
  await fleet.write('web.yaml', [service('web')]);
  const first = fleet.run(allowed);
  await untilTold(sink, ['happened BudgetNearLimit team']);
  await delivered(watched);
  const second = await restarted(watched, first);
  await fleet.write('budget.yaml', [budget(13_000)]);
  await eventually('the limit', async () => sink.received.length > 1, 5 * minuteMs);
  expect(told(sink)[1]).toBe('happened BudgetPassed team');
  await (await restarted(watched, second)).kill('SIGTERM');
  expect(told(sink)).toEqual(['happened BudgetNearLimit team', 'happened BudgetPassed team']);
});
