import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sensitive, UserError, messageOf } from '../../../src/base/index.ts';
import { createLogger } from '../../../src/telemetry/index.ts';

const canary = 'canary-7f3a';

/** Every way in which a careless line of code could print a value. */
const printers: Record<string, (value: Sensitive<unknown>) => string> = {
  'a template': (value) => `${String(value)} ${[value].join()}`,
  'a sum': (value) => `key ${value as unknown as string}`,
  JSON: (value) =>
    JSON.stringify({ value, list: [value], deep: { map: Object.fromEntries([['a', value]]) } }),
  'the inspector': (value) =>
    inspect({ value, map: new Map([['a', value]]) }, { depth: 9, showHidden: true }),
  'the message of an error': (value) => messageOf(new Error(`no ${value as unknown as string}`)),
  'an error with a cause': (value) => inspect(new UserError('no', 'try', { value })),
  'a copy': (value) =>
    JSON.stringify([Object.assign({}, value), Object.entries(value), structuredClone(value)]),
  'the logger': (value) => {
    const lines: string[] = [];
    const logger = createLogger('trace', { write: (line) => void lines.push(line) });
    const error = Object.assign(new Error(`no ${value as unknown as string}`), { value });
    logger.info({ anything: value, deep: { er: { and: { deeper: value } } }, list: [value] }, 'message');
    logger.error({ err: error }, 'failed');
    logger.error(error);
    logger.info('as text: %s, as an object: %o, as JSON: %j', value, value, value);
    logger.child({ bound: value }).warn('child');
    expect(lines).toHaveLength(5);
    return lines.join('');
  },
};

describe('a sensitive value', () => {
  test.each(Object.entries(printers))('is not shown by %s', (_name, print) => {
    for (const value of [
      canary,
      { nested: canary },
      [canary],
      Buffer.from(canary),
      new Map([['a', canary]]),
    ]) {
      const shown = print(new Sensitive(value));
      expect(shown).not.toContain(canary);
      expect(shown).not.toContain(Buffer.from(canary).toString('hex'));
    }
  });

  test('law: is given by reveal, as it is', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(new Sensitive(value).reveal()).toBe(value);
      }),
    );
  });

  test('shows that there is something', () => {
    expect(String(new Sensitive(''))).toBe('[redacted]');
  });
});
