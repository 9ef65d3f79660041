/** Each dialect, through a whole life of a small fleet (life.ts). */
import { expect, test } from 'vitest';
import { plain, type Dialect } from './dialect.ts';
import { dialects } from './index.ts';
import { live, type Life } from './life.ts';

/** What the plain dialect needs is all that any other may send. */
let needed: Promise<Life> | undefined;

async function needless({ phases }: Life, { costs = {} }: Dialect): Promise<string[]> {
  needed ??= live(plain);
  const plainly = (await needed).phases;
  return phases.flatMap(({ name, mutations }) => {
    const left = [...(plainly.find((phase) => phase.name === name)?.mutations ?? [])];
    return mutations
      .filter((mutation) => {
        const at = left.indexOf(mutation);
        if (at !== -1) left.splice(at, 1);
        return at === -1 && costs[mutation] === undefined;
      })
      .map((mutation) => `${name}: ${mutation}`);
  });
}

test('there are at least 60 dialects, each with a name of its own', () => {
  expect(new Set(dialects.map(({ name }) => name)).size).toBe(dialects.length);
  expect(dialects.length).toBeGreaterThanOrEqual(60);
});

test.each(dialects)('a fleet lives with $name: $plays', async (dialect) => {
  const life = await live(dialect);
  expect(life.problems).toEqual([]);
  expect(await needless(life, dialect)).toEqual([]);
});
