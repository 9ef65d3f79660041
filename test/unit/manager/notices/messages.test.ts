import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../../../src/base/index.ts';
import { problemHash, type DueMessage, type Trouble } from '../../../../src/engine/index.ts';
import {
  messageOf,
  namesOf,
  signature,
  slackBody,
  type Message,
} from '../../../../src/manager/notices/messages.ts';
import { objectKey, type StoredNotification } from '../../../../src/resources/index.ts';

const at = Date.UTC(2026, 10, 1);
const key = objectKey('ContainerService', 'shop', 'web');
const hash = problemHash(key, 'DataLost');
const trouble = (message: string): Trouble => ({
  key,
  hash,
  reason: 'DataLost',
  severity: 'critical',
  account: 'shop/main',
  sinceMs: at,
  labels: {},
  message,
});
const state: StoredNotification = {
  announcements: [
    {
      id: 'id',
      reason: 'DataLost',
      severity: 'critical',
      account: 'shop/main',
      since: at,
      at,
      made: 1,
      begun: false,
      open: [hash],
      absent: {},
      message: { type: 'opened', at, count: 1 },
    },
  ],
};
const due: DueMessage = { key: 'id-1', id: 'id', type: 'opened', at };

function made(text: string, pageUrl?: string): Message {
  const message = messageOf(due, {
    state,
    troubles: new Map([[hash, trouble(text)]]),
    names: () => [key],
    objectOf: () => key,
    occurrence: undefined,
    pageUrl,
  });
  if (!message) throw new Error('there is a message');
  return message;
}

describe('a message', () => {
  test('has at most 1,024 characters of text on one line, and the words of the table of reasons', () => {
    const { message, meaning, remedy } = made(`first\nsecond ${'x'.repeat(5000)}`);
    expect([message.length, message.startsWith('first second'), message.endsWith('…')]).toEqual([
      1024,
      true,
      true,
    ]);
    expect([meaning, remedy].every((text) => text.length > 10)).toBe(true);
  });

  test('links to the page only if its address is given', () => {
    expect(made('a')).not.toHaveProperty('link');
    expect(made('a', 'https://fleet.example.com/').link).toBe(
      'https://fleet.example.com/#/objects/ContainerService/shop/web',
    );
  });
});

test('text of others mentions nobody in Slack, links nowhere, and formats nothing', () => {
  const hostile =
    '<!channel> <@U1> <https://evil.example|click> @here *bold* `code` https://evil.example www.evil.example & more';
  const { text, parse, link_names: links } = JSON.parse(slackBody(made(hostile))) as Record<string, string>;
  const line = text?.split('\n')[2] ?? '';
  expect(line).not.toMatch(/[<>]|https:\/\/|@here|www\.evil|\*bold\*|`code`/);
  expect(line).toContain('&lt;!channel&gt;');
  expect(line).toContain('&amp; more');
  expect([parse, links]).toEqual(['none', false]);
});

test('a signature is HMAC-SHA256 over time and body', () => {
  const expected = createHmac('sha256', 'key')
    .update(`${at / 1000}.{}`)
    .digest('hex');
  expect(signature(new Sensitive('key\n'), at, '{}')).toBe(`t=${at / 1000},v1=${expected}`);
});

test('what happened before a restart has its object and reason, and what is not known any more is no message', () => {
  const happening = { id: 'id', at, reason: 'BudgetPassed', account: 'shop/main', hash };
  const sources = {
    troubles: new Map(),
    names: () => [key],
    objectOf: () => key,
    occurrence: undefined,
    pageUrl: undefined,
  };
  const happened: DueMessage = { key: 'id', id: 'id', type: 'happened', at };
  expect(messageOf(happened, { ...sources, state: { happened: [happening] } })).toMatchObject({
    type: 'happened',
    reason: 'BudgetPassed',
    severity: 'critical',
    account: 'shop/main',
    objects: [key],
    count: 1,
    message: 'it happened before a restart of Fleetkeeper, which does not know more about it',
  });
  expect(messageOf(happened, { ...sources, state: { happened: [{ id: 'id', at }] } })).toBeUndefined();
});

test('names that are not remembered any more are found among all objects', () => {
  const others = ['a', 'b', 'c'].map((name) => objectKey('StorageVolume', 'shop', name));
  expect(namesOf('DataLost', [hash], new Map(), () => [...others, key])).toEqual([key]);
  expect(namesOf('DataLost', ['gone'], new Map(), () => others)).toEqual([]);
});
