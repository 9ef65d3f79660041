import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const module = path.resolve(import.meta.dirname, '../../../src/base/heap.ts');
const program = `
  import { systemHeap } from ${JSON.stringify(module)};
  let lists = Array.from({ length: 40 }, () => Array.from({ length: 100_000 }, (_, index) => ({ index })));
  const grown = systemHeap.use();
  lists = undefined;
  systemHeap.collect();
  systemHeap.collect();
  console.log(JSON.stringify([grown, systemHeap.use()]));
`;

test('a collection gives back what is no longer in use', () => {
  const written = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  const [grown, left] = JSON.parse(written);
  expect(grown.heldBytes).toBeGreaterThan(80e6);
  expect(grown.usedBytes).toBeGreaterThan(80e6);
  expect(left.heldBytes).toBeLessThan(40e6);
  expect(left.cpuMs).toBeGreaterThan(grown.cpuMs);
});
