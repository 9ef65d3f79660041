/** Every command in a document has the flags that the program has, and is run by a test or has the reason why not. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { commandGroups } from '../../../src/cli/commands.ts';
import { blocksIn, documentedBlocks } from '../../support/documented/blocks.ts';
import { commandLinesIn, inlineCommands } from '../../support/documented/command-lines.ts';
import { worlds } from '../../support/documented/worlds.ts';
import { contextOf } from '../cli/support.ts';
import { documents, root } from './documents.ts';

const nobody = { stdout: () => undefined, stderr: () => undefined };
const entries = Object.values(commandGroups).flat();
const known = new Map(
  await Promise.all(
    entries.map(async ({ name, load }) => {
      const command = new Command(name);
      (await load())(command, contextOf({}, nobody, new AbortController().signal), () => undefined);
      return [name, command] as const;
    }),
  ),
);

/** What the program would not take. Capitals stand for a value, and `…` for more. `isWhole`: it is no part of a command. */
function faultsIn([name = '', ...words]: readonly string[], isWhole: boolean): string[] {
  if (name.startsWith('-') || /^[A-Z…]/.test(name) || name === 'help') return [];
  const command = known.get(name);
  if (!command) return [`there is no command ${name}`];
  const faults: string[] = [];
  let operands = 0;
  for (let index = 0; index < words.length; index += 1) {
    const [flag = '', value] = (words[index] ?? '').split('=', 2);
    if (!flag.startsWith('-')) operands += 1;
    if (!flag.startsWith('-') || flag === '--help') continue;
    const option = command.options.find(({ long, short }) => flag === long || flag === short);
    if (!option) faults.push(`${name} has no ${flag}`);
    else if (option.required && value === undefined) index += 1;
  }
  const { registeredArguments } = command;
  const most = registeredArguments.some(({ variadic }) => variadic) ? Infinity : registeredArguments.length;
  const least = registeredArguments.filter(({ required }) => required).length;
  if (isWhole && (operands > most || operands < least))
    faults.push(`${name} does not take ${operands} operands`);
  return faults;
}

describe.each(documents)('%s', (document) => {
  const text = readFileSync(path.join(root, document), 'utf8');
  const blocks = documentedBlocks(document);

  test('shows commands and flags that the program has', () => {
    const shown = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap((block) => commandLinesIn(block.text));
    const faults = [
      ...shown.flatMap((line) => faultsIn(line, true)),
      ...commandLinesIn(inlineCommands(text)).flatMap((line) => faultsIn(line, false)),
    ];
    expect(faults).toEqual([]);
  });

  test('shows scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = Array.from(text.matchAll(/npm run (?:--silent )?(?<script>[a-z][\w:]*)/g), ({ groups }) =>
      String(groups?.['script']),
    );
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });

  test('has a reason above each block of commands that no test runs (<!-- not run: why -->)', () => {
    const unexplained = blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined);
    expect(document in worlds ? [] : unexplained.map(({ line }) => `${document}:${line}`)).toEqual([]);
    for (const [written] of worlds[document]?.instead ?? []) expect(text).toContain(written);
  });
});

describe('the check itself', () => {
  test('takes command lines apart', () => {
    const text =
      "fleetkeeper none\nID=$(fk status \\\n  --output json | cat)\nfleetkeeper exec a --timeout 5s -- sh -c 'x' > y # z\n";
    expect(commandLinesIn(text)).toEqual([
      ['none'],
      ['status', '--output', 'json'],
      ['exec', 'a', '--timeout', '5s'],
    ]);
    expect(inlineCommands('See `fleetkeeper plan --x`.\n```sh\n`fleetkeeper no`\n```\n')).toBe(
      'fleetkeeper plan --x',
    );
  });

  test('finds what the program would not take', () => {
    const faults = (line: string) =>
      commandLinesIn(`fleetkeeper ${line}`).flatMap((words) => faultsIn(words, true));
    expect(faults('plan --source fleet --output=json')).toEqual([]);
    expect(faults('plan --sauce fleet')).toEqual(['plan has no --sauce']);
    expect(faults('plam')).toEqual(['there is no command plam']);
    expect(faults('explain one two')).toEqual(['explain does not take 2 operands']);
  });

  test('finds the reason above a block', () => {
    const blocks = blocksIn('<!-- not run: a cluster -->\n\n```sh\na\n```\ntext\n```\nb\nc\n```\n');
    expect(blocks).toEqual([
      { line: 3, language: 'sh', text: 'a\n', notRun: 'a cluster' },
      { line: 7, language: '', text: 'b\nc\n', notRun: undefined },
    ]);
  });
});
