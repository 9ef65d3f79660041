import { copyFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sqlite } from '../../../src/base/sqlite.ts';
import type { VolumeRecord } from '../../../src/control-plane/store/records.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { UnitOfWork } from '../../../src/base/unit-of-work.ts';
import { settle } from '../../support/manual-clock.ts';
import { ManualEventLoop } from '../../support/manual-event-loop.ts';
import { temporaryFile } from '../../support/temporary.ts';

/** Volumes by their id, as far as these tests care: their names. */
type State = Readonly<Record<string, string>>;

interface Change {
  readonly id: string;
  /** Undefined: it goes. */
  readonly name: string | undefined;
}

/**
 * How work ends: it is accepted; it is refused; SQLite rolls back the whole transaction, as on a full disk; or it
 * leaves behind what lets the commit fail.
 */
type End = 'accepted' | 'refused' | 'rolled back' | 'spoils the commit';

type Step =
  | { readonly kind: 'join' | 'run'; readonly changes: readonly Change[]; readonly end: End }
  | { readonly kind: 'turn' }
  | { readonly kind: 'read' };

const change = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  name: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined }),
});
const ends = fc.constantFrom<End[]>(
  'accepted',
  'accepted',
  'accepted',
  'refused',
  'rolled back',
  'spoils the commit',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: workOf('join') },
  { weight: 1, arbitrary: workOf('run') },
  { weight: 2, arbitrary: fc.constant({ kind: 'turn' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'read' as const }) },
);

function workOf(kind: 'join' | 'run'): fc.Arbitrary<Step> {
  return fc.record({ kind: fc.constant(kind), changes: fc.array(change, { maxLength: 4 }), end: ends });
}

function volume(id: string, name: string): VolumeRecord {
  return { id, accountId: 'account', name } as VolumeRecord;
}

/** The store, and beside it what should be: what is durable, and what the open group adds to it. */
class Twin {
  readonly loop = new ManualEventLoop();
  readonly store: Store;
  durable: State = {};
  current: State = {};
  isOpen = false;
  isSpoilt = false;
  /** What members were told, and what they should have been told, in the order of their joining. */
  readonly reported: (string | undefined)[] = [];
  readonly due: (string | undefined)[] = [];
  /** What reads saw, and what was durable at that moment. */
  readonly seen: object[] = [];
  readonly toBeSeen: object[] = [];
  #waiting: { member: number; answer: string }[] = [];
  readonly announced: number[] = [];
  announcements: number[] = [];
  #unannounced: number[] = [];

  constructor(file: string) {
    this.store = new Store(file, this.loop);
    this.store.database.transaction(() => {
      this.store.database.run('CREATE TABLE parents (id TEXT PRIMARY KEY)');
      this.store.database.run(
        'CREATE TABLE orphans (parent TEXT REFERENCES parents DEFERRABLE INITIALLY DEFERRED)',
      );
      this.store.database.run(`INSERT INTO parents VALUES ('taken')`);
    });
  }

  take(next: Step): void {
    if (next.kind === 'turn') {
      this.loop.turn();
      this.#end();
    } else if (next.kind === 'read') {
      this.store.unit.whenDurable(() => {
        this.seen.push({ whileOpen: this.isOpen, state: this.memory() });
        this.toBeSeen.push({ whileOpen: false, state: this.durable });
      });
    } else {
      this.#work(next.kind, next.changes, next.end);
    }
  }

  memory(): State {
    return Object.fromEntries(Array.from(this.store.volumes.of('account'), ({ id, name }) => [id, name]));
  }

  database(): State {
    return volumesIn(this.store.database);
  }

