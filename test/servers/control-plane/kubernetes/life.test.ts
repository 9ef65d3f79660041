import { describe, expect, test } from 'vitest';
import { key, type Json } from '../support.ts';
import { ClusterWorld, labelOf, spec } from './world.ts';

describe('a launch', () => {
  test('is one Pod without privileges, token or value of the environment, in a namespace of its account', async () => {
    await using cluster = await ClusterWorld.start();
    const environment = { TOKEN: 'secret-1$(HOME)', EMPTY: '', 'odd.name-1': 'ä"\n' };
    const { id } = await cluster.running({ environment, command: ['sh', '-c', 'echo $(date) $$'] });
    const [pod, ...others] = await cluster.pods();
    expect(others).toEqual([]);
    expect(JSON.stringify(pod)).not.toContain('secret-1');
    expect(pod.metadata).toMatchObject({
      name: `fleetkeeper-${id}`,
      namespace: expect.stringMatching(/^fleetkeeper-[0-9a-f]{24}$/),
      annotations: { [labelOf('fence')]: '0' },
    });
    expect(pod.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      serviceAccountName: 'fleetkeeper-tenant',
      terminationGracePeriodSeconds: 10,
    });
    const [container] = pod.spec.containers;
    expect(container).toMatchObject({
      image: 'localhost/web:1',
      imagePullPolicy: 'Never',
      args: ['sh', '-c', 'echo $$(date) $$$$'],
      securityContext: { privileged: false, allowPrivilegeEscalation: false },
      resources: {
        limits: { cpu: '500m', memory: String(2 ** 26), 'ephemeral-storage': '10Gi' },
        requests: { cpu: '500m', memory: String(2 ** 26) },
      },
    });
    const [secret, ...more] = await cluster.objects('/api/v1/secrets');
    expect(more).toEqual([]);
    expect(secret).toMatchObject({
      immutable: true,
      metadata: { ownerReferences: [{ kind: 'Pod', uid: pod.metadata.uid }] },
    });
    const values = container.env.map(({ name, value, valueFrom }: never) => {
      const { key: at } = (valueFrom as { secretKeyRef: { key: string } } | undefined)?.secretKeyRef ?? {};
      return [name, at === undefined ? value : Buffer.from(secret.data[at], 'base64').toString()];
    });
    expect(Object.fromEntries(values)).toEqual({ ...environment, NVIDIA_VISIBLE_DEVICES: 'void' });
  });

  test('gets what surrounds it: bounds, no rights, and a network of its own', async () => {
    await using cluster = await ClusterWorld.start();
    await cluster.running();
    const space = (await cluster.objects('/api/v1/namespaces')).find(
      ({ metadata }) => metadata.labels[labelOf('account')],
    );
    expect(space.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'baseline' });
    const [quota] = await cluster.objects('/api/v1/resourcequotas');
    expect(quota.spec.hard).toMatchObject({ pods: '20000' });
    const [account] = await cluster.objects('/api/v1/serviceaccounts');
    expect(account.automountServiceAccountToken).toBe(false);
    const [policy] = await cluster.objects('/apis/networking.k8s.io/v1/networkpolicies');
    const outside = policy.spec.egress.at(-1).to[0].ipBlock;
    expect(outside.cidr).toBe('0.0.0.0/0');
    expect(outside.except).toEqual(
      expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '10.228.255.2/32', '10.228.0.0/24']),
    );
    expect(policy.spec.ingress[0].from[0]).toEqual({ podSelector: {} });
  });

  test('with a port is led to by a Service, whose address stays over restarts', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, endpoint } = await cluster.running({ httpPort: 8080 });
    expect(endpoint).toMatch(/^http:\/\/10\.228\.\d+\.\d+:8080$/);
    await cluster.world.act(id, 'restart');
    expect((await cluster.until(id, 'running')).endpoint).toBe(endpoint);
    const [service] = await cluster.objects('/api/v1/services');
    const pod = await cluster.pod(id);
    expect(pod.metadata.labels).toMatchObject(service.spec.selector);
  });

  test.each([
    ['{kind: nodePort, host: 192.0.2.7}', /^http:\/\/192\.0\.2\.7:3\d{4}$/, undefined],
    ['{kind: nodePort}', /^http:\/\/10\.228\.255\.2:3\d{4}$/, undefined],
    [
      '{kind: ingress, domain: apps.example.org, className: nginx}',
      /^https:\/\/[0-9a-f-]{36}\.apps\.example\.org$/,
      '/apis/networking.k8s.io/v1/ingresses',
    ],
    [
      '{kind: gateway, domain: apps.example.org, scheme: http, gateway: {name: edge, namespace: infra}}',
      /^http:\/\/[0-9a-f-]{36}\.apps\.example\.org$/,
      '/apis/gateway.networking.k8s.io/v1/httproutes',
    ],
  ])('answers where the configuration has it: %s', async (endpoint, form, path) => {
    await using cluster = await ClusterWorld.start({
      config: `containers: {kubernetes: {endpoint: ${endpoint}}}`,
    });
    const service = await cluster.running({ httpPort: 8080 });
    expect(service.endpoint).toMatch(form);
    expect(path === undefined ? [1] : await cluster.objects(path)).toHaveLength(1);
    await cluster.world.act(service.id, 'delete');
    await cluster.untilGone(`/api/services/${service.id}`);
    expect(await cluster.objects('/api/v1/services')).toEqual([]);
    expect(path === undefined ? [] : await cluster.objects(path)).toEqual([]);
  });

  test('is where the configuration has its region and geography', async () => {
    const config = `
gpuCatalog: [{model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}]
regions:
- name: standard
  prices: {}
  cluster: {runtimeClass: gvisor, nodeSelector: {pool: tenants}, tolerations: [{key: tenants, operator: Exists}]}
  geographies: [{name: here, gpus: {l4: 4}, cpu: 8, memoryGb: 64, cluster: {storageClass: fast, nodeSelector: {zone: a}, gpus: {l4: {nodeSelector: {gpu: l4}}}}}]`;
    await using cluster = await ClusterWorld.start({ config });
    const { id } = await cluster.running({ volumeGb: 10, resources: { ...spec.resources, gpuCount: 2 } });
    const { spec: podSpec } = await cluster.pod(id);
    expect(podSpec).toMatchObject({
      runtimeClassName: 'gvisor',
      nodeSelector: { zone: 'a', gpu: 'l4' },
      tolerations: [{ key: 'tenants', operator: 'Exists' }],
    });
    expect(podSpec.containers[0].resources.limits).toMatchObject({ 'nvidia.com/gpu': '2' });
    const [claim] = await cluster.objects('/api/v1/persistentvolumeclaims');
    expect(claim.spec).toMatchObject({
      storageClassName: 'fast',
      resources: { requests: { storage: '10Gi' } },
    });
  });

  test('with a private image has credentials for its registry, which are gone with the Pod', async () => {
    await using cluster = await ClusterWorld.start();
    const registry = { repository: 'ghcr.io/acme/app', username: 'me', password: 'pass-word-1' };
    await cluster.world.ok('POST', '/api/registries', registry);
    const { id } = await cluster.running({ image: 'ghcr.io/acme/app:1' });
    const pod = await cluster.pod(id);
    expect(pod.spec.containers[0].imagePullPolicy).toBe('Always');
    const [{ name }] = pod.spec.imagePullSecrets;
    const secrets = await cluster.objects('/api/v1/secrets');
    const secret = secrets.find(({ metadata }) => metadata.name === name);
    expect(JSON.parse(Buffer.from(secret.data['.dockerconfigjson'], 'base64').toString()).auths).toEqual({
      'ghcr.io': {
        username: 'me',
        password: 'pass-word-1',
        auth: Buffer.from('me:pass-word-1').toString('base64'),
      },
    });
    await cluster.world.act(id, 'stop');
    await cluster.until(id, 'paused');
    await expect.poll(() => cluster.objects('/api/v1/secrets')).toEqual([]);
  });

  test.each([
    [{ environment: { '1A': 'x' } }, /^400 invalid_request/],
    [{ environment: { 'a b': 'x' } }, /^400 invalid_request/],
    [{ environment: { NVIDIA_VISIBLE_DEVICES: 'all' } }, /^400 invalid_request/],
    [{ image: '10.0.0.1/app:1' }, /^400 invalid_request/],
    [{ image: 'metadata.internal/app:1' }, /^400 invalid_request/],
  ])('of %j is refused before anything is created', async (more, refusal) => {
    await using cluster = await ClusterWorld.start();
    expect(await cluster.world.refusal('POST', '/api/services', { ...spec, ...more })).toMatch(refusal);
    expect(await cluster.pods()).toEqual([]);
  });
});

