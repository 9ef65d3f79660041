import type { Benchmark } from './benchmark.ts';

/** In the order of their numbers. `only`: ids, separated by commas; without it all. Throws for an id that there is not. */
export function selected(benchmarks: readonly Benchmark[], only: string | undefined): readonly Benchmark[] {
  const sorted = benchmarks.toSorted((left, right) => numberOf(left) - numberOf(right));
  if (only === undefined) return sorted;
  const ids = only.split(',').map((id) => id.trim().toUpperCase());
  const known = new Set(sorted.map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) {
    throw new Error(`there is no benchmark ${unknown.join(', ')}, only ${[...known].join(', ')}`);
  }
  return sorted.filter(({ id }) => ids.includes(id));
}

function numberOf({ id }: Benchmark): number {
  return Number(id.slice(1));
}
