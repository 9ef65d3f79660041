import { describe, expect, test } from 'vitest';
import type { Recording } from '../../../support/kubernetes/node-recordings.ts';
import { ClusterWorld, labelOf, spec } from './world.ts';

describe('a launch that can not be', () => {
  test.each<[Recording, string | RegExp]>([
    ['imageMissing', /^the image is not among the control plane's own images \(operation [0-9a-f-]{36}\)$/],
    ['imageNotPulled', /^the image can not be pulled: its registry did not serve it \(operation/],
    ['imageBackOff', /^the image can not be pulled: its registry did not serve it \(operation/],
    ['imageNameInvalid', /^the image is not the name of an image \(operation/],
    ['commandNotFound', /^the command was not found in the image \(operation/],
    ['commandNotExecutable', /^the command can not be executed \(operation/],
    ['exited', 'the container ended with exit code 5'],
    ['completed', 'the container ended with exit code 0'],
    ['outOfMemory', 'the container ended with exit code 137: it ran out of its 0.0625 GB of memory'],
    ['evicted', 'the container was removed: it wrote more than 10 GB beside its volume'],
    ['unschedulable', 'no node has room for these resources at the moment'],
  ])('as a node shows it (%s) is an error in the words of the control plane', async (recording, error) => {
    const log: string[] = [];
    const config = 'containers: {kubernetes: {unschedulableSeconds: 1}}';
    await using cluster = await ClusterWorld.start({ config, log });
    cluster.node.plays.set(spec.image, recording);
    const { id } = await cluster.world.ok('POST', '/api/services', {
      ...spec,
      environment: { TOKEN: 'no-such-command' },
    });
    expect((await cluster.until(id, 'error')).error).toMatch(error);
    expect(log.join('')).not.toContain('no-such-command');
  });

  test('is mended by a patch, after which only the new Pod is there', async () => {
    await using cluster = await ClusterWorld.start();
    cluster.node.plays.set(spec.image, 'imageMissing');
    const { id } = await cluster.world.ok('POST', '/api/services', spec);
    const { revision } = await cluster.until(id, 'error');
    await cluster.world.ok('PATCH', `/api/services/${id}`, { revision, patch: { image: 'localhost/web:2' } });
    await cluster.until(id, 'running');
    expect((await cluster.pods()).map((pod) => pod.spec.containers[0].image)).toEqual(['localhost/web:2']);
  });

  test('for want of its volume does not get an empty one', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, volumeId } = await cluster.running({ volumeGb: 10 });
    await cluster.world.act(id, 'stop');
    await cluster.until(id, 'paused');
    await cluster.remove('persistentvolumeclaims', `fleetkeeper-${volumeId}`);
    await cluster.world.act(id, 'start');
    expect((await cluster.until(id, 'error')).error).toContain(`volume ${volumeId} does not exist`);
    expect(await cluster.objects('/api/v1/persistentvolumeclaims')).toEqual([]);
  });
});

describe('a running service', () => {
  test.each<[Recording, string]>([
    ['exited', 'the container ended with exit code 5'],
    ['evicted', 'the container was removed: it wrote more than 10 GB beside its volume'],
  ])('whose container ends (%s) is in error, and is not started again', async (recording, error) => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    const { metadata } = await cluster.pod(id);
    cluster.node.show(metadata.name, recording);
    expect((await cluster.until(id, 'error')).error).toBe(error);
    expect((await cluster.pod(id)).metadata.uid).toBe(metadata.uid);
    await cluster.world.act(id, 'restart');
    await cluster.until(id, 'running');
    expect((await cluster.pod(id)).metadata.uid).not.toBe(metadata.uid);
  });

  test('whose Pod somebody deletes is in error', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    await cluster.remove('pods', `fleetkeeper-${id}`);
    expect((await cluster.until(id, 'error')).error).toBe('the container was removed at the cluster');
  });

  test('on a lost node is replaced only when the cluster reports that its Pod is gone', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running({ volumeGb: 10 });
    const { metadata } = await cluster.pod(id);
    cluster.node.lose();
    expect((await cluster.until(id, 'error')).error).toBe(
      'the node of the container does not answer, or is not for it any more',
    );
    await cluster.world.act(id, 'restart');
    await cluster.quiet();
    expect((await cluster.world.service(id)).state).toBe('provisioning');
    expect((await cluster.pods()).map((pod) => pod.metadata.uid)).toEqual([metadata.uid]);
    cluster.node.comeBack();
    await cluster.until(id, 'running');
    expect((await cluster.pods()).map((pod) => pod.metadata.uid)).not.toContain(metadata.uid);
  });
});

describe('another process with the same database', () => {
  test('finds what runs, starts nothing twice, and reports what ended meanwhile', async () => {
    await using cluster = await ClusterWorld.start();
    const [kept, ended] = [await cluster.running({ httpPort: 80 }), await cluster.running()];
    const before = (await cluster.pod(kept.id)).metadata.uid;
    await cluster.world.close();
    cluster.node.show(`fleetkeeper-${ended.id}`, 'exited');
    await cluster.open();
    expect((await cluster.until(ended.id, 'error')).error).toBe('the container ended with exit code 5');
    expect(await cluster.until(kept.id, 'running')).toEqual(kept);
    expect((await cluster.pod(kept.id)).metadata.uid).toBe(before);
  });

  test('continues a launch in whatever step it was left', async () => {
    await using cluster = await ClusterWorld.start();
    cluster.node.plays.set(spec.image, 'creating');
    const { id } = await cluster.world.ok('POST', '/api/services', { ...spec, environment: { A: '1' } });
    await expect.poll(async () => (await cluster.pods()).length).toBe(1);
    const [pod] = await cluster.pods();
    await cluster.reopen();
    cluster.node.show(pod.metadata.name, 'running');
    await cluster.until(id, 'running');
    expect((await cluster.pods()).map(({ metadata }) => metadata.uid)).toEqual([pod.metadata.uid]);
  });

  test('removes Pods without a record, keeps claims without one, and touches nothing of anybody else', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    const { metadata } = await cluster.pod(id);
    const { namespace } = metadata;
    const lost = { ...metadata.labels, [labelOf('service')]: 'gone' };
    await cluster.put('pods', { metadata: { name: 'lost', namespace, labels: lost }, spec: {} });
    await cluster.put('pods', { metadata: { name: 'foreign', namespace }, spec: {} });
    const volume = { ...metadata.labels, [labelOf('volume')]: 'gone' };
    await cluster.put('persistentvolumeclaims', {
      metadata: { name: 'precious', namespace, labels: volume },
      spec: {},
    });
    await cluster.reopen();
    await expect
      .poll(async () => (await cluster.pods()).map((pod): string => pod.metadata.name).toSorted(), {
        timeout: 10_000,
      })
      .toEqual([`fleetkeeper-${id}`, 'foreign']);
    expect(await cluster.objects('/api/v1/persistentvolumeclaims')).toHaveLength(1);
  });

  test('at the same time changes nothing as long as the first one acts', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    await using second = await cluster.copy();
    await second.world.act(id, 'stop');
    await second.quiet();
    expect((await second.world.service(id)).operation).toBe('stop');
    expect(await cluster.pods()).toHaveLength(1);
  });
});

