/** The third column of `docs/internals/coverage.md`, made of the tests that name a line: `npm run docs:coverage` writes it. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const coverageDocument = path.join(import.meta.dirname, '../../../docs/internals/coverage.md');
const tests = path.join(import.meta.dirname, '../..');

/** Which lines the tests of a file name, as in `// COVERAGE 11, 43`. */
export const linesNamed: ReadonlyMap<string, ReadonlySet<number>> = new Map(
  globSync('**/*.test.ts', { cwd: tests })
    .toSorted()
    .map((file) => {
      const comments = readFileSync(path.join(tests, file), 'utf8').matchAll(/^ *\/\/ COVERAGE (.*)$/gm);
      return [file, new Set([...comments].flatMap(([, list = '']) => list.split(', ').map(Number)))];
    }),
);

export function withTests(document: string): string {
  return document.replaceAll(/^\| (\d+) \| (.*) \| .* \|$/gm, (_, line: string, what: string) => {
    const files = [...linesNamed]
      .filter(([, lines]) => lines.has(Number(line)))
      .map(([file]) => `\`${file}\``);
    return `| ${line} | ${what} | ${files.join(', ')} |`;
  });
}

if (import.meta.main) {
  writeFileSync(coverageDocument, withTests(readFileSync(coverageDocument, 'utf8')));
}
