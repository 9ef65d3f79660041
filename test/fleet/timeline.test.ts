import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  testInFolder,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const file = path.join(folder, 'timeline.jsonl');
  const lines = (): Json[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .trimEnd()
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : [];
  return { plane, fleet, folder, file, lines };
}

test('a timeline shows what a service was sent, what it waited for, and for how long, and no value', async () => {
  const { plane, fleet, file, lines } = await world();
  const env = [{ name: 'TOKEN', value: 'canary-1' }];
  await fleet.write('fleet.yaml', [...account(plane.url), service('web', { env })]);
  const manager = fleet.run('--timeline', file);
  await fleet.untilReady(1);
  await manager.kill('SIGTERM');
  const of = lines().filter(({ object }) => object.endsWith('/web'));
  const created = of.find(({ action }) => action === 'create-service');
  expect(created).toMatchObject({
    attempt: 1,
    outcome: 'applied',
    intent: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const [began, ended] = of;
  expect(began).toMatchObject({ waitReason: expect.any(String), durationMs: expect.any(Number) });
  const passedMs = Date.parse(ended.at) - Date.parse(began.at);
  expect(Math.abs(ended.waitedMs - passedMs)).toBeLessThanOrEqual(5);
  expect(readFileSync(file, 'utf8')).not.toMatch(/canary|apiKey|message/);
  const known = new Set([
    'at',
    'object',
    'intent',
    'attempt',
    'action',
    'outcome',
    'waitReason',
    'waitedMs',
    'durationMs',
  ]);
  expect(lines().flatMap((line) => Object.keys(line).filter((field) => !known.has(field)))).toEqual([]);
});

test('a timeline that can not be written stops nothing, and is counted', async () => {
  const { plane, fleet, folder, lines } = await world();
  const gone = path.join(folder, 'lines');
  const file = path.join(gone, 'timeline.jsonl');
  await fleet.write('fleet.yaml', [...account(plane.url)]);
  mkdirSync(gone);
  const manager = fleet.run('--timeline', file, '--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  rmSync(gone, { recursive: true });
  await fleet.write('web.yaml', [service('web')]);
  await fleet.untilReady(1);
  await eventually('the lost lines', async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return /fleetkeeper_timeline_lines_total\{outcome="failed"\} [1-9]/.test(text);
  });
  await manager.kill('SIGTERM');
  expect([lines(), existsSync(gone)]).toEqual([[], false]);
});

testInFolder('a timeline that would be read as a document of the folder is refused', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url)]);
  const { folder: source } = folderOf(fleet);
  const { code, stderr } = await fleetkeeper([
    'run',
    ...fleet.flags,
    '--timeline',
    path.join(source, 'lines.json'),
  ]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('would be read as a document')]);
});
