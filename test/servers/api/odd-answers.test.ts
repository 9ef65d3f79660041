/** Answers of any size that is read, in which nothing can be read: they take about as long as plain ones. All accounts share one event loop. */
import { expect, test } from 'vitest';
import { readAnswer } from '../../../src/api/answer.ts';
import { Descriptions } from '../../../src/api/descriptions.ts';
import * as readers from '../../../src/api/readers.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { cpuMs } from '../../support/cpu-time.ts';

const key = 'key-of-acme-0123456789';
const unread =
  '"name":[],"state":1,"region":[],"geography":[],"image":[],"command":1,"endpoint":1,"environmentNames":1,"volumeId":1,"error":1';

/** Of one list of entries, up to a tenth of what is read at most. */
function accountOf(entry: (index: number) => string, first = ''): string {
  const entries = first === '' ? [] : [first];
  let [commas, lists, length] = [first.split(',').length, 0, first.length];
  for (let index = 0; ; index += 1) {
    const next = entry(index);
    commas += next.split(',').length;
    lists += next.split(/[[{]/).length - 1;
    length += next.length;
    if (commas > 60_000 || lists > 25_000 || length > 1_600_000) break;
    entries.push(next);
  }
  return `{"balanceMicros":1,"currency":"USD","services":[${entries.join(',')}],"volumes":[],"ledger":[]}`;
}

function read(text: string) {
  let noted = 0;
  const startedAt = cpuMs();
  const reply = { kind: 'reply', status: 200, retryAfter: undefined, body: Buffer.from(text) } as const;
  const notes = {
    note: (_resource: string, _problem: unknown, times = 1) => (noted += times),
    spelled: () => undefined,
  };
  const outcome = readAnswer(reply, { answer: readers.account }, new Sensitive(key), 0, notes);
  if (outcome.kind !== 'applied') throw new Error(JSON.stringify(outcome));
  return { account: outcome.value, noted, ms: cpuMs() - startedAt };
}

let ids = 0;
const uuid = () => `00000000-0000-4000-8000-${String((ids += 1)).padStart(12, '0')}`;
const plain = accountOf(() => `{"id":"${uuid()}","state":"running","revision":1}`);
const members = Array.from({ length: 30_000 }, (_, index) => `"m${index}":1`).join(',');
const repeated = uuid();

const odd: Record<string, string> = {
  'fields of equal values': accountOf(
    () => `{"id":"${uuid()}",${unread},"resources":"x","httpPort":"x","hourlyMicros":"x"}`,
  ),
  'fields of different values': accountOf(
    (index) =>
      `{"id":"${uuid()}",${unread},"resources":"a${index}","httpPort":"b${index}","hourlyMicros":"c${index}"}`,
  ),
  'long texts': accountOf((index) => `{"id":"${uuid()}","revision":"${index}${'key-of-'.repeat(60)}"}`),
  'entries without an id': accountOf((index) => `{"id":"x${index}"}`),
  'entries that repeat a very large one': accountOf(
    (index) => `{"id":"${repeated}","n":${index}}`,
    `{"id":"${repeated}",${members}}`,
  ),
};

test.each(Object.keys(odd))('an answer of %s takes no longer than some plain ones', (what) => {
  read(plain);
  const { ms: most } = read(plain);
  const found = read(odd[what] ?? '');
  expect(found.noted).toBeGreaterThan(3000);
  expect(found.ms).toBeLessThan(4 * most + 300);
});

test('each value that can not be read is described, and equal ones alike', () => {
  const { account } = read(accountOf((index) => `{"id":"${uuid()}","state":${index % 3}}`));
  const found = account.services.map(({ unreadable }) => unreadable?.[0]?.found);
  expect(found.length).toBeGreaterThan(15_000);
  expect(found).toEqual(found.map((_, index) => `a number: ${index % 3}`));
});

test('of more different values than an ordinary answer has, the type is described', () => {
  const { account } = read(accountOf((index) => `{"id":"${uuid()}","state":{"phase":${index}}}`));
  const found = account.services.map(({ unreadable }) => unreadable?.[0]?.found);
  expect(found.slice(0, 10_000)).toEqual(
    Array.from({ length: 10_000 }, (_, index) => `an object: {"phase":${index}}`),
  );
  expect(new Set(found.slice(10_000))).toEqual(new Set(['an object']));
});

test('no description repeats a secret, the second as little as the first', () => {
  const descriptions = new Descriptions([key, 'abcd']);
  for (const value of [`is ${key}`, `is ${key}`, { a: key.slice(3, 15) }, ['ABCD'], 'abc'])
    expect(descriptions.of(value)).toMatch(
      value === 'abc' ? /^a text: "abc"$/ : /^(?!.*(key-of|abcd)).*\[redacted\]/i,
    );
});
