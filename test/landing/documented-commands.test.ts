/** What the documentation shows is done here, in order, as somebody who follows it. */
import { describe, expect, test } from 'vitest';
import { documentedBlocks, type Block } from '../support/documented/blocks.ts';
import { runBlocks } from '../support/documented/shell.ts';
import { worlds } from '../support/documented/worlds.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

const longestMs = 300_000;

describe.each(Object.entries(worlds))('%s', (document, world) => {
  test('shows commands that work, and what they print', { timeout: longestMs }, async () => {
    const blocks = documentedBlocks(document);
    const commands = blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined);
    expect(commands.length).toBeGreaterThan(0);
    const { failures, printed } = await runBlocks(await temporaryFolder(), commands, world);
    expect(failures).toEqual([]);
    const shown = world.showsOutput ? commands.map((block) => shownAfter(block, blocks)) : [];
    const missing = shown.flatMap((lines, index) => missingIn(printed[index] ?? '', lines));
    expect(missing).toEqual([]);
  });
});

/** Lines of the plain block that follows a block of commands. */
function shownAfter(block: Block, blocks: readonly Block[]): string[] {
  const next = blocks[blocks.indexOf(block) + 1];
  if (next?.language !== '' || next.notRun !== undefined) return [];
  return next.text.split('\n').filter((line) => line.replaceAll(/[… ]/g, '') !== '');
}

/** Where lines are missing, all of what was printed comes after them. */
function missingIn(printed: string, lines: readonly string[]): string[] {
  const missing = lines.filter((line) => !patternOf(line).test(printed));
  return missing.length === 0 ? [] : [...missing, printed];
}

/** `…` stands for anything, and columns may be wider. */
function patternOf(line: string): RegExp {
  const parts = line.trim().split('…');
  const patterns = parts.map((part) => part.replaceAll(/[^\w\s]/gu, '\\$&').replaceAll(/ +/g, ' +'));
  return new RegExp(patterns.join('.*'));
}

describe('the check itself', () => {
  const block = { line: 1, language: 'sh', notRun: undefined };

  test('finds commands that fail, and no plan that has changes', async () => {
    const commands = [
      { ...block, text: 'x=1; fleetkeeper explain Nothing\necho $x\n' },
      { ...block, text: "sh -c 'exit 2' plan --all\nfalse\n" },
    ];
    const { failures, printed } = await runBlocks(await temporaryFolder(), commands, { before: 'true\n' });
    expect(failures.slice(0, 2)).toEqual(['1: fleetkeeper explain Nothing', '1: false']);
    expect(printed).toEqual(['1\n', '']);
  });

  test('finds what is not printed', () => {
    expect(missingIn('NAME   READY\nweb-7  True $1.5/h\n', ['NAME READY', 'web-…  True', '$1.5/h'])).toEqual(
      [],
    );
    expect(missingIn('web True', ['web  False', 'We.b'])).toEqual(['web  False', 'We.b', 'web True']);
  });
});
