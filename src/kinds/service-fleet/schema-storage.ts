/** Storage of replicas: a volume that each slot has for itself, or storage that is deleted with its replica. */
import { z } from 'zod';
import { constrained, given, implication, type Constraint } from '../../resources/parts/constraints.ts';
import type { CountOrShare } from './schema-counts.ts';

const sizeGb = z.int().min(10).max(4096);
/** Of an account (§8). */
const volumesAtMost = 50;
/** The names of volumes have 48 characters at most, with `-data-` and four digits. */
const longestNameWithVolumes = 38;

export const fleetStorage = constrained(
  z.strictObject({
    perReplica: z
      .strictObject({
        sizeGb: sizeGb.describe('Size in GB (§8). It may grow, and never shrinks.'),
        expansion: z
          .enum(['Never', 'PauseService'])
          .default('Never')
          .describe(
            'Whether a replica may be paused for its volume to grow, and is started again (§3 rule 5).',
          ),
        retire: z
          .enum(['Keep', 'Delete'])
          .default('Keep')
          .describe(
            'What becomes of the volume of a replica that leaves for good. Keep: it stays, and is attached again when the number of the replica is used again. Delete: it is deleted after its service.',
          ),
      })
      .optional()
      .describe('A StorageVolume with the name NAME-data-SLOT for each replica. It outlives the replica.'),
    scratch: z
      .strictObject({ volumeGb: sizeGb.describe('Size in GB (§8).') })
      .optional()
      .describe('Storage of each replica, deleted with it. The field confirms that its data may be lost.'),
  }),
  {
    holds: ({ perReplica, scratch }) => (perReplica === undefined) !== (scratch === undefined),
    rule: 'has(self.perReplica) != has(self.scratch)',
    schema: given.exactlyOneOf('perReplica', 'scratch'),
    message: 'needs exactly one of perReplica and scratch',
  },
);
type FleetStorage = z.infer<typeof fleetStorage>;

interface Sized {
  readonly storage?: FleetStorage | undefined;
  readonly maxReplicas: number;
  readonly update: { readonly maxSurge: CountOrShare; readonly maxUnavailable: CountOrShare };
  readonly drain: { readonly overlap?: CountOrShare | undefined };
}

export function isNone(count: CountOrShare): boolean {
  return count === 0 || count === '0%';
}

const none = [0, '0%'];
const hasVolumes = {
  properties: { storage: { required: ['perReplica'] } },
  required: ['storage'],
};
const withoutVolumes = '!has(self.storage) || !has(self.storage.perReplica)';

/** A replica beside the others would need a volume of its own, and leave it behind. */
export const volumeConstraints: readonly Constraint<Sized>[] = [
  {
    holds: ({ storage, update }) =>
      !storage?.perReplica || (isNone(update.maxSurge) && !isNone(update.maxUnavailable)),
    rule: `${withoutVolumes} || (string(self.update.maxSurge) in ['0', '0%'] && !(string(self.update.maxUnavailable) in ['0', '0%']))`,
    schema: (errorMessage) =>
      implication(hasVolumes, {
        properties: {
          update: {
            properties: {
              maxSurge: { enum: none, errorMessage },
              maxUnavailable: { not: { enum: none }, errorMessage },
            },
            required: ['maxSurge', 'maxUnavailable'],
            errorMessage,
          },
        },
        required: ['update'],
        errorMessage,
      }),
    message:
      'storage.perReplica needs maxSurge 0 and maxUnavailable of at least 1, because an additional replica would need a volume of its own',
    field: 'update',
  },
  {
    holds: ({ storage, drain }) =>
      !storage?.perReplica || drain.overlap === undefined || isNone(drain.overlap),
    rule: `${withoutVolumes} || !has(self.drain) || !has(self.drain.overlap) || string(self.drain.overlap) in ['0', '0%']`,
    schema: (errorMessage) =>
      implication(hasVolumes, {
        properties: { drain: { properties: { overlap: { enum: none, errorMessage } } } },
      }),
    message:
      'storage.perReplica needs drain.overlap 0, because an additional replica would need a volume of its own',
    field: 'drain',
  },
  {
    holds: ({ storage, maxReplicas }) => !storage?.perReplica || maxReplicas <= volumesAtMost,
    rule: `${withoutVolumes} || self.maxReplicas <= ${volumesAtMost}`,
    schema: (errorMessage) =>
      implication(hasVolumes, {
        properties: { maxReplicas: { maximum: volumesAtMost, errorMessage } },
        required: ['maxReplicas'],
        errorMessage,
      }),
    message: `storage.perReplica needs maxReplicas of at most ${volumesAtMost}, the volumes that an account may have (§8)`,
    field: 'maxReplicas',
  },
];

interface Named {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly storage?: FleetStorage | undefined };
}

export const nameWithVolumes: Constraint<Named> = {
  holds: ({ metadata: { name }, spec }) => !spec.storage?.perReplica || name.length <= longestNameWithVolumes,
  rule: `!has(self.spec.storage) || !has(self.spec.storage.perReplica) || self.metadata.name.size() <= ${longestNameWithVolumes}`,
  schema: (errorMessage) =>
    implication(
      { properties: { spec: hasVolumes }, required: ['spec'] },
      {
        properties: {
          metadata: { properties: { name: { pattern: `^.{0,${longestNameWithVolumes}}$`, errorMessage } } },
        },
      },
    ),
  message: `at most ${longestNameWithVolumes} characters with storage.perReplica, because it is part of the names of volumes`,
  field: 'metadata.name',
};
