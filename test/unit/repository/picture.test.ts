/** The picture of the demo in the README, and what makes it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { renderSvg } from '../../picture/svg.ts';
import { Terminal } from '../../picture/terminal.ts';
import { root } from './documents.ts';

/** Tags that are opened and not closed, or closed and not opened; and characters that have to be escaped. */
function faultsIn(svg: string): string[] {
  const open: string[] = [];
  const faults: string[] = [];
  for (const [, end = '', name = '', , alone = ''] of svg.matchAll(
    /<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<&]*")*)(\/?)>/g,
  )) {
    if (end === '' && alone === '') open.push(name);
    if (end !== '' && open.pop() !== name) faults.push(`</${name}>`);
  }
  const between = svg.replaceAll(/<\/?[a-z]+(?: [a-zA-Z-]+="[^"<&]*")*\/?>/g, '');
  return [...faults, ...open, ...(between.match(/[<>]|&(?!(?:amp|lt|gt|quot);)/g) ?? [])];
}

describe('the picture of the demo', () => {
  const svg = readFileSync(path.join(root, 'docs/demo.svg'), 'utf8');

  test('is well-formed, has no script and needs nothing from elsewhere', () => {
    expect(faultsIn(svg)).toEqual([]);
    expect(svg).not.toMatch(/<script|<foreignObject|\bon[a-z]+=|href=|url\(|@import/);
    expect(Buffer.byteLength(svg)).toBeLessThan(200_000);
  });

  test('has the acts and what happens in them as text', () => {
    const acts = ['1/6', '2/6', '3/6', '4/6', '5/6', '6/6'];
    const events = [
      'storefront',
      'running',
      'Drifted',
      'healed',
      'sizeGb 20 → 40',
      'RolloutFailed',
      'deleted',
    ];
    expect(acts.concat(events).filter((words) => !svg.includes(words))).toEqual([]);
    expect(readFileSync(path.join(root, 'README.md'), 'utf8')).toContain('(docs/demo.svg)');
  });
});

describe('a recorded picture', () => {
  test('shows what is on the terminal after all that was written, in its colours', async () => {
    const terminal = new Terminal(20, 3);
    terminal.stdout.write('gone\n\u001B[1Afew   \u001B[32mgood\u001B[0m \u001B[1;31mbad\u001B[0m\n');
    const [first = []] = await terminal.screen();
    expect(first).toEqual([
      { column: 0, text: 'few', style: { bold: false, dim: false } },
      { column: 6, text: 'good', style: { colour: 2, bold: false, dim: false } },
      { column: 11, text: 'bad', style: { colour: 1, bold: true, dim: false } },
    ]);
  });

  test('is well-formed, whatever was written', () => {
    const style = { bold: false, dim: true };
    const svg = renderSvg([[[{ column: 0, text: '<a href="x">&amp;', style }]], []], 80, 'a < b & "c"');
    expect(faultsIn(svg)).toEqual([]);
    expect(svg).toContain('&lt;a href=&quot;x&quot;&gt;&amp;amp;');
    expect(faultsIn('<a><b></a>')).not.toEqual([]);
    expect(faultsIn('<a>&</a>')).toEqual(['&']);
  });
});
