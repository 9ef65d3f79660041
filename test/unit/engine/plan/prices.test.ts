import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type PriceBook,
  catalogPrices,
  costOf,
  demandText,
  estimate,
  free,
  increaseMicros,
} from '../../../../src/engine/plan/index.ts';
import type { Demand, ObservedPrice } from '../../../../src/state/index.ts';

const gpu: Demand = { compute: { gpuCount: 1, cpu: 8, memoryGb: 64 } };
const europe = { region: 'standard', geography: 'europe' };
const anywhere = { region: 'standard', geography: undefined };
const units = {
  gpuHourMicros: 900_000,
  cpuHourMicros: 12_000,
  memoryGbHourMicros: 1500,
  storageGbHourMicros: 140,
};

function seen(more: Partial<ObservedPrice> = {}): ObservedPrice {
  return { ...europe, demand: gpu, gpuModel: undefined, hourlyMicros: 1_940_000, at: 0, ...more };
}

function book(more: Partial<PriceBook> = {}): PriceBook {
  return { observed: [], declared: [], catalog: new Map(), ...more };
}

const declared = { region: 'standard', ...units };
const catalog = new Map([['standard', { ...units, gpuHourMicros: 800_000 }]]);
const reported = (demand: Demand, given: PriceBook, place: Parameters<typeof estimate>[1] = europe) => {
  const { micros, basis } = estimate(demand, place, given);
  return `${micros} ${basis}`;
};

test.each([1e308, Number.MAX_VALUE, 2 ** 60])('of %d CPUs there is a price, which nobody can pay', (cpu) => {
  const { micros } = estimate(
    { compute: { gpuCount: 0, cpu, memoryGb: 1 } },
    europe,
    book({ declared: [declared] }),
  );
  expect(micros > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true);
  expect(micros < 10n ** 17n).toBe(true);
});

test.each([1e308, 1e36, 5e-324])(
  'storage of %d GB makes no price that is beyond what can be stored',
  (storageGb) => {
    const observed = [seen({ demand: { storageGb: 1e-300 }, hourlyMicros: 1 })];
    for (const given of [book({ observed }), book({ declared: [declared] }), book({ catalog })]) {
      const { micros } = estimate({ storageGb }, europe, given);
      expect(micros >= 0n && micros <= 2n ** 53n).toBe(true);
    }
  },
);

describe('the basis of a price', () => {
  test('is what was seen, then what is declared, then what the catalog shows', () => {
    expect(reported(gpu, book({ observed: [seen()], declared: [declared], catalog }))).toBe(
      '1940000 observed',
    );
    expect(reported(gpu, book({ declared: [declared], catalog }))).toBe('1092000 declared');
    expect(reported(gpu, book({ catalog }))).toBe('992000 catalog');
    expect(reported(gpu, book())).toBe('0 unknown');
  });

  test('is a declared price that is higher than what was seen, and none of the catalog', () => {
    const observed = [seen({ hourlyMicros: 500_000 })];
    expect(reported(gpu, book({ observed, declared: [declared], catalog }))).toBe('1092000 declared');
    expect(reported(gpu, book({ observed, catalog }))).toBe('500000 observed');
    const storage = [seen({ demand: { storageGb: 100 }, hourlyMicros: 1000 })];
    expect(reported({ storageGb: 50 }, book({ observed: storage, declared: [declared] }))).toBe(
      '7000 declared',
    );
  });

  test('is not a shown price of 0 where another one is known: a provider may charge later', () => {
    const observed = [seen({ hourlyMicros: 0 })];
    expect(reported(gpu, book({ observed, declared: [declared], catalog }))).toBe('1092000 declared');
    expect(reported(gpu, book({ observed, catalog }))).toBe('992000 catalog');
    expect(reported(gpu, book({ observed }))).toBe('0 observed');
    const volumes = [
      seen({ demand: { storageGb: 100 }, hourlyMicros: 1000 }),
      seen({ demand: { storageGb: 50 }, hourlyMicros: 0 }),
    ];
    expect(reported({ storageGb: 50 }, book({ observed: volumes }))).toBe('500 observed');
  });

  test.each([
    ['another region', { region: 'economy' }],
    ['another geography', { geography: 'asia' }],
    ['another size', { demand: { compute: { gpuCount: 2, cpu: 8, memoryGb: 64 } } }],
  ])('is not what was seen in or with %s', (_what, more) => {
    expect(reported(gpu, book({ observed: [seen(more)] }))).toBe('0 unknown');
  });

  test('is the dearest that was seen, where the document leaves place or GPU open', () => {
    const observed = [
      seen(),
      seen({ geography: 'asia', hourlyMicros: 2_500_000 }),
      seen({ gpuModel: 'l4', hourlyMicros: 500_000 }),
    ];
    expect(reported(gpu, book({ observed }), anywhere)).toBe('2500000 observed');
    expect(reported(gpu, book({ observed }), { ...europe, geography: 'auto' })).toBe('2500000 observed');
    expect(reported(gpu, book({ observed }))).toBe('1940000 observed');
  });

  test('is unknown for good where what runs shows no price, unless somebody else tells one', () => {
    const observed = [seen({ hourlyMicros: undefined })];
    expect(estimate(gpu, europe, book({ observed }))).toEqual({
      micros: 0n,
      basis: 'unknown',
      notShown: true,
    });
    expect(reported(gpu, book({ observed, declared: [declared] }))).toBe('1092000 declared');
  });
});

