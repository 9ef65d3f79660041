/** `Account.spec.prices`: what things cost, for a provider that does not tell before they exist. */
import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';
import { resources } from '../../resources/parts/fields.ts';

/** A billion USD: no price is near it. */
const highestMicros = 1_000_000_000_000_000;
const price = z.int().min(0).max(highestMicros).optional();
const place = z.string().min(1).max(253);

const prices = {
  gpuHourMicros: price.describe('Of one GPU.'),
  cpuHourMicros: price.describe('Of one processor.'),
  memoryGbHourMicros: price.describe('Of a GB of memory.'),
  storageGbHourMicros: price.describe('Of a GB of storage.'),
};

const priceNames = ['hourlyMicros', ...Object.keys(prices)];

const declaredPrice = constrained(
  z.strictObject({
    region: place.describe('The tier.'),
    geography: place.optional().describe('The group of regions, as documents name it; default any.'),
    resources: resources.optional().describe('The price is for exactly these; default any.'),
    hourlyMicros: price.describe('Of those resources together; needs `resources`.'),
    ...prices,
  }),
  {
    holds: ({ hourlyMicros, resources: shape }) => hourlyMicros === undefined || shape !== undefined,
    rule: '!has(self.hourlyMicros) || has(self.resources)',
    schema: given.only('hourlyMicros', 'resources'),
    message: 'hourlyMicros needs resources',
    field: 'hourlyMicros',
  },
  {
    holds: (entry) => priceNames.some((name) => entry[name as keyof typeof entry] !== undefined),
    rule: priceNames.map((name) => `has(self.${name})`).join(' || '),
    schema: given.anyOf(...priceNames),
    message: 'needs at least one price',
  },
);
export type DeclaredPrice = z.infer<typeof declaredPrice>;

export const declaredPrices = z
  .array(declaredPrice.describe('Prices in micro-USD per hour.'))
  .max(64)
  .meta(listOf.whole)
  .optional()
  .describe(
    'What things cost, in micro-USD per hour, where the provider does not tell before they exist. What was seen to cost something counts first; ' +
      'of these, the entry with resources, then the one with a geography.',
  );