describe('an API server that is away', () => {
  test("is waited for, and is nobody's fault", async () => {
    await using cluster = await ClusterWorld.start();
    const before = await cluster.running();
    await cluster.server.stop({ abruptly: true });
    const { id } = await cluster.world.ok('POST', '/api/services', spec);
    expect((await cluster.world.call('GET', `/api/services/${before.id}/logs`)).status).toBe(503);
    await cluster.server.start();
    await cluster.until(id, 'running');
    expect(await cluster.until(before.id, 'running')).toEqual(before);
  });

  test('in the midst of a creation whose answer is lost makes one Pod', async () => {
    await using cluster = await ClusterWorld.start();
    cluster.server.faults.add({ match: { verbs: ['create'], resource: 'pods' }, reset: 'after', times: 1 });
    const { id } = await cluster.world.ok('POST', '/api/services', spec);
    await cluster.until(id, 'running');
    expect(await cluster.pods()).toHaveLength(1);
  });
});

test('a namespace of that name that somebody else made is left alone', async () => {
  await using cluster = await ClusterWorld.start();
  const { id } = await cluster.running();
  const { namespace } = (await cluster.pod(id)).metadata;
  await cluster.world.act(id, 'delete');
  await cluster.untilGone(`/api/services/${id}`);
  await expect
    .poll(() => cluster.objects(`/api/v1/namespaces?fieldSelector=metadata.name=${namespace}`))
    .toEqual([]);
  await cluster.put('namespaces', { metadata: { name: namespace } });
  const next = await cluster.world.ok('POST', '/api/services', spec);
  await cluster.quiet();
  expect((await cluster.world.service(next.id)).state).toBe('provisioning');
  expect(await cluster.pods()).toEqual([]);
});

