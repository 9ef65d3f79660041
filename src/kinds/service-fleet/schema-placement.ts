/** Where the replicas of a fleet may be. */
import { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';
import { geography, nameRef, region, resources } from '../../resources/parts/fields.ts';
import { named } from './schema-lists.ts';

const micros = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

const candidate = z.strictObject({
  name: z.string().min(1).max(63).describe('Its name, for messages and the status.'),
  accountRef: nameRef.optional().describe('The Account; default that of the fleet.'),
  region: region.describe('The tier, by a name that the catalog has.'),
  geography: geography.describe(
    "A group of regions that the catalog has, or auto; default the API's choice.",
  ),
  resources: resources.optional().describe('What a replica runs with there; default as in the template.'),
  gpuModels: z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(16)
    .meta(listOf.values)
    .optional()
    .describe('GPU models that are accepted there, where the API shows the model; default any.'),
  maxHourlyMicros: micros
    .optional()
    .describe('The highest price of a replica there, in micro-USD per hour; default that of `placement`.'),
  maxReplicas: z.int().min(1).max(1000).optional().describe('The greatest number of replicas there.'),
});

export const placement = z.strictObject({
  strategy: z
    .enum(['Ordered', 'Cheapest', 'Spread'])
    .default('Ordered')
    .describe(
      'Ordered: the first candidate that has capacity. Cheapest: the one with the lowest known price. Spread: the one with the fewest replicas.',
    ),
  candidates: named(z.array(candidate).min(1).max(16), 'candidate').describe(
    'Places for replicas, the best one first.',
  ),
  spread: z
    .strictObject({
      over: z
        .enum(['geography', 'region', 'account'])
        .default('geography')
        .describe('What is to have equally many replicas.'),
      maxSkew: z.int().min(1).max(1000).default(1).describe('How many more one may have than another.'),
      whenUnsatisfiable: z
        .enum(['Prefer', 'Require'])
        .default('Prefer')
        .describe('Require: a replica that would exceed `maxSkew` is not added.'),
    })
    .prefault({})
    .describe('For the strategy Spread.'),
  maxHourlyMicros: micros
    .optional()
    .describe('The highest price of a replica, in micro-USD per hour; default none.'),
  unpriced: z
    .enum(['Try', 'Skip'])
    .default('Try')
    .describe('With a highest price: whether a candidate whose price is unknown is used.'),
  provisionTimeoutMinutes: z
    .int()
    .min(0)
    .max(240)
    .default(20)
    .describe('A replica that provisions for so long is replaced at another candidate; 0: never.'),
  moveBack: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Whether replicas return to a better candidate.'),
      afterMinutes: z
        .int()
        .min(1)
        .max(10_080)
        .default(60)
        .describe('How long a replica has to be at a worse candidate before.'),
      minSavingPercent: z
        .int()
        .min(0)
        .max(100)
        .default(10)
        .describe('For the strategy Cheapest: how much cheaper the other candidate has to be.'),
      maxPerHour: z.int().min(1).max(60).default(2).describe('Moves that may begin in an hour.'),
    })
    .prefault({})
    .describe('Moves to a better candidate, an earlier or a cheaper one, when it is open again.'),
});
export type FleetPlacement = z.infer<typeof placement>;

/** Of a candidate (placement.ts). */
export const placementStates = [
  'Available',
  'Scarce',
  'Probing',
  'Full',
  'PriceTooHigh',
  'ModelNotAccepted',
  'Unpriced',
  'Unusable',
  'Outdated',
] as const;
