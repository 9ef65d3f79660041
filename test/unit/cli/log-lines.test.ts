import { describe, expect, test } from 'vitest';
import { logLine } from '../../../src/cli/output/log-lines.ts';
import { palette } from '../../../src/cli/output/render.ts';
import { createLogger, type Logger } from '../../../src/telemetry/index.ts';

function textOf(write: (logger: Logger) => void): string {
  let text = '';
  const colours = palette({ isTTY: false }, {});
  write(createLogger('debug', { write: (line) => (text += `${logLine(line, colours)}\n`) }));
  return text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'HH:MM:SS');
}

describe('a line of the log, for people', () => {
  test('begins with the object, and has reason and message', () => {
    const object = 'ContainerService/default/web';
    const said = { object, ready: 'False', reason: 'ServiceError', message: 'exit 1' };
    expect(textOf((logger) => logger.warn(said, 'held'))).toBe(
      'HH:MM:SS warn  ContainerService default/web  held  ServiceError: exit 1\n',
    );
  });

  test('has all other members with their names', () => {
    const members = { source: 'fleet', count: 3, nested: { a: [1] } };
    expect(textOf((logger) => logger.info(members, 'manager started'))).toBe(
      'HH:MM:SS info  manager started  source=fleet  count=3  nested={"a":[1]}\n',
    );
  });

  test('shows nothing that the JSON line hides', () => {
    const text = textOf((logger) =>
      logger.error({ apiKey: 'hunter2', deep: { token: 'hunter2' } }, 'failed'),
    );
    expect(text).toBe('HH:MM:SS error failed  apiKey=[redacted]  deep={"token":"[redacted]"}\n');
  });

  test('is one line, whatever others have written into it', () => {
    const text = textOf((logger) => logger.info({ note: 'a\nb\u001b[2Jc\u202ed', object: 'x\ry' }, 'm'));
    expect(text.split('\n')).toHaveLength(2);
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test('that is no JSON is shown as it is', () => {
    expect(logLine('what is this\u0007', palette({ isTTY: false }, {}))).toMatch(/^what is this/);
  });
});