/** A service whose node was asked to resize it, and does nothing. */
async function askedForResize(cluster: ClusterWorld): Promise<{ id: string; metadata: Json }> {
  cluster.node.resizes = 'never';
  const { id } = await cluster.running();
  const { metadata } = await cluster.pod(id);
  await cluster.world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.125 });
  await expect.poll(async () => (await cluster.pod(id)).spec.containers[0].resources.limits.cpu).toBe('750m');
  return { id, metadata };
}

describe('a service', () => {
  test('that runs is resized in place: the same container runs on, with what it asked for', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, endpoint } = await cluster.running({ httpPort: 80, environment: { A: '1' } });
    const { metadata } = await cluster.pod(id);
    await cluster.world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.125 });
    expect((await cluster.until(id, 'running')).endpoint).toBe(endpoint);
    const resized = await cluster.pod(id);
    expect(resized.metadata.uid).toBe(metadata.uid);
    const { resources } = resized.status.containerStatuses[0];
    expect(resources.limits).toMatchObject({ cpu: '750m', memory: String(2 ** 27) });
    expect(resources.requests).toMatchObject({ cpu: '750m', memory: String(2 ** 27) });
    cluster.node.show(metadata.name, 'outOfMemory');
    expect((await cluster.until(id, 'error')).error).toContain('it ran out of its 0.125 GB of memory');
  });

  test.each([
    ['of a cluster that can not resize in place', 'notServed'],
    ['without room on its node', 'deferred'],
  ] as const)('%s gets another Pod when it is resized', async (_what, resizes) => {
    await using cluster = await ClusterWorld.start();
    cluster.node.resizes = resizes;
    const { id } = await cluster.running({ environment: { A: '1' } });
    const { metadata } = await cluster.pod(id);
    await cluster.world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.125 });
    await cluster.until(id, 'running');
    const second = await cluster.pod(id);
    expect(second.metadata.uid).not.toBe(metadata.uid);
    expect(second.spec.containers[0].resources.limits.cpu).toBe('750m');
  });

  test('gets another Pod for another number of GPUs', async () => {
    const config = `
gpuCatalog: [{model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}]
regions:
- name: standard
  prices: {}
  geographies: [{name: here, gpus: {l4: 4}, cpu: 8, memoryGb: 64}]`;
    await using cluster = await ClusterWorld.start({ config });
    const { id } = await cluster.running({ resources: { ...spec.resources, gpuCount: 1 } });
    const { metadata } = await cluster.pod(id);
    await cluster.world.act(id, 'resize', { ...spec.resources, gpuCount: 2 });
    await cluster.until(id, 'running');
    const second = await cluster.pod(id);
    expect(second.metadata.uid).not.toBe(metadata.uid);
    expect(second.spec.containers[0].resources.limits).toMatchObject({ 'nvidia.com/gpu': '2' });
  });

  test('gets another Pod where its region has another model of GPUs for it now', async () => {
    const config = `
gpuCatalog: [{model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}, {model: t4, name: T4, memoryGb: [16], fullMemoryGb: 16}]
regions:
- name: standard
  prices: {}
  geographies: [{name: here, gpus: {l4: 1, t4: 1}, cpu: 8, memoryGb: 64}]`;
    await using cluster = await ClusterWorld.start({ config });
    const resources = { ...spec.resources, gpuCount: 1 };
    const first = await cluster.running({ resources });
    const { id } = await cluster.running({ resources });
    expect([first.gpuModel, (await cluster.world.service(id)).gpuModel]).toEqual(['l4', 't4']);
    await cluster.world.act(first.id, 'delete');
    await cluster.untilGone(`/api/services/${first.id}`);
    const { metadata } = await cluster.pod(id);
    await cluster.world.act(id, 'resize', { ...resources, cpu: 0.75 });
    expect((await cluster.until(id, 'running')).gpuModel).toBe('l4');
    expect((await cluster.pod(id)).metadata.uid).not.toBe(metadata.uid);
  });

  test('that is resized is at the address that the configuration has now', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running({ httpPort: 80 });
    const { metadata } = await cluster.pod(id);
    await cluster.reopen('containers: {kubernetes: {endpoint: {kind: ingress, domain: apps.example.org}}}');
    await cluster.world.act(id, 'resize', { ...spec.resources, cpu: 0.75 });
    expect((await cluster.until(id, 'running')).endpoint).toBe(`https://${id}.apps.example.org`);
    expect((await cluster.pod(id)).metadata.uid).toBe(metadata.uid);
    expect(await cluster.objects('/apis/networking.k8s.io/v1/ingresses')).toHaveLength(1);
  });

  test('whose container ends while it is resized gets another Pod', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, metadata } = await askedForResize(cluster);
    cluster.node.show(metadata.name, 'exited');
    await cluster.until(id, 'running');
    expect((await cluster.pod(id)).metadata.uid).not.toBe(metadata.uid);
  });

  test('is resized by the next process, where the last one had asked for it', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, metadata } = await askedForResize(cluster);
    await cluster.world.close();
    cluster.node.resizes = 'atOnce';
    cluster.node.resume(metadata.name);
    await cluster.open();
    await cluster.until(id, 'running');
    expect((await cluster.pod(id)).metadata.uid).toBe(metadata.uid);
  });

  test('keeps its volume over stop, start and restart, and one Pod at a time', async () => {
    await using cluster = await ClusterWorld.start();
    const { id, volumeId } = await cluster.running({ volumeGb: 10 });
    const first = await cluster.pod(id);
    expect(first.spec.volumes).toEqual([
      { name: 'workspace', persistentVolumeClaim: { claimName: `fleetkeeper-${volumeId}` } },
    ]);
    await cluster.world.act(id, 'restart');
    await cluster.until(id, 'running');
    const second = await cluster.pod(id);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await cluster.world.act(id, 'stop');
    await cluster.until(id, 'paused');
    expect(await cluster.pods()).toEqual([]);
    expect(await cluster.objects('/api/v1/persistentvolumeclaims')).toHaveLength(1);
    await cluster.world.act(id, 'start');
    await cluster.until(id, 'running');
  });

  test('that is deleted leaves nothing, and those of another account alone', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running({ volumeGb: 10, httpPort: 80 });
    const other = await cluster.running({}, key.bob);
    await cluster.world.act(id, 'delete');
    await cluster.untilGone(`/api/services/${id}`);
    expect((await cluster.pods()).map(({ metadata }) => metadata.name)).toEqual([`fleetkeeper-${other.id}`]);
    expect(await cluster.objects('/api/v1/persistentvolumeclaims')).toEqual([]);
    const spaces = (await cluster.objects('/api/v1/namespaces')).filter(({ metadata }) =>
      metadata.name.startsWith('fleetkeeper-'),
    );
    expect(spaces).toHaveLength(1);
  });

  test('has logs, also after its Pod is gone', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    cluster.node.logs.set(`fleetkeeper-${id}`, 'serving\ncomplaining\n');
    cluster.node.farewell = 'ending\n';
    const logs = async () => (await cluster.world.call('GET', `/api/services/${id}/logs`)).text;
    expect(await logs()).toBe('serving\ncomplaining\n');
    await cluster.world.act(id, 'stop');
    await cluster.until(id, 'paused');
    expect(await logs()).toBe('serving\ncomplaining\nending\n');
  });

  test('runs commands: exit codes, both outputs, their bounds, and an honest answer about what does not end', async () => {
    await using cluster = await ClusterWorld.start();
    const { id } = await cluster.running();
    const exec = (command: string[], more: object = {}) =>
      cluster.world.ok('POST', `/api/services/${id}/exec`, { command, ...more });
    cluster.node.onCommand = () => ({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 });
    expect(await exec(['sh', '-c', 'a & b=ü'])).toEqual({
      exitCode: 7,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
    expect(cluster.node.commands).toEqual([['sh', '-c', 'a & b=ü']]);
    cluster.node.onCommand = () => ({ failure: 'exec: "none": executable file not found in $PATH' });
    expect(await exec(['none'])).toMatchObject({ exitCode: 127, stderr: 'no such command: none\n' });
    cluster.node.onCommand = () => ({ stdout: 'x'.repeat(100_000) });
    const huge = await exec(['yes']);
    expect([huge.stdout.length, huge.truncated, huge.exitCode]).toEqual([65_536, true, 0]);
    cluster.node.onCommand = () => ({ stdout: 'begun\n', endless: true });
    expect(await exec(['sleep', '777'], { timeoutSeconds: 1 })).toEqual({
      exitCode: 124,
      stdout: 'begun\n',
      stderr: "the command did not end within 1 s; it can't be ended from here and may still be running\n",
      truncated: true,
    });
  });
});

describe('an independent volume', () => {
  test('is a claim that grows, and is gone when it is deleted', async () => {
    await using cluster = await ClusterWorld.start();
    const volume = await cluster.world.ok('POST', '/api/volumes', {
      name: 'data',
      region: 'standard',
      sizeGb: 10,
    });
    const status = async () => (await cluster.world.volume(volume.id)).status;
    await expect.poll(status, { timeout: 10_000 }).toBe('ready');
    const { revision } = await cluster.world.volume(volume.id);
    await cluster.world.ok('PATCH', `/api/volumes/${volume.id}`, { revision, sizeGb: 20 });
    await expect.poll(status, { timeout: 10_000 }).toBe('ready');
    const [claim] = await cluster.objects('/api/v1/persistentvolumeclaims');
    expect(claim.spec.resources.requests.storage).toBe('20Gi');
    await cluster.world.ok('DELETE', `/api/volumes/${volume.id}`);
    await cluster.untilGone(`/api/volumes/${volume.id}`);
    expect(await cluster.objects('/api/v1/persistentvolumeclaims')).toEqual([]);
  });
});
