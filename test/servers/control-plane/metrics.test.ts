import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createProcessRegistry } from '../../../src/telemetry/index.ts';
import { startWorld, trainer, type World } from './support.ts';

const prefix = 'fleetkeeper_control_plane_';

/** The samples with this prefix, as `name{labels}` and value; labels in the order of their declaration. */
async function samples(world: World): Promise<Record<string, number>> {
  const { text, status, headers } = await world.admin('GET', '/metrics');
  expect([status, headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/plain; version=0.0.4'),
  ]);
  const lines = text.split('\n').filter((line) => line.startsWith(prefix));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(prefix.length, at), Number(line.slice(at))];
    }),
  );
}

test('requests are counted by method, route and status, and measured', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/volumes', { name: 'v', region: 'standard', sizeGb: 10 });
  await world.ok('GET', `/api/volumes/${id}`);
  await world.ok('GET', `/api/volumes/${id}`);
  await world.call('GET', '/api/volumes/unknown');
  await world.call('GET', '/api/me', undefined, { as: 'nobody' });
  await world.call('GET', '/api/nothing');
  const got = await samples(world);
  expect(got).toMatchObject({
    'http_requests_total{method="POST",route="/api/volumes",status="201"}': 1,
    'http_requests_total{method="GET",route="/api/volumes/:id",status="200"}': 2,
    'http_requests_total{method="GET",route="/api/volumes/:id",status="404"}': 1,
    'http_requests_total{method="GET",route="/api/me",status="401"}': 1,
    'http_requests_total{method="GET",route="none",status="404"}': 1,
    'http_request_duration_seconds_count{method="GET",route="/api/volumes/:id"}': 3,
    http_requests_in_flight: 0,
  });
  expect(got['http_request_duration_seconds_sum{method="GET",route="/api/volumes/:id"}']).toBeGreaterThan(0);
});

test('a request is in flight until it is answered, or its connection ends', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [
    { path: '/me$', fault: 'delay', delayMs: 1_000 },
    { path: '/catalog$', times: 1, fault: 'drop-request' },
  ]);
  const pending = world.call('GET', '/api/me');
  await expect.poll(async () => (await samples(world))['http_requests_in_flight']).toBe(1);
  await expect(world.call('GET', '/api/catalog')).rejects.toThrow('fetch failed');
  await world.clock.advance(1_000);
  await pending;
  await expect.poll(async () => (await samples(world))['http_requests_in_flight']).toBe(0);
  expect(await samples(world)).toMatchObject({
    'http_requests_total{method="GET",route="/api/catalog",status="none"}': 1,
    'http_requests_total{method="GET",route="/api/me",status="200"}': 1,
  });
});

test('services, volumes, accounts and GPUs are shown as they are now', async () => {
  await using world = await startWorld();
  const first = await world.running({ resources: { ...trainer.resources, gpuCount: 3 }, volumeGb: 10 });
  await world.ok('POST', '/api/services', trainer);
  await world.act(first.id, 'stop');
  await world.clock.advance(3_000);
  expect(await samples(world)).toMatchObject({
    'services{state="running"}': 0,
    'services{state="paused"}': 1,
    'services{state="provisioning"}': 1,
    'services{state="error"}': 0,
    'volumes{status="ready"}': 1,
    'volumes{status="expanding"}': 0,
    accounts: 4,
    'gpus{region="standard",geography="europe",model="h100"}': 100_000,
    'gpus_taken{region="standard",geography="europe",model="h100"}': 1,
    'gpus_taken{region="economy",geography="asia",model="l4"}': 0,
  });
  await world.act(first.id, 'delete');
  await world.clock.advance(8_000);
  expect(await samples(world)).toMatchObject({
    'services{state="running"}': 1,
    'services{state="paused"}': 0,
  });
});

test('operations of the runtime are counted when they are over, by kind and outcome', async () => {
  await using world = await startWorld();
  const service = await world.running({ volumeGb: 10 });
  await world.ok('POST', '/api/services', { ...trainer, image: 'registry.invalid/a' });
  await world.clock.advance(8_000);
  await world.act(service.id, 'restart');
  await world.act(service.id, 'stop');
  await world.clock.advance(3_000);
  await world.act(service.id, 'delete');
  await world.clock.advance(3_000);
  expect(await samples(world)).toMatchObject({
    'runtime_operations_total{kind="provision",outcome="succeeded"}': 1,
    'runtime_operations_total{kind="provision",outcome="failed"}': 1,
    'runtime_operations_total{kind="provision",outcome="superseded"}': 1,
    'runtime_operations_total{kind="stop",outcome="succeeded"}': 1,
    'runtime_operations_total{kind="remove",outcome="succeeded"}': 1,
    'runtime_operations_total{kind="volume-provision",outcome="succeeded"}': 1,
  });
});

test('commits are counted and measured; reads make none', async () => {
  await using world = await startWorld();
  const before = (await samples(world))['commit_duration_seconds_count'] ?? 0;
  await world.ok('GET', '/api/account');
  expect((await samples(world))['commit_duration_seconds_count']).toBe(before);
  await world.ok('POST', '/api/services', trainer);
  expect((await samples(world))['commit_duration_seconds_count']).toBe(before + 1);
});

test('no series names an account, an object or an address', async () => {
  await using world = await startWorld();
  const service = await world.running({ name: 'canary-name' });
  await world.call('GET', `/api/canary-path-${service.id}`);
  const { text } = await world.admin('GET', '/metrics');
  expect(text).not.toMatch(new RegExp(`canary|alice|${service.id}`));
  expect(Object.keys(await samples(world)).length).toBeGreaterThan(30);
});

test('all of them are documented, and nothing else', async () => {
  await using world = await startWorld();
  const { text } = await world.admin('GET', '/metrics');
  const document = readFileSync(path.join(import.meta.dirname, '../../../docs/reference/metrics.md'), 'utf8');
  const declared = text.matchAll(/^# TYPE (?<name>\S+) (?<type>\w+)$/gm);
  const documented = document.matchAll(/^\| `(?<name>fleetkeeper_control_plane_\w+)` \| (?<type>\w+) /gm);
  const named = (matches: Iterable<RegExpExecArray>) =>
    new Map([...matches].map(([, name, type]) => [name, type]));
  expect(named(documented)).toEqual(named(declared));
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

test.runIf(promtool)('promtool has nothing to say against them', async () => {
  await using world = await startWorld({ metrics: createProcessRegistry() });
  await world.running({ volumeGb: 10 });
  const { text } = await world.admin('GET', '/metrics');
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  expect([stdout, stderr, status]).toEqual(['', '', 0]);
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  const ours = [...text.matchAll(/^# TYPE (?<name>fleetkeeper_\w+) /gm)].map((match) => match[1] ?? '');
  expect(ours.length).toBeGreaterThanOrEqual(10);
  for (const name of ours) expect(name).toMatch(/^fleetkeeper_control_plane_/);
});
