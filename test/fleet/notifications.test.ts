import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { createFleet, service, testInCluster, testOnClock, type Fleet } from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { TestSink } from '../support/processes/sink.ts';

const signingKey = 'canary-signing-key';
const minutes = (count: number) => count * 60_000;

function notification(name: string, { url }: TestSink, spec: object = {}, form = 'webhook'): object[] {
  const key = (of: string) => ({ secretKeyRef: { name, key: of } });
  const signed = form === 'webhook' ? { signingKeyFrom: key('signingKey') } : {};
  return [
    {
      apiVersion,
      kind: 'Notification',
      metadata: { name },
      spec: { sink: { [form]: { urlFrom: key('url'), ...signed } }, ...spec },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      stringData: { url: `${url}/canary-path\n`, signingKey },
    },
  ];
}

/** Its account does not exist, which is critical. */
const lost = (name: string) => service(name, { accountRef: { name: 'nowhere' } });

const allowed = ['--notify-allow-loopback', '--page-url', 'https://fleet.example.com/'];

async function world(spec?: object): Promise<{ fleet: Fleet; sink: TestSink }> {
  const fleet = await createFleet(await temporaryFolder());
  const sink = await new TestSink().open();
  await fleet.write('on-call.yaml', notification('on-call', sink, spec));
  return { fleet, sink };
}

const untilTypes = (sink: TestSink, types: readonly string[]) =>
  eventually(
    `${types.join(', ')} instead of ${sink.types.join(', ')}`,
    async () => sink.types.length >= types.length,
    minutes(3),
  ).then(() => expect(sink.types).toEqual(types));

test('a problem is announced once, signed, and so is its end; its secrets are shown nowhere', async () => {
  const { fleet, sink } = await world();
  await fleet.write('web.yaml', [lost('web')]);
  const run = fleet.run(...allowed);
  await untilTypes(sink, ['opened']);
  const [{ headers, text, body }] = sink.received as [TestSink['received'][number]];
  const object = `ContainerService/${fleet.namespace}/web`;
  expect(body).toMatchObject({
    formatVersion: 1,
    severity: 'critical',
    reason: 'AccountNotFound',
    account: `${fleet.namespace}/nowhere`,
    objects: [object],
    count: 1,
    link: `https://fleet.example.com/#/objects/${object}`,
  });
  const [, at = '', digest = ''] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-fleetkeeper-signature'])) ?? [];
  expect(createHmac('sha256', signingKey).update(`${at}.${text}`).digest('hex')).toBe(digest);
  expect(headers['idempotency-key']).toMatch(/^[0-9a-f]{32}-1$/);
  await fleet.until('Notification/on-call', 'Ready', 'True', 'Delivering');
  await fleet.remove('web.yaml');
  await untilTypes(sink, ['opened', 'ended']);
  expect(sink.received[1]?.body).toMatchObject({ id: body.id, objects: [object], count: 1 });
  await eventually('what is open', async () => {
    const { status } = (await fleet.records()).get('Notification/on-call') ?? {};
    return status?.['open'] === 0 && status['lastDeliveredAt'] !== undefined;
  });
  await run.kill('SIGTERM');
  const record = JSON.stringify((await fleet.records()).get('Notification/on-call'));
  expect(`${record}${run.stderr}${run.stdout}${text}`).not.toContain('canary');
});

testOnClock(
  '130 objects with problems are one message, and a restart announces none of them again',
  async () => {
    const { fleet, sink } = await world();
    await fleet.write(
      'all.yaml',
      Array.from({ length: 130 }, (_, at) => lost(`web-${at}`)),
    );
    const first = fleet.run(...allowed);
    await untilTypes(sink, ['opened']);
    expect(sink.received[0]?.body).toMatchObject({ count: 130 });
    expect(sink.received[0]?.body.objects).toHaveLength(5);
    await eventually('that it is saved', async () => {
      const found = (await fleet.records()).get('Notification/on-call');
      return found?.status?.['lastDeliveredAt'] !== undefined;
    });
    await first.kill('SIGKILL');
    const second = fleet.run(...allowed);
    await sleep(minutes(5));
    expect(sink.types).toEqual(['opened']);
    await second.kill('SIGTERM');
  },
);

