import { describe, expect, test } from 'vitest';
import { digestKey } from '../../../src/base/index.ts';
import { pricesSignature, readPrices, shownPrices, type ObservedPrice } from '../../../src/state/index.ts';

const at = Date.UTC(2026, 0, 1);
const key = digestKey(Buffer.alloc(32, 1));
const account = 'default/default';
/** As a status has them, through JSON. */
const signed = (shown: unknown, signer = key) => ({
  prices: JSON.parse(JSON.stringify(shown)) as unknown,
  pricesSignature: pricesSignature(account, shown, signer),
});
const read = (status: Readonly<Record<string, unknown>>) => readPrices(account, status, key);
const place = { region: 'standard', geography: 'europe' };
const prices: readonly ObservedPrice[] = [
  {
    ...place,
    demand: { compute: { gpuCount: 1, cpu: 8, memoryGb: 64 } },
    gpuModel: 'h100',
    hourlyMicros: 1_940_000,
    at,
    moved: { at: at - 5000, beforeMicros: 1_700_000 },
  },
  { ...place, demand: { storageGb: 10 }, gpuModel: undefined, hourlyMicros: undefined, at },
];

describe('prices in the status of an Account', () => {
  test('are read as they were told, through JSON', () => {
    expect(read(signed(shownPrices(prices)))).toEqual(prices);
  });

  test('are believed only if the operator has signed them, for this account', () => {
    const shown = shownPrices(prices);
    const cheap = shown.map((price) => ({ ...price, hourlyMicros: 1 }));
    expect(read({ ...signed(shown), prices: cheap })).toEqual([]);
    expect(read({ prices: shown })).toEqual([]);
    expect(read(signed(shown, digestKey(Buffer.alloc(32, 2))))).toEqual([]);
    expect(readPrices('other/default', signed(shown), key)).toEqual([]);
  });

  test('are the newest 64', () => {
    const many = Array.from({ length: 100 }, (_, index) => ({
      ...place,
      demand: { storageGb: index + 1 },
      gpuModel: undefined,
      hourlyMicros: 1,
      at,
    }));
    expect(shownPrices(many).map(({ storageGb }) => storageGb)).toEqual(
      Array.from({ length: 64 }, (_, index) => index + 1),
    );
  });

  test.each([
    ['an amount that is none', { beforeMicros: -1 }],
    ['a time that is none', { movedAt: 'yesterday' }],
  ])('%s tells of no change of the price', (_, wrong) => {
    const [one] = shownPrices(prices);
    const [first] = read(signed([{ ...one, ...wrong }]));
    expect([first?.hourlyMicros, first?.moved]).toEqual([1_940_000, undefined]);
  });

  test('that can be none are left out', () => {
    const [one] = shownPrices(prices);
    const forged = [
      { ...one, hourlyMicros: -1 },
      { ...one, hourlyMicros: 0.5 },
      { ...one, hourlyMicros: '1' },
      { ...one, cpu: undefined },
      { ...one, region: 7 },
      { ...one, seenAt: 'soon' },
      { ...place, storageGb: 0, seenAt: one?.seenAt },
      null,
      'x',
    ];
    expect(read(signed(JSON.parse(JSON.stringify(forged))))).toEqual([]);
    expect(read(signed('x'))).toEqual([]);
  });
});