  #work(kind: 'join' | 'run', changes: readonly Change[], end: End): void {
    const member = this.reported.push(undefined) - 1;
    this.due.push(undefined);
    const perform = () => {
      for (const { id, name } of changes) this.#change(id, name);
      this.store.unit.afterCommit(() => this.announced.push(member));
      return this.#finish(end, member);
    };
    if (kind === 'run') {
      this.#end();
      this.reported[member] = outcomeOf(() => this.store.unit.run(perform));
    } else {
      void this.store.unit.join(perform).then(
        (answer) => (this.reported[member] = answer),
        (error: unknown) => (this.reported[member] = (error as Error).message),
      );
    }
    this.isOpen = true;
    this.#expectOf(member, changes, end);
    if (kind === 'run') this.#end();
  }

  #change(id: string, name: string | undefined): void {
    const present = this.store.volumes.get(id);
    if (name !== undefined) this.store.volumes.put(volume(id, name));
    else if (present) this.store.volumes.remove(present);
  }

  #finish(end: End, member: number): string {
    const { database } = this.store;
    if (end === 'refused') throw new Error(`refusal of ${member}`);
    if (end === 'rolled back') database.run(`INSERT OR ROLLBACK INTO parents VALUES ('taken')`);
    if (end === 'spoils the commit') database.run(`INSERT INTO orphans VALUES ('nobody')`);
    return `answer to ${member}`;
  }

  /** What should come of it, told without any transaction. */
  #expectOf(member: number, changes: readonly Change[], end: End): void {
    const isAccepted = end === 'accepted' || end === 'spoils the commit';
    this.#waiting.push({ member, answer: `${isAccepted ? 'answer to' : 'refusal of'} ${member}` });
    if (isAccepted) {
      this.current = applied(this.current, changes);
      this.#unannounced.push(member);
    }
    if (end === 'spoils the commit') this.isSpoilt = true;
    if (end === 'rolled back') this.#end('UNIQUE constraint failed: parents.id');
  }

  #end(failure = this.isSpoilt ? 'FOREIGN KEY constraint failed' : undefined): void {
    if (failure === undefined) {
      this.durable = this.current;
      this.announcements.push(...this.#unannounced);
    }
    for (const { member, answer } of this.#waiting) this.due[member] = failure ?? answer;
    this.current = this.durable;
    this.isOpen = false;
    this.isSpoilt = false;
    this.#waiting = [];
    this.#unannounced = [];
  }
}

function applied(state: State, changes: readonly Change[]): State {
  const next = { ...state };
  for (const { id, name } of changes) {
    if (name === undefined) delete next[id];
    else next[id] = name;
  }
  return next;
}

function volumesIn(database: Sqlite): State {
  const rows = database.all('SELECT document FROM volumes');
  const records = rows.map((row) => JSON.parse(String(row['document'])) as VolumeRecord);
  return Object.fromEntries(records.map(({ id, name }) => [id, name]));
}

function outcomeOf(work: () => string): string {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
}

describe('whatever members do, and however commits end,', () => {
  test('memory is as the database, and only what is durable is told', async () => {
    const law = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const twin = new Twin(':memory:');
      for (const next of steps) {
        twin.take(next);
        await settle();
        expect(twin.memory()).toEqual(twin.current);
        expect(twin.database()).toEqual(twin.current);
        expect(twin.reported).toEqual(twin.due);
        expect(twin.announced).toEqual(twin.announcements);
        expect(twin.seen).toEqual(twin.toBeSeen);
      }
      twin.store.close();
    });
    await fc.assert(law, { numRuns: 150 });
  });

  test('what a kill -9 leaves is what was told', async () => {
    const law = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const file = temporaryFile('a.db');
      const twin = new Twin(file);
      for (const next of steps) twin.take(next);
      await settle();
      const image = temporaryFile('image.db');
      for (const suffix of ['', '-wal']) copyFileSync(file + suffix, image + suffix);
      const after = new Sqlite(image);
      expect(volumesIn(after)).toEqual(twin.durable);
      after.close();
      twin.store.close();
    });
    await fc.assert(law, { numRuns: 25 });
  });
});

describe('a group', () => {
  test('is committed when it is full, without waiting for its turn to end', async () => {
    const twin = new Twin(':memory:');
    const members = Array.from({ length: 1000 }, (_, n) => twin.store.unit.join(() => n));
    expect(await Promise.all(members)).toHaveLength(1000);
  });

  test('is followed by the next one, whose turn is its own', async () => {
    const { loop, store } = new Twin(':memory:');
    const first = store.unit.join(() => 1);
    store.unit.run(() => 2);
    expect(await first).toBe(1);
    const second = store.unit.join(() => 3);
    let isReported = false;
    void second.then(() => (isReported = true));
    await settle();
    expect(isReported).toBe(false);
    loop.turn();
    expect(await second).toBe(3);
  });
});

test('when the disk does not confirm a commit, the process ends, and nobody is told anything', async () => {
  const database = new Sqlite(':memory:');
  const unconfirmed = Object.assign(new Error('disk I/O error'), { errcode: 1034 });
  database.commit = () => {
    database.rollback();
    throw unconfirmed;
  };
  const loop = new ManualEventLoop();
  const unit = new UnitOfWork(database, loop);
  let isReported = false;
  const tell = () => (isReported = true);
  void unit.join(() => 1).then(tell, tell);
  loop.turn();
  await settle();
  expect(loop.crashes).toEqual([unconfirmed]);
  expect(isReported).toBe(false);
});

test('what was announced and can not be begun ends the process: its record says that it was', async () => {
  const { loop, store } = new Twin(':memory:');
  const defect = new Error('the runtime is broken');
  const joined = store.unit.join(() => {
    store.unit.afterCommit(() => {
      throw defect;
    });
  });
  loop.turn();
  await joined;
  expect(loop.crashes).toEqual([defect]);
});
