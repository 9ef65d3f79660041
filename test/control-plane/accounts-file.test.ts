import { describe, expect, test } from 'vitest';
import { parseAccounts } from '../../src/control-plane/main.ts';

const account = (name: string, more: string) =>
  `  - {name: ${name}, email: a@example.com, apiKeys: [secret-key]${more}}\n`;

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
    ['', /^a\.yaml:1: the document: /],
    ['accounts: []', /^a\.yaml:1: accounts: /],
    [
      `accounts:\n${account('a', '')}${account('b', ', balanceMicros: much')}`,
      /^a\.yaml:3: accounts\[1\]\.balanceMicros: .*number/,
    ],
    [`accounts:\n${account('a', ', colour: red')}`, /^a\.yaml:2: accounts\[0\]: .*colour/],
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
  ])('%j', (text, expected) => {
    expect(() => parseAccounts(text, 'a.yaml')).toThrow(expected);
    expect(() => parseAccounts(text, 'a.yaml')).not.toThrow(/secret-key/);
  });
});
