/** EI3: an account that is read beside what was read before is the one that is read as a whole, whatever its text is. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../../src/base/index.ts';
import { readAnswer } from '../../../src/api/answer.ts';
import { QuietReads } from '../../../src/api/quiet-reads.ts';
import * as readers from '../../../src/api/readers.ts';
import { membersOf } from '../../../src/api/top-level.ts';
import type { HttpReply } from '../../../src/api/transport.ts';

const apiKey = 'key-of-sixteen-letters';

/** In `latin1`, some texts are no UTF-8. */
function replyOf(body: string, encoding: 'utf8' | 'latin1' = 'utf8'): HttpReply {
  return { kind: 'reply', status: 200, retryAfter: undefined, body: Buffer.from(body, encoding) };
}

function listener() {
  const heard: unknown[] = [];
  return {
    heard,
    notes: {
      note: (...reported: readonly unknown[]) => void heard.push(reported),
      spelled: (...reported: readonly unknown[]) => void heard.push(reported),
    },
  };
}

/** What one that knows nothing makes of it, and what is told of it meanwhile. */
function asAWhole(reply: HttpReply, key: Sensitive<string>) {
  const { heard, notes } = listener();
  return { outcome: readAnswer(reply, { answer: readers.account }, key, 0, notes), heard };
}

function quietly(reads: QuietReads, reply: HttpReply, key: Sensitive<string>) {
  const { heard, notes } = listener();
  return { outcome: reads.read(reply, key, 0, notes), heard };
}

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const text = fc.constantFrom('web', 'a "quoted" name', '\\', '[', '}{', 'ü\u2028', apiKey, '');

const service = fc.record(
  {
    id: fc.oneof(
      { weight: 12, arbitrary: fc.integer({ min: 1, max: 6 }).map(id) },
      { weight: 1, arbitrary: fc.constantFrom(id(10).replace('0000', 'ABCD'), 'none', 7) },
    ),
    name: text,
    state: fc.constantFrom('running', 'paused', 3),
    revision: fc.constantFrom(1, 2, '3', -1),
    environmentNames: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ['id'] },
);

const anAccount = fc.record(
  {
    balanceMicros: fc.constantFrom(1, 2, -3, 'many', null),
    currency: fc.constantFrom('USD', 'EUR', 7),
    services: fc.oneof(
      { weight: 9, arbitrary: fc.array(service, { maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom(null, {}, 'none') },
    ),
    volumes: fc.oneof(
      { weight: 9, arbitrary: fc.array(service, { maxLength: 2 }) },
      { weight: 1, arbitrary: fc.constantFrom(null, 3) },
    ),
    ledger: fc.constantFrom([], [{ amountMicros: 1 }], 'none'),
    next: fc.constantFrom(null, 'page-2'),
    error: fc.constantFrom(null, {}, 'broken'),
    account: fc.constantFrom(null, { services: [], volumes: [] }),
  },
  { requiredKeys: ['balanceMicros', 'services', 'volumes'] },
);

/** What is done to the text of the answer before. */
const edit = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('balance' as const), value: fc.integer() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('account' as const), value: anAccount, space: fc.nat(2) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), value: insertion() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), length: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('member' as const), value: member() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reversed' as const }) },
);

function insertion() {
  return fc.constantFrom(
    ' ',
    '"',
    '\\',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '0',
    'null',
    apiKey,
    '\n',
    '"services":[],',
    '\uFEFF',
  );
}

function member() {
  return fc.constantFrom(
    '"services":[]',
    '"s\\u0065rvices":[]',
    '"volumes":[{}]',
    '"__proto__":{"services":[]}',
    '"more":{"services":[{"a":"]"}]}',
    '"hasMore":true',
    '"":1e5',
  );
}

type Edit = typeof edit extends fc.Arbitrary<infer Value> ? Value : never;

function edited(body: string, change: Edit): string {
  switch (change.kind) {
    case 'balance':
      return body.replace(/("balanceMicros":\s*)-?\d+/, `$1${change.value}`);
    case 'account':
      return JSON.stringify(change.value, undefined, change.space);
    case 'insert': {
      const at = change.at % (body.length + 1);
      return body.slice(0, at) + change.value + body.slice(at);
    }
    case 'cut': {
      const at = change.at % (body.length + 1);
      return body.slice(0, at) + body.slice(at + change.length);
    }
    case 'member':
      return body.replace(/^\s*\{/, `{${change.value},`);
    case 'reversed':
      try {
        return JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body) as object).toReversed()));
      } catch {
        return body;
      }
  }
}