describe('storage', () => {
  const disk = (storageGb: number): Demand => ({ storageGb });

  test('of another size is priced in proportion, rounded up', () => {
    const observed = [seen({ demand: disk(30), hourlyMicros: 100 })];
    expect(reported(disk(30), book({ observed }))).toBe('100 observed');
    expect(reported(disk(10), book({ observed }))).toBe('34 observed');
    expect(reported(disk(300), book({ observed }))).toBe('1000 observed');
  });

  test('is one demand whatever its size', () => {
    expect(demandText(disk(10), europe)).toBe(demandText(disk(20), europe));
    expect(demandText(gpu, anywhere)).toBe('1 GPU, 8 CPU, 64 GB in standard/auto');
  });
});

describe('declared prices', () => {
  const shape = { gpuCount: 1, cpu: 8, memoryGb: 64 };

  test('the most specific one counts: resources, then geography', () => {
    const exact = { region: 'standard', resources: shape, hourlyMicros: 3 };
    const there = { ...declared, geography: 'europe', gpuHourMicros: 1 };
    expect(reported(gpu, book({ declared: [declared, there, exact] }))).toBe('3 declared');
    expect(reported(gpu, book({ declared: [declared, there] }))).toBe(`${1 + 96_000 + 96_000} declared`);
    expect(reported(gpu, book({ declared: [there, declared] }), { ...europe, geography: 'asia' })).toBe(
      '1092000 declared',
    );
  });

  test('that lack one of what is wanted tell nothing', () => {
    const lacking = { region: 'standard', cpuHourMicros: 12_000, memoryGbHourMicros: 1500 };
    expect(reported(gpu, book({ declared: [lacking] }))).toBe('0 unknown');
    const small: Demand = { compute: { gpuCount: 0, cpu: 0.25, memoryGb: 1 } };
    expect(reported(small, book({ declared: [lacking] }))).toBe('4500 declared');
    expect(reported({ storageGb: 10 }, book({ declared: [lacking] }))).toBe('0 unknown');
  });
});

test('of the catalog only the four prices by their names are taken, and only if they can be prices', () => {
  const regions = [
    { name: 'standard', prices: units },
    { name: 'economy', prices: { ...units, cpuHourMicros: -1 } },
    { name: 'odd', prices: { gpu: 1 } },
    { name: 'none' },
    { prices: units },
  ];
  expect([...catalogPrices(regions).keys()]).toEqual(['standard']);
});

test.each([
  ['the dearest of all models', { gpuModelHourMicros: { l4: 300_000, h100: 2_500_000 } }, 2_500_000],
  ['unknown where models have no price', { gpuModelHourMicros: { l4: 'cheap' } }, undefined],
  ['unknown where something else is told', { gpuSurcharge: 5 }, undefined],
])('of a catalog with prices of GPU models it is %s', (_what, more, expected) => {
  const [prices] = catalogPrices([{ name: 'standard', prices: { ...units, ...more } }]).values();
  expect(prices).toMatchObject({ cpuHourMicros: 12_000 });
  expect(prices?.gpuHourMicros).toBe(expected);
});

