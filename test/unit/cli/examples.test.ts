/** The examples of `--help` are command lines that the program takes. */
import { describe, expect, test } from 'vitest';
import { commandGroups } from '../../../src/cli/commands.ts';
import { defined } from './commands-document.ts';
import { run } from './support.ts';

const entries = Object.values(commandGroups).flat();

/** The words of the first call of the program in a line for a shell, without those of redirections. */
function argumentsIn(line: string): string[] {
  const [, call = ''] = /\bfleetkeeper ([^|&>)#]*)/.exec(line) ?? [];
  return Array.from(call.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g), ([, single, double, bare]) =>
    String(single ?? double ?? bare),
  );
}

describe.each(entries)('$name', (entry) => {
  test('has one to three examples, and `--help` ends with them', async () => {
    const { examples, name } = entry;
    expect(examples.length).toBeLessThanOrEqual(3);
    const { code, stdout } = await run([name, '--help']);
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .slice(-examples.length - 1),
    ).toEqual(['Examples:', ...examples.map((line) => `  ${line}`)]);
  });

  test.each(entry.examples)('takes its example: %s', async (line) => {
    const [name, ...words] = argumentsIn(line);
    expect(name).toBe(entry.name);
    const command = await defined(entry);
    let isTaken = false;
    command.exitOverride().configureOutput({ writeErr: (text) => expect(text).toBe('') });
    command.action(() => {
      isTaken = true;
    });
    await command.parseAsync(words, { from: 'user' });
    expect(isTaken).toBe(true);
  });
});

/** Where the default is an object, the flag shows what makes it. */
const flags = await Promise.all(
  entries.map(async (entry) => ({ name: entry.name, options: (await defined(entry)).options })),
);

test.each(flags)('`$name --help` shows defaults as its flags take them', async ({ name, options }) => {
  const { stdout } = await run([name, '--help']);
  const text = stdout.replaceAll(/\s+/g, ' ');
  for (const { defaultValue, defaultValueDescription, parseArg, hidden } of options) {
    if (defaultValue === undefined || hidden) continue;
    const shown = defaultValueDescription ?? String(defaultValue);
    expect(text).toContain(`default: ${shown})`);
    expect(parseArg ? parseArg(shown, undefined) : shown).toEqual(defaultValue);
  }
});

test('a line is taken apart as a shell does', () => {
  expect(argumentsIn("fleetkeeper exec web -- sh -c 'df -h /data' | tail -1")).toEqual([
    'exec',
    'web',
    '--',
    'sh',
    '-c',
    'df -h /data',
  ]);
  expect(argumentsIn('source <(fleetkeeper completion bash)')).toEqual(['completion', 'bash']);
});
