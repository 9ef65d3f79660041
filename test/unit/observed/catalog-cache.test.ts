import { beforeEach, expect, test } from 'vitest';
import { wire, type Outcome } from '../../../src/api/index.ts';
import { sleep } from '../../../src/base/index.ts';
import { CatalogCache, catalogTtlMs } from '../../../src/observed/index.ts';
import { createLogger } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const catalog = wire.catalog.parse({
  regions: [],
  templates: [],
  gpuCatalog: [],
  currency: 'USD',
  browserEnabled: false,
  payment: { provider: 'none', status: 'disabled' },
});
const shown: Outcome<wire.Catalog> = { kind: 'applied', status: 200, value: catalog };
const failed: Outcome<wire.Catalog> = { kind: 'unknown', reason: 'a proxy' };

let clock: ManualClock;
let answer: Outcome<wire.Catalog>;
let answerMs: number;
let reads: number;
let cache: CatalogCache;

beforeEach(() => {
  clock = new ManualClock();
  answer = shown;
  answerMs = 0;
  reads = 0;
  cache = new CatalogCache({
    read: async (signal) => {
      reads += 1;
      await sleep(clock, answerMs, signal);
      return answer;
    },
    clock,
    logger: createLogger('silent'),
  });
});

/** What is got, once `withinMs` have passed. */
async function got(withinMs = 0): Promise<wire.Catalog | undefined | 'still waiting'> {
  let value: wire.Catalog | undefined | 'still waiting' = 'still waiting';
  void cache.get().then((result) => (value = result));
  await clock.advance(withinMs);
  return value;
}

test('the catalog is not read before somebody asks, and then once for all who ask', async () => {
  await clock.advance(catalogTtlMs);
  expect([reads, cache.current]).toEqual([0, undefined]);
  expect(await got()).toBe(catalog);
  expect(await got()).toBe(catalog);
  expect(reads).toBe(1);
});

// COVERAGE 1
test('after ten minutes, or a hint that it has changed, it is read again', async () => {
  await got();
  await got(catalogTtlMs);
  await got();
  expect(reads).toBe(2);
  cache.expire();
  await got();
  expect(reads).toBe(3);
});

test('regions and their prices stay known when a newer read fails, and in another cache for the same API', async () => {
  await got();
  answer = failed;
  await got(catalogTtlMs);
  expect([await got(), cache.regions]).toEqual([undefined, catalog.regions]);
  const { regions } = cache;
  const next = new CatalogCache({
    read: async () => failed,
    clock,
    logger: createLogger('silent'),
    regions,
  });
  expect([await next.get(), next.regions]).toEqual([undefined, catalog.regions]);
});

test('who asks waits five seconds at most, and has it later', async () => {
  answerMs = 20_000;
  expect(await got(4_999)).toBe('still waiting');
  expect(await got(5_000)).toBeUndefined();
  await clock.advance(20_000);
  expect([await got(), reads]).toEqual([catalog, 1]);
});

test('a catalog that can not be read is none, also where there was one, and is asked for again after a minute', async () => {
  await got();
  answer = failed;
  await clock.advance(catalogTtlMs);
  expect(await got()).toBeUndefined();
  expect(await got(59_999)).toBeUndefined();
  expect(reads).toBe(2);
  answer = shown;
  await clock.advance(1);
  expect(await got()).toBe(catalog);
});
