import pino from 'pino';
import { expect, test } from 'vitest';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { startWorld, type World } from './support.ts';

const value = 'canary-value-5b1c';
const username = 'canary-user-77d0';
const password = 'canary-password-1e9a';
const spec = { repository: 'ghcr.io/acme/trainer', username, password };

/** Every route, those that take secrets also with bodies that are refused; each mutation is replayed. */
async function everyRoute(world: World): Promise<void> {
  const twice = async (method: string, path: string, body?: unknown) => {
    const idempotencyKey = `${method} ${path} ${world.answers.length}`.replaceAll(' ', '-');
    await world.call(method, path, body, { idempotencyKey });
    return (await world.call(method, path, body, { idempotencyKey })).body;
  };
  const { id: registryId } = await twice('POST', '/api/registries', spec);
  await twice('POST', '/api/registries', { ...spec, extra: password });
  await twice('POST', '/api/registries', {
    ...spec,
    repository: `https://${username}:${password}@ghcr.io/a`,
  });
  await twice('POST', '/api/registries', `{"password": "${password}"`);
  await twice('PUT', `/api/registries/${registryId}`, { revision: 1, spec });
  await twice('PUT', `/api/registries/${registryId}`, { revision: 1, spec });
  await twice('PUT', `/api/registries/${registryId}`, {
    revision: 2,
    spec: { ...spec, username: [username] },
  });
  const { id, volumeId } = await world.running({ environment: { TOKEN: value }, volumeGb: 10 });
  const service = `/api/services/${id}`;
  await twice('PATCH', service, { revision: 2, patch: { environment: { TOKEN: `${value}-2` } } });
  await twice('PATCH', service, { revision: 'x', patch: { environment: { TOKEN: [value] } } });
  await world.clock.advance(8_000);
  await twice('POST', `${service}/exec`, { command: ['echo', value, password] });
  await twice('POST', `${service}/browser-session`);
  await twice('POST', `${service}/activity`, { id, name: 'task' });
  await twice('PATCH', `${service}/sleep`, { sleepAfterMinutes: 5 });
  await twice('POST', `${service}/actions`, { action: 'restart' });
  const { id: templateId } = await twice('POST', '/api/templates', { name: 't', image: 'i' });
  const required = { name: 't', image: 'i', requiredEnvironment: [`TOKEN=${value}`] };
  await twice('PUT', `/api/templates/${templateId}`, { revision: 1, spec: required });
  await twice('DELETE', `/api/templates/${templateId}`, { revision: 1 });
  for (const part of ['', '/events', '/metrics?minutes=15', '/logs', '/activity']) {
    await world.call('GET', service + part);
  }
  for (const part of [
    'catalog',
    'me',
    'account',
    'registries',
    'templates',
    'volumes',
    `volumes/${volumeId}`,
  ]) {
    await world.ok('GET', `/api/${part}`);
  }
  await twice('DELETE', `/api/registries/${registryId}`, { revision: 2 });
  await twice('POST', `${service}/actions`, { action: 'delete' });
  await world.admin('GET', '/requests');
}

test('environment values and registry secrets never leave: not in answers, replays, logs or the journal', async () => {
  const log: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) });
  await using world = await startWorld({ logger, config: { ...defaultConfig, browserEnabled: true } });
  await everyRoute(world);
  expect(world.answers.length).toBeGreaterThan(45);
  // What could give them away was really done.
  expect(world.answers.join('\n')).toMatch(/was not run[^]*\/s\//);
  expect(log.length).toBeGreaterThan(30);
  for (const secret of [value, username, password]) {
    expect([...world.answers, ...log].filter((text) => text.includes(secret))).toEqual([]);
  }
});