testOnClock('a message whose answer was lost is sent again with the same key after kill -9', async () => {
  const { fleet, sink } = await world();
  sink.answer = 'hang';
  await fleet.write('web.yaml', [lost('web')]);
  const first = fleet.run(...allowed);
  await untilTypes(sink, ['opened']);
  await first.kill('SIGKILL');
  sink.answer = 204;
  const second = fleet.run(...allowed);
  await untilTypes(sink, ['opened', 'opened']);
  const keys = sink.received.map(({ headers }) => headers['idempotency-key']);
  expect(keys[0]).toBe(keys[1]);
  await second.kill('SIGTERM');
});

testOnClock(
  'a sink that answers 500 for hours is held, its messages are given up, and the next one is tried',
  async () => {
    const { fleet, sink } = await world();
    sink.answer = 500;
    await fleet.write('web.yaml', [lost('web')]);
    const run = fleet.run(...allowed, '--listen', '127.0.0.1:0');
    await fleet.until('Notification/on-call', 'Ready', 'False', 'DeliveryFailing', minutes(3));
    await sleep(minutes(60));
    const held = await fleet.until('Notification/on-call', 'Stalled', 'True', 'SinkRefused', minutes(120));
    expect(held.message).toContain('it answers 500');
    expect((await fleet.records()).get('Notification/on-call')?.status).toMatchObject({ dropped: 1 });
    expect(new Set(sink.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    sink.answer = 204;
    await fleet.write('api.yaml', [service('api', { accountRef: { name: 'nobody' } })]);
    await fleet.until('Notification/on-call', 'Ready', 'True', 'Delivering', minutes(10));
    await run.kill('SIGTERM');
  },
);

testOnClock('a sink on this machine is forbidden without the flag, and nothing is sent to it', async () => {
  const { fleet, sink } = await world();
  await fleet.write('web.yaml', [lost('web')]);
  const run = fleet.run();
  const { message } = await fleet.until('Notification/on-call', 'Stalled', 'True', 'AddressForbidden');
  await sleep(minutes(5));
  expect([sink.received, message.includes('canary')]).toEqual([[], false]);
  await run.kill('SIGTERM');
});

testOnClock(
  'a Notification announces what its `match` selects, and Slack gets text without links of others',
  async () => {
    const { fleet, sink } = await world({ match: { kinds: ['ServiceFleet'] } });
    const slack = await new TestSink().open();
    await fleet.write('slack.yaml', notification('slack', slack, {}, 'slack'));
    await fleet.write('web.yaml', [lost('web')]);
    const run = fleet.run(...allowed);
    await eventually('a message', async () => slack.received.length > 0, minutes(3));
    expect(slack.received[0]?.body.text).toMatch(/^\*Problem\* \(critical\) AccountNotFound: 1 object/);
    await sleep(minutes(2));
    expect(sink.received).toEqual([]);
    await run.kill('SIGTERM');
  },
);

testInCluster(
  'a Notification learns of its own namespace only, unless it is in that of the operator (AI5)',
  // What is announced together waits for half a minute.
  { timeout: 420_000 },
  async () => {
    const { fleet, sink } = await world();
    const other = await new TestSink().open();
    const beyond = `${fleet.namespace}-other`;
    const inOther = (documents: readonly object[]) =>
      documents.map((each) => ({
        ...each,
        metadata: { ...(each as { metadata: object }).metadata, namespace: beyond },
      }));
    const names = { match: { namespaces: [fleet.namespace, beyond] } };
    await fleet.write('other.yaml', inOther([...notification('other', other, names), lost('theirs')]));
    await fleet.write('web.yaml', [lost('web')]);
    const run = fleet.run(...allowed);
    await eventually('messages', async () => sink.types.length > 0 && other.types.length > 0, minutes(3));
    await sleep(45_000);
    const objectsOf = ({ received }: TestSink) => received.flatMap(({ body }) => body.objects);
    expect(objectsOf(sink)).toEqual([`ContainerService/${fleet.namespace}/web`]);
    expect(objectsOf(other)).toEqual([`ContainerService/${beyond}/theirs`]);
    await fleet.write('on-call.yaml', notification('on-call', sink, names));
    await eventually('that of the other namespace', async () => objectsOf(sink).length > 1, minutes(3));
    expect(objectsOf(sink)[1]).toBe(`ContainerService/${beyond}/theirs`);
    await run.kill('SIGTERM');
  },
);
