import { copyFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { Sqlite } from '../../../src/base/sqlite.ts';
import { migrations } from '../../../src/control-plane/store/store.ts';
import { settle } from '../../support/manual-clock.ts';
import { ManualEventLoop } from '../../support/manual-event-loop.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { startWorld, trainer, type Answer, type Json, type World } from './support.ts';

const spoiler = { ...trainer, name: 'spoils the commit' };

/** A database in which a commit fails that holds the `spoiler`. */
function spoilable(): string {
  const file = temporaryFile('a.db');
  const database = new Sqlite(file);
  database.migrate(migrations);
  database.transaction(() => {
    database.run('CREATE TABLE parents (id TEXT PRIMARY KEY)');
    database.run('CREATE TABLE orphans (parent TEXT REFERENCES parents DEFERRABLE INITIALLY DEFERRED)');
    database.run(`CREATE TRIGGER spoil AFTER INSERT ON services
      WHEN json_extract(NEW.document, '$.name') = '${spoiler.name}' BEGIN INSERT INTO orphans VALUES ('nobody'); END`);
  });
  database.close();
  return file;
}

/** What a kill -9 at this moment would leave behind. */
function crashImage(file: string): string {
  const image = temporaryFile('image.db');
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, image + suffix);
  return image;
}

/** A world whose turns end when told to, with requests under way in the present one. */
class Held {
  readonly #world: World;
  readonly #loop: ManualEventLoop;
  readonly answered: string[] = [];

  constructor(world: World, loop: ManualEventLoop) {
    this.#world = world;
    this.#loop = loop;
  }

  /** Sends a request, and comes back when the server is at its turn's end. */
  async send(name: string, ...request: Parameters<World['call']>): Promise<{ answer: Promise<Answer> }> {
    const before = await this.#arrived();
    const answer = this.#world.call(...request).finally(() => this.answered.push(name));
    await vi.waitUntil(async () => (await this.#arrived()) > before, { timeout: 60_000 });
    await settle();
    return { answer };
  }

  turn(): void {
    this.#loop.turn();
  }

  /** How many requests have been received to the end. */
  async #arrived(): Promise<number> {
    const journal: Json[] = (await this.#world.admin('GET', '/requests')).body.requests;
    return journal.filter(({ method, bodyDigest }) => method === 'GET' || bodyDigest !== null).length;
  }
}

async function held(file: string) {
  const loop = new ManualEventLoop();
  const world = await startWorld({ database: file, eventLoop: loop });
  return { world, held: new Held(world, loop) };
}

const codeOf = ({ status, body }: Answer): string => `${status} ${body?.error?.code ?? ''}`.trim();

test('a create is answered when a kill -9 can not take it back any more, and not before', async () => {
  const file = spoilable();
  const { world, held: turn } = await held(file);
  await using _ = world;
  const { answer } = await turn.send('create', 'POST', '/api/services', trainer);
  const early = crashImage(file);
  expect(turn.answered).toEqual([]);
  turn.turn();
  const { id } = (await answer).body;
  await using killedBefore = await startWorld({ database: early });
  await using killedAfter = await startWorld({ database: crashImage(file) });
  expect(await killedBefore.refusal('GET', `/api/services/${id}`)).toBe('404 not_found');
  expect(await killedAfter.service(id)).toMatchObject({ id });
});

test('requests of one turn are answered together, and a read among them sees what they did', async () => {
  const { world, held: turn } = await held(':memory:');
  await using _ = world;
  const first = await turn.send('first', 'POST', '/api/services', trainer);
  const read = await turn.send('read', 'GET', '/api/account');
  const second = await turn.send('second', 'POST', '/api/volumes', {
    name: 'v',
    region: 'standard',
    sizeGb: 10,
  });
  const refused = await turn.send('refused', 'POST', '/api/volumes', {
    name: 'v',
    region: 'mars',
    sizeGb: 10,
  });
  expect(turn.answered).toEqual([]);
  turn.turn();
  const { services, volumes } = (await read.answer).body;
  expect(services.map(({ id }: Json) => id)).toEqual([(await first.answer).body.id]);
  expect(volumes.map(({ id }: Json) => id)).toEqual([(await second.answer).body.id]);
  expect(codeOf(await refused.answer)).toBe('400 unknown_region');
});

test('a second delivery in the same turn gets the answer to the first', async () => {
  const { world, held: turn } = await held(':memory:');
  await using _ = world;
  const first = await turn.send('first', 'POST', '/api/services', trainer, { idempotencyKey: 'same' });
  const second = await turn.send('second', 'POST', '/api/services', trainer, { idempotencyKey: 'same' });
  turn.turn();
  expect((await second.answer).text).toBe((await first.answer).text);
  expect((await second.answer).headers.get('idempotency-replayed')).toBe('true');
});

test('a commit that fails has no effect: all of its turn is answered 503, and reads show what was before', async () => {
  const file = spoilable();
  const { world, held: turn } = await held(file);
  await using _ = world;
  const kept = await turn.send('kept', 'POST', '/api/services', trainer, { idempotencyKey: 'kept' });
  turn.turn();
  const { id } = (await kept.answer).body;
  const path = `/api/services/${id}`;
  const lost = [
    await turn.send('create', 'POST', '/api/services', trainer, { idempotencyKey: 'lost' }),
    await turn.send('delete', 'POST', `${path}/actions`, { action: 'delete' }),
    // Refused, because it is being deleted; which will turn out to be wrong.
    await turn.send('refused', 'PATCH', `${path}/sleep`, { sleepAfterMinutes: 5 }),
    await turn.send('spoiler', 'POST', '/api/services', spoiler),
  ];
  const read = await turn.send('read', 'GET', '/api/account');
  turn.turn();
  for (const { answer } of lost) expect(codeOf(await answer)).toBe('503 unavailable');
  const { services } = (await read.answer).body;
  expect(services).toMatchObject([{ id, state: 'provisioning', revision: 1 }]);
  await using killed = await startWorld({ database: crashImage(file), clock: world.clock });
  expect((await killed.ok('GET', '/api/account')).services).toEqual(services);

  const again = await turn.send('again', 'POST', '/api/services', trainer, { idempotencyKey: 'lost' });
  turn.turn();
  expect((await again.answer).status).toBe(201);
  expect((await again.answer).headers.get('idempotency-replayed')).toBeNull();
});

test('what a lost group announced is not begun: its service never runs, and the others do', async () => {
  const { world, held: turn } = await held(spoilable());
  await using _ = world;
  const kept = await turn.send('kept', 'POST', '/api/services', trainer);
  turn.turn();
  await kept.answer;
  const lost = await turn.send('spoiler', 'POST', '/api/services', spoiler);
  turn.turn();
  expect((await lost.answer).status).toBe(503);
  await world.clock.advance(60_000);
  const { services } = await world.ok('GET', '/api/account');
  expect(services.map(({ name, state }: Json) => `${name} ${state}`)).toEqual(['trainer running']);
});

test('the platform works on while requests wait: its step ends their turn', async () => {
  const { world, held: turn } = await held(':memory:');
  await using _ = world;
  const first = await turn.send('first', 'POST', '/api/services', trainer);
  turn.turn();
  await first.answer;
  await world.clock.advance(7_999);
  const second = await turn.send('second', 'POST', '/api/services', trainer);
  await world.clock.advance(1);
  expect((await second.answer).status).toBe(201);
  const { services } = await world.ok('GET', '/api/account');
  expect(services.map(({ state }: Json) => state)).toEqual(['running', 'provisioning']);
});
