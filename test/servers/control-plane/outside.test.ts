import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/random.ts';
import { outputRetentionMs } from '../../../src/control-plane/domain/config.ts';
import { defaultConfig } from '../../../src/control-plane/config/config-file.ts';
import { createListener, defaultHttpLimits, type App } from '../../../src/control-plane/http/http.ts';
import { Idempotency } from '../../../src/control-plane/http/idempotency.ts';
import type { AccountRecord } from '../../../src/control-plane/store/records.ts';
import { outsideMutator } from '../../../src/control-plane/http/routes/mutation.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { ManualClock } from '../../support/manual-clock.ts';

let app: App;
let store: Store;
let clock: ManualClock;
const failures: unknown[] = [];
let runs: { succeed: (json: string) => void; fail: (error: Error) => void }[] = [];

/** One route, whose work ends when the test says so. */
beforeEach(() => {
  runs = [];
  failures.length = 0;
  store = new Store(':memory:');
  clock = new ManualClock();
  const idempotency = new Idempotency(store, clock, systemRandom, () => defaultConfig.quota);
  const mutate = outsideMutator(store, idempotency, (error) => failures.push(error));
  ({ app } = createListener(pino({ level: 'silent' }), new ManualClock(), defaultHttpLimits));
  app.decorateRequest('account', null);
  app.addHook('onRequest', async (request) => {
    request.account = { id: 'a' } as AccountRecord;
  });
  app.post('/run', (request, reply) =>
    mutate(
      request,
      reply,
      outputRetentionMs,
      () => () => new Promise((succeed, fail) => void runs.push({ succeed, fail })),
    ),
  );
});

afterEach(async () => {
  await app.close();
  store.close();
});

async function post(): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: '/run', headers: { 'idempotency-key': 'k' } });
  return `${answer.statusCode} ${answer.json<{ error?: { code: string } }>().error?.code ?? answer.body}`;
}

test('while a command is under way its key does not run it again, and afterwards gives its result', async () => {
  const first = post();
  await expect.poll(() => runs.length).toBe(1);
  expect(await post()).toBe('409 outcome_unknown');
  runs[0]?.succeed('{"exitCode":3}');
  expect(await first).toBe('200 {"exitCode":3}');
  expect(await post()).toBe('200 {"exitCode":3}');
  expect(runs).toHaveLength(1);
});

test('a command whose outcome was lost is not run again, and is not said to have had no effect', async () => {
  const first = post();
  await expect.poll(() => runs.length).toBe(1);
  runs[0]?.fail(new Error('the connection to the engine was lost'));
  expect(await first).toBe('409 outcome_unknown');
  expect(await post()).toBe('409 outcome_unknown');
  expect(runs).toHaveLength(1);
  expect(failures).toHaveLength(1);
});

test('what a command answered is nowhere on the disk, and is forgotten after an hour; it is still not run again', async () => {
  const first = post();
  await expect.poll(() => runs.length).toBe(1);
  runs[0]?.succeed('{"stdout":"a secret of the container"}');
  await first;
  const [row] = store.database.all('SELECT body FROM answers');
  expect(row?.['body']).not.toContain('secret');
  await clock.advance(60 * 60 * 1000 - 1);
  expect(await post()).toContain('a secret of the container');
  await clock.advance(1);
  expect(await post()).toBe('409 outcome_unknown');
  expect(runs).toHaveLength(1);
});