describe('an idle service', () => {
  // A minute is a second.
  const fast = { timeScale: 60 };
  const sleepy = { sleepAfterMinutes: 2 };

  test('falls asleep and gives its Pod up where the kubelets measure it, and wakes', async () => {
    await using cluster = await ClusterWorld.start(fast);
    const { id } = await cluster.running(sleepy);
    expect((await cluster.until(id, 'sleeping')).endpoint).toBe(null);
    expect(await cluster.pods()).toEqual([]);
    expect(await cluster.events(id)).toEqual([
      expect.stringMatching(/^created by /),
      'running',
      'falling asleep: idle for 2 min',
      'sleeping',
    ]);
    await cluster.world.ok('PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: null });
    await cluster.world.act(id, 'start');
    await cluster.until(id, 'running');
    expect(await cluster.pods()).toHaveLength(1);
  });

  test('of a cluster that measures nothing does not fall asleep, and its metrics say so', async () => {
    await using cluster = await ClusterWorld.start(fast);
    cluster.server.faults.add({ match: { resource: 'nodes', subresource: 'proxy' }, status: 403 });
    const { id } = await cluster.running(sleepy);
    // Where it is not served either, it is asked for at least once a minute. So an idle service would sleep by then, twice over.
    await expect
      .poll(() => cluster.server.requests().filter(({ path }) => path.includes('metrics.k8s.io')).length, {
        timeout: 20_000,
      })
      .toBeGreaterThan(5);
    expect(await cluster.events(id)).not.toContain('sleeping');
    expect((await cluster.world.service(id)).state).toBe('running');
    const metrics = await cluster.world.ok('GET', `/api/services/${id}/metrics?minutes=15`);
    const note = 'this cluster serves no measurements to the control plane';
    expect(metrics).toMatchObject({ simulated: false, note, samples: [] });
  });
});

test('a volume whose class has a fixed size is refused growth with a sentence', async () => {
  await using cluster = await ClusterWorld.start();
  await cluster.put(
    'storageclasses',
    {
      metadata: { name: 'fixed', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'example.org/fixed',
      allowVolumeExpansion: false,
    },
    '/apis/storage.k8s.io/v1',
  );
  const volume = await cluster.world.ok('POST', '/api/volumes', {
    name: 'data',
    region: 'standard',
    sizeGb: 10,
  });
  await expect
    .poll(async () => (await cluster.world.volume(volume.id)).status, { timeout: 10_000 })
    .toBe('ready');
  const { revision } = await cluster.world.volume(volume.id);
  const answer = await cluster.world.call('PATCH', `/api/volumes/${volume.id}`, { revision, sizeGb: 20 });
  expect([answer.status, answer.body.error.code]).toEqual([409, 'volume_cannot_grow']);
  expect(answer.body.error.message).toContain('fixed size');
});
