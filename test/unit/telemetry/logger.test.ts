import { describe, expect, test } from 'vitest';
import { createLogger, createMetrics, type Logger, type LogLevel } from '../../../src/telemetry/index.ts';

function logged(level: LogLevel, write: (logger: Logger) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLogger(level, { write: (line) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a log line', () => {
  test('is JSON with level, time, message and keys, and nothing of the machine', () => {
    const [line] = logged('info', (logger) => logger.info({ object: 'a/b' }, 'mutation'));
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      object: 'a/b',
      msg: 'mutation',
    });
  });

  test.each(['authorization', 'headers', 'apiKey', 'password', 'environment', 'env', 'value', 'token'])(
    'hides a member called %s, down to the third level',
    (name) => {
      const secret = { [name]: 'canary' };
      const lines = logged('info', (logger) => {
        logger.info({ ...secret, one: secret, two: { inner: secret }, kept: 'kept' }, 'message');
      });
      expect(JSON.stringify(lines)).not.toContain('canary');
      expect(lines[0]).toMatchObject({ [name]: '[redacted]', kept: 'kept' });
    },
  );

  test('is short, whatever somebody has put into it', () => {
    const long = 'x'.repeat(36_000_000);
    const lines = logged('info', (logger) => {
      const many = Array.from({ length: 10_000 }, () => 'y'.repeat(100));
      logger.info(
        { note: long, deep: { er: [long] }, many, [long]: 1, problem: new Error(long.slice(0, 9)) },
        'm',
      );
      logger.child({ account: 'a' }).warn({ identity: long }, 'm');
    });
    expect(lines.map((line) => JSON.stringify(line).length < 100_000)).toEqual([true, true]);
    expect(lines[0]?.['note']).toBe(`${'x'.repeat(4095)}…`);
  });

  test('is one line, whatever is in it', () => {
    const lines = logged('info', (logger) => logger.info({ note: 'a\nb\u001b[31m' }, 'two\nlines'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ note: 'a\nb\u001b[31m', msg: 'two\nlines' });
  });

  test('holds nothing that a terminal obeys or does not show, and says the same', () => {
    const text = 'a\u009b2J\u007f\u202eb\u2028c\u{e0041}\u200fd';
    const raw: string[] = [];
    createLogger('info', { write: (line) => void raw.push(line) }).info({ note: text }, 'message');
    expect(raw.join('').trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(raw.join(''))).toMatchObject({ note: text });
  });

  test('is written from its level on', () => {
    const all = (logger: Logger) => {
      logger.debug('debug');
      logger.warn('warn');
      logger.error('error');
    };
    expect(logged('warn', all).map((line) => line['msg'])).toEqual(['warn', 'error']);
    expect(logged('silent', all)).toEqual([]);
  });
});

test('two managers in one process count for themselves', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.queueAdds.inc({ name: 'queue' });
  expect(await one.registry.metrics()).toContain('workqueue_adds_total{name="queue"} 1');
  expect(await other.registry.metrics()).not.toContain('workqueue_adds_total{');
});
