/** Why a request is sent, as an intent keeps it: bounded, and read again from whatever is stored. */
import { expect, test } from 'vitest';
import { boundedWhy, readWhy, type Why } from '../../../src/state/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { Sqlite } from '../../../src/base/index.ts';
import { intentOf } from '../read-api/support.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { newRecord, readJournal } from '../../../src/state/index.ts';
import { bookkeepingOf, readBookkeeping } from '../../../src/state/bookkeeping.ts';
import { digestKey } from '../../../src/base/index.ts';
import { open } from './support.ts';

const key: ObjectKey = 'ContainerService/default/web';
const why: Why = {
  reason: 'SpecChanged',
  fields: ['image', 'env.LEVEL'],
  askedBy: { by: 'Rollout', name: 'llm', revision: 3 },
  planFile: 'sha256:0',
};

test('of many fields, five are kept and the others counted, and no text is longer than 120 characters', () => {
  const fields = Array.from({ length: 40 }, (_, index) => `env.${'N'.repeat(300)}${index}`);
  const bounded = boundedWhy({
    reason: 'SpecChanged',
    fields,
    askedBy: { by: 'RestartToken', name: 'x'.repeat(5000), detail: 'y'.repeat(5000) },
  });
  expect([bounded.fields?.length, bounded.moreFields]).toEqual([5, 35]);
  expect(JSON.stringify(bounded).length).toBeLessThan(1200);
  expect(bounded.askedBy.name).toHaveLength(120);
});

test('is in the state file, and an intent without it is read as before', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(key, { why }), newRecord(key, 'uid'));
    await state.store.saveIntent(intentOf(key, { idempotencyKey: 'older' }), newRecord(key, 'uid'));
  }
  expect(readJournal(file, key).map((intent) => intent.why)).toEqual([undefined, why]);
  using state = open(file);
  expect(state.store.lastIntent(key)?.idempotencyKey).toBe('older');
});

test('a state file of the version before is migrated, with its intents', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(key, { why }), newRecord(key, 'uid'));
  }
  const older = new Sqlite(file);
  older.run('ALTER TABLE intents DROP COLUMN why');
  older.run('PRAGMA user_version = 8');
  older.close();
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(key, { idempotencyKey: 'newer', why }), newRecord(key, 'uid'));
  }
  expect(readJournal(file, key).map((intent) => intent.why)).toEqual([why, undefined]);
});

test('is in the signed bookkeeping of a cluster', () => {
  const signer = digestKey(Buffer.alloc(32, 1));
  const kept = { record: newRecord(key, 'uid'), identity: undefined, revisions: [], sequence: 1 };
  const bookkeeping = bookkeepingOf({ ...kept, intent: intentOf(key, { why }) }, signer);
  const stored: unknown = JSON.parse(JSON.stringify({ bookkeeping }));
  expect(readBookkeeping(key, 'uid', stored, signer).intent?.why).toEqual(why);
});

test.each([
  ['nothing', undefined],
  ['a text', 'SpecChanged'],
  ['a list', []],
  ['one without an asker', { reason: 'Drift' }],
  ['an asker of a later version', { reason: 'Drift', askedBy: { by: 'Oracle' } }],
  ['a reason that is no text', { reason: 7, askedBy: { by: 'Drift' } }],
])('%s is read as none', (_, stored) => {
  expect(readWhy(stored)).toBeUndefined();
});

test('fields of a wrong type are left out', () => {
  const stored = {
    reason: 'Drift',
    fields: ['image', 7],
    moreFields: -1,
    askedBy: { by: 'Drift', name: {}, revision: 'r' },
  };
  expect(readWhy(stored)).toEqual({ reason: 'Drift', fields: ['image'], askedBy: { by: 'Drift' } });
});