describe('a read of an account', () => {
  test('is the same as that of one who knows nothing of those before it (EI3)', () => {
    const property = fc.property(
      anAccount,
      fc.array(fc.record({ edit, rotates: fc.boolean(), again: fc.boolean(), isForeign: fc.boolean() }), {
        minLength: 1,
        maxLength: 12,
      }),
      (first, steps) => {
        const reads = new QuietReads();
        let body = JSON.stringify(first);
        let key = new Sensitive(apiKey);
        for (const step of [undefined, ...steps]) {
          if (step?.again === false) body = edited(body, step.edit);
          if (step?.rotates && step.edit.kind === 'reversed') key = new Sensitive(`${key.reveal()}-next`);
          const reply = replyOf(body, step?.isForeign ? 'latin1' : 'utf8');
          expect(quietly(reads, reply, key)).toEqual(asAWhole(reply, key));
        }
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });

  const quiet = { services: [{ id: id(1), name: 'web ] "' }], volumes: [{ id: id(2) }], balanceMicros: 1 };
  const key = new Sensitive(apiKey);

  function valueOf(reads: QuietReads, body: string) {
    const { outcome } = quietly(reads, replyOf(body), key);
    if (outcome.kind !== 'applied') throw new Error(outcome.kind);
    return outcome.value;
  }

  test('keeps its lists where only the balance has moved', () => {
    const reads = new QuietReads();
    const before = valueOf(reads, JSON.stringify(quiet));
    const after = valueOf(reads, JSON.stringify({ ...quiet, balanceMicros: 2 }));
    expect(after.balanceMicros).toBe(2);
    expect([after.services === before.services, after.volumes === before.volumes]).toEqual([true, true]);
  });

  test('keeps one list where the other one has moved', () => {
    const reads = new QuietReads();
    const before = valueOf(reads, JSON.stringify(quiet));
    const after = valueOf(reads, JSON.stringify({ ...quiet, volumes: [{ id: id(3) }] }));
    expect([after.services === before.services, after.volumes === before.volumes]).toEqual([true, false]);
    expect(after.volumes.map((volume) => volume.id)).toEqual([id(3)]);
  });

  test('reads an account in a wrapper as a whole', () => {
    const reads = new QuietReads();
    const account = { ...quiet, volumes: [] };
    const wrapped = (balanceMicros: number) =>
      JSON.stringify({ volumes: quiet.volumes, account: { ...account, balanceMicros } });
    valueOf(reads, wrapped(1));
    expect(valueOf(reads, wrapped(2)).volumes).toEqual([]);
    const bare = valueOf(reads, JSON.stringify(quiet));
    expect(bare.volumes.map((volume) => volume.id)).toEqual([id(2)]);
  });

  test.each([
    // With it there are five more.
    { what: 'brackets', kept: '[', other: '{', more: [0, 49_995, 49_996, 10] },
    // And four more commas.
    { what: 'commas', kept: ',', other: ',', more: [0, 399_996, 399_997, 10] },
  ])('counts the $what of lists that it keeps against the bound of an answer', ({ kept, other, more }) => {
    const reads = new QuietReads();
    const services = [{ id: id(1), name: kept.repeat(200_000) }];
    const bodyOf = (count: number) => JSON.stringify({ ...quiet, services, note: other.repeat(count) });
    for (const count of more) {
      const reply = replyOf(bodyOf(count));
      const { outcome, heard } = quietly(reads, reply, key);
      expect(outcome.kind).toBe(count === more[2] ? 'unknown' : 'applied');
      expect({ outcome, heard }).toEqual(asAWhole(reply, key));
    }
  });

  test('counts what could not be read each time that it is shown', () => {
    const reads = new QuietReads();
    const body = JSON.stringify({ ...quiet, services: [{ id: id(1), revision: 'none' }] });
    const [first, second] = [quietly(reads, replyOf(body), key), quietly(reads, replyOf(body), key)];
    expect(first.heard).toHaveLength(1);
    expect(second.heard).toEqual(first.heard);
  });
});

describe('the members of a text', () => {
  test('are where they stand', () => {
    const body = ' {"a" : [1, "]\\"", {}], "b":"\\\\","c":null , "d": -1.5e+3}\n';
    const members = [...(membersOf(Buffer.from(body), []) ?? [])];
    expect(members.map(([name, { start, end }]) => [name, body.slice(start, end)])).toEqual([
      ['a', '[1, "]\\"", {}]'],
      ['b', '"\\\\"'],
      ['c', 'null'],
      ['d', '-1.5e+3'],
    ]);
  });

  test.each([
    '',
    '[]',
    '{',
    '{"a"}',
    '{"a":1,"a":2}',
    '{"\\u0061":1}',
    '{"a":[}',
    '{"a":"}',
    '{"a":1} x',
    '{"a":1,}',
    '\uFEFF{"a":1}',
  ])('are doubted: %s', (body) => {
    expect(membersOf(Buffer.from(body), [])).toBeUndefined();
  });
});
