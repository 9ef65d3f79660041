import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ControlApi, Outcome } from '../../../src/api/index.ts';
import { clientOf, errorForm, reply, serve, type Answer } from './support.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const idempotencyKey = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

async function ask<Value>(answer: Answer, call: (api: ControlApi) => Promise<Outcome<Value>>) {
  await using server = await serve(answer);
  await using client = clientOf(server.url);
  const outcome = await call(client.api);
  return { outcome, request: server.only };
}

const exec = (api: ControlApi) => api.exec(id, { command: ['ls'] }, idempotencyKey);

describe('what is asked of a container', () => {
  // COVERAGE 15
  test('logs are text, whatever is in it', async () => {
    const { outcome, request } = await ask(reply(200, '{"not": "read as JSON'), (api) => api.logs(id));
    expect(outcome).toEqual({ kind: 'applied', status: 200, value: '{"not": "read as JSON' });
    expect(request).toMatchObject({
      path: `/api/services/${id}/logs`,
      headers: { accept: 'text/plain, */*' },
    });
  });

  test('logs that are refused say why', async () => {
    const { outcome } = await ask(reply(404, errorForm('not_found')), (api) => api.logs(id));
    expect(outcome).toMatchObject({ kind: 'refused', status: 404, code: 'not_found' });
  });

  test('events come without their wrapping, with fields that are not documented', async () => {
    const event = { message: 'running', created_at: 1, severity: 'low' };
    const { outcome } = await ask(reply(200, { events: [event] }), (api) => api.events(id));
    expect(outcome).toMatchObject({ kind: 'applied', value: [event] });
  });

  // COVERAGE 14, 117
  test('metrics are asked for by window, and may be anything that is JSON', async () => {
    const { outcome, request } = await ask(reply(200, [1, null]), (api) => api.metrics(id, '360'));
    expect(outcome).toMatchObject({ kind: 'applied', value: [1, null] });
    expect(request.path).toBe(`/api/services/${id}/metrics?minutes=360`);
    const page = await ask(reply(200, '<html>'), (api) => api.metrics(id, '15'));
    expect(page.outcome.kind).toBe('unknown');
  });

  // COVERAGE 16, 99
  test('a command carries the idempotency key of its intent', async () => {
    const { outcome, request } = await ask(reply(200, { exitCode: 0 }), exec);
    expect(outcome).toMatchObject({ kind: 'applied', value: { exitCode: 0 } });
    expect(request).toMatchObject({ method: 'POST', headers: { 'idempotency-key': idempotencyKey } });
  });

  test('the answer to a command may take as long as the command', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<() => void>();
    await using server = await serve((response) => resolve(() => response.end('{"exitCode": 0}')));
    await using client = clientOf(server.url);
    const outcome = exec(client.api);
    const end = await arrived;
    await client.clock.advance(60_000);
    end();
    expect(await outcome).toMatchObject({ kind: 'applied', value: { exitCode: 0 } });
  });

  test('a command whose answer is lost may have run', async () => {
    const { outcome } = await ask((response) => response.destroy(), exec);
    expect(outcome.kind).toBe('unknown');
  });

  // COVERAGE 19
  test('the address of a browser session is wrapped, so that nothing prints it', async () => {
    const url = 'https://private.example/session';
    const { outcome } = await ask(reply(200, { url }), (api) => api.openBrowserSession(id, idempotencyKey));
    expect(outcome.kind === 'applied' && outcome.value.reveal()).toBe(url);
    expect(inspect(outcome, { depth: null }) + JSON.stringify(outcome)).not.toContain('private.example');
  });
});