describe('what a step costs', () => {
  const priced = book({ declared: [declared] });

  test('is the difference to what is paid already', () => {
    const cost = costOf({ place: europe, before: { shown: 1_000_000n }, after: { demands: [gpu] } }, priced);
    expect(cost).toEqual({
      beforeMicros: 1_000_000n,
      afterMicros: 1_092_000n,
      basis: 'declared',
      unknown: [],
      asked: { ...europe, demands: [gpu], beforeMicros: 1_000_000 },
    });
    expect(increaseMicros(cost)).toBe(92_000n);
  });

  test('is as doubtful as its most doubtful part', () => {
    const lacking = { region: 'standard', gpuHourMicros: 1, cpuHourMicros: 1, memoryGbHourMicros: 1 };
    const demands = [gpu, { storageGb: 10 }];
    const cost = costOf({ place: europe, before: free, after: { demands } }, book({ declared: [lacking] }));
    expect(cost).toMatchObject({ basis: 'unknown', unknown: ['storage in standard/europe'] });
  });

  test('without a known price, is not known to save anything', () => {
    const charges = { before: { shown: 1_000_000n }, after: { demands: [gpu] } };
    const cost = costOf({ place: europe, ...charges }, book({}));
    expect(cost).toMatchObject({ basis: 'unknown', beforeMicros: 1_000_000n, afterMicros: 1_000_000n });
  });

  test('law: is never less than nothing, and exact beyond what a number holds', () => {
    const amount = fc.nat({ max: 1_000_000_000 });
    fc.assert(
      fc.property(amount, amount, fc.integer({ min: 1, max: 512 }), (gpuHourMicros, shown, gpuCount) => {
        const demand: Demand = { compute: { gpuCount, cpu: 1, memoryGb: 1 } };
        const prices = { region: 'standard', gpuHourMicros, cpuHourMicros: 0, memoryGbHourMicros: 0 };
        const cost = costOf(
          { place: europe, before: { shown: BigInt(shown) }, after: { demands: [demand] } },
          book({ declared: [prices] }),
        );
        const expected = BigInt(gpuHourMicros) * BigInt(gpuCount) - BigInt(shown);
        expect(increaseMicros(cost)).toBe(expected > 0n ? expected : 0n);
      }),
    );
  });
});

describe('no amount without a basis (BI6)', () => {
  const demands: fc.Arbitrary<Demand> = fc.oneof(
    fc.record({
      compute: fc.record({
        gpuCount: fc.integer({ min: 0, max: 2 }),
        cpu: fc.integer({ min: 1, max: 3 }),
        memoryGb: fc.integer({ min: 1, max: 3 }),
      }),
    }),
    fc.record({ storageGb: fc.integer({ min: 1, max: 50 }) }),
  );
  const prices = fc.record(
    {
      gpuHourMicros: fc.nat(1000),
      cpuHourMicros: fc.nat(1000),
      memoryGbHourMicros: fc.nat(1000),
      storageGbHourMicros: fc.nat(1000),
    },
    { requiredKeys: [] },
  );
  const books: fc.Arbitrary<PriceBook> = fc
    .record({
      observed: fc.array(
        fc.record({ demand: demands, hourlyMicros: fc.option(fc.nat(1000), { nil: undefined }) }),
      ),
      declared: fc.array(prices, { maxLength: 2 }),
      catalog: fc.option(prices, { nil: undefined }),
    })
    .map(({ observed, declared: own, catalog: shown }) =>
      book({
        observed: observed.map((each) => seen(each)),
        declared: own.map((each) => ({ region: 'standard', ...each })),
        catalog: new Map(shown ? [['standard', shown]] : []),
      }),
    );

  test('an estimate is unknown when the price of any part is, and is never a silent 0', () => {
    const charges = fc.array(demands, { maxLength: 3 });
    let unknown = 0;
    fc.assert(
      fc.property(charges, charges, books, (before, after, given) => {
        const cost = costOf({ place: europe, before: { demands: before }, after: { demands: after } }, given);
        const parts = [...before, ...after].map((each) => estimate(each, europe, given));
        expect(['observed', 'declared', 'catalog', 'unknown']).toContain(cost.basis);
        expect(cost.basis === 'unknown').toBe(parts.some(({ basis }) => basis === 'unknown'));
        const isListed = after.every((each) => {
          const { basis, notShown } = estimate(each, europe, given);
          return basis !== 'unknown' || notShown || cost.unknown.includes(demandText(each, europe));
        });
        expect(isListed).toBe(true);
        if (cost.basis === 'unknown') unknown += 1;
      }),
      { numRuns: 500 },
    );
    expect(unknown).toBeGreaterThan(20);
  });
});
