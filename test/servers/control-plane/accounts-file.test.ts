import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parseAccounts } from '../../../src/control-plane/main.ts';
import { startWorld } from './support.ts';

const digest = createHash('sha256').update('secret-key').digest('hex');
const account = (name: string, more: string) =>
  `  - {name: ${name}, email: ${name}@example.com, apiKeys: [secret-key]${more}}\n`;

test('an account needs a name, an email and a key; the rest has defaults', () => {
  const text = 'accounts:\n  - name: research\n    email: r@example.com\n    apiKeys: [secret-key]\n';
  expect(parseAccounts(text, 'accounts.yaml')).toEqual({
    accounts: [
      {
        name: 'research',
        email: 'r@example.com',
        emailVerified: true,
        balanceMicros: 100_000_000,
        apiKeys: ['secret-key'],
      },
    ],
  });
});

describe('a mistake is named with file, line and path, without any key', () => {
  test.each([
    ['accounts: [', /^a\.yaml:1:\d+: not valid YAML/],
    ['', /^a\.yaml:1: accounts: /],
    ['[secret-key]', /^a\.yaml:1: the document: /],
    [`accounts:\n${account('a', '')}\tsecret-key`, /^a\.yaml:3:1: not valid YAML: /],
    ['accounts: [*secret-key]', /^a\.yaml: an alias .* can't be followed/],
    ['accounts: []', /^a\.yaml:1: accounts: /],
    [
      `accounts:\n${account('a', '')}${account('b', ', balanceMicros: much')}`,
      /^a\.yaml:3: accounts\[1\]\.balanceMicros: .*number/,
    ],
    [
      `accounts:\n${account('a', ', colour: red')}`,
      /^a\.yaml:2: accounts\[0\]\.colour: there is no such field/,
    ],
    ['accounts:\n  - name: a\n    email: a@example.com\n', /^a\.yaml:2: accounts\[0\]\.apiKeys: /],
    [
      'accounts:\n  - name: a\n    email: a@example.com\n    apiKeys: [""]\n',
      /^a\.yaml:4: accounts\[0\]\.apiKeys\[0\]: /,
    ],
    [
      `accounts:\n${account('a', '')}${account('a', '')}`,
      /^a\.yaml:3: accounts\[1\]\.name: "a" occurs twice/,
    ],
    [`accounts:\n${account('a', '')}${account('b', '')}`, /^a\.yaml:3: accounts\[1\]\.apiKeys\[0\]: .*twice/],
    [
      'accounts: [{name: a, email: a@B.example, apiKeys: [key-of-a]},\n {name: b, email: A@b.example, apiKeys: [key-of-b]}]',
      /^a\.yaml:2: accounts\[1\]\.email: .*twice/,
    ],
    [
      'accounts:\n  - {name: a, email: a@b.example,\n     apiKeys: [k]}',
      /^a\.yaml:3: accounts\[0\]\.apiKeys\[0\]: must have at least 8 characters/,
    ],
    [
      'accounts:\n  - {name: a, email: a@b.example,\n     apiKeys: ["sha256:secret-key"]}',
      /^a\.yaml:3: accounts\[0\]\.apiKeys\[0\]: after "sha256:" must come the 64 hex digits/,
    ],
    [
      `accounts:\n${account('a', '')}${account('b', '').replace('secret-key', `sha256:${digest}`)}`,
      /^a\.yaml:3: accounts\[1\]\.apiKeys\[0\]: .*twice/,
    ],
    [
      'accounts:\n  - {name: a, email: a@b.example,\n     apiKeys: []}',
      /^a\.yaml:3: accounts\[0\]\.apiKeys: /,
    ],
  ])('%j', (text, expected) => {
    expect(() => parseAccounts(text, 'a.yaml')).toThrow(expected);
    expect(() => parseAccounts(text, 'a.yaml')).not.toThrow(/secret-key/);
  });
});

test('where ID tokens count, an account needs no key', () => {
  const text = 'accounts: [{name: research, email: r@example.com}]';
  expect(parseAccounts(text, 'a.yaml', 'keys and tokens').accounts[0]?.apiKeys).toEqual([]);
});

test('a key may be given as its SHA-256 digest, so that the file holds no key', async () => {
  const text = `accounts: [{name: research, email: r@example.com, apiKeys: ["sha256:${digest.toUpperCase()}"]}]`;
  await using world = await startWorld({ accounts: parseAccounts(text, 'a.yaml') });
  expect(await world.ok('GET', '/api/me', undefined, 'secret-key')).toMatchObject({ name: 'research' });
  expect(await world.refusal('GET', '/api/me', undefined, `sha256:${digest}`)).toBe('401 unauthenticated');
});
