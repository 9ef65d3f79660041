import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const module = path.resolve(import.meta.dirname, '../../../src/base/heap.ts');

/** In a process of its own, since V8's flags are those of the process. */
function run(code: string, flags: readonly string[] = []): { readonly out: string; readonly err: string } {
  const program = `import { systemHeap } from ${JSON.stringify(module)}; ${code}`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '--eval', program],
    {
      encoding: 'utf8',
    },
  );
  return { out: stdout, err: stderr };
}

test('a collection gives back what is no longer in use', () => {
  const { out } = run(`
    let lists = Array.from({ length: 40 }, () => Array.from({ length: 100_000 }, (_, index) => ({ index })));
    const grown = systemHeap.use();
    lists = undefined;
    systemHeap.collect();
    systemHeap.collect();
    console.log(JSON.stringify([grown, systemHeap.use()]));
  `);
  const [grown, left] = JSON.parse(out);
  expect(grown.heldBytes).toBeGreaterThan(80e6);
  expect(grown.usedBytes).toBeGreaterThan(80e6);
  expect(left.heldBytes).toBeLessThan(40e6);
  expect(left.cpuMs).toBeGreaterThan(grown.cpuMs);
});

test('V8 has a bound of growth, and collects by it', () => {
  // Objects that live long enough to leave the young generation, beside 30 MB that stay.
  const collectionsWith = (percent: number) => {
    const { out, err } = run(
      `
        systemHeap.setGrowth(${percent});
        const objects = (count) => Array.from({ length: count }, (_, index) => ({ index }));
        const kept = Array.from({ length: 20 }, () => objects(50_000));
        const recent = [];
        for (let round = 0; round < 800; round += 1) {
          recent.push(objects(5000));
          if (recent.length > 40) recent.shift();
        }
        console.log(kept.length);
      `,
      ['--trace-gc', '--max-semi-space-size=1'],
    );
    expect(err).toBe('');
    return out.split('Mark-Compact').length - 1;
  };
  expect(collectionsWith(10)).toBeGreaterThan(3 * Math.max(1, collectionsWith(400)));
});
