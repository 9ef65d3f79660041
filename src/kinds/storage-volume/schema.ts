import { z } from 'zod';
import { constrained } from '../../resources/parts/constraints.ts';
import {
  accountRef,
  adopt,
  deletionPolicy,
  driftPolicy,
  fittingName,
  geography,
  kindSchema,
  region,
} from '../../resources/parts/fields.ts';

/** Room left in a volume's name (§8: 64 characters) for the ownership mark that is put behind it. */
export const volumeMarkLength = 16;
const longestName = 64 - volumeMarkLength;

const storageVolumeSpec = z.strictObject({
  accountRef,
  volumeName: z
    .string()
    .min(1)
    .max(
      longestName,
      `at most ${longestName} characters: the API allows 64, of which the ownership mark needs ${volumeMarkLength}`,
    )
    .optional()
    .describe('Its name at the provider, where an ownership mark is put behind it; default metadata.name.'),
  region,
  geography,
  sizeGb: z.int().min(10).max(4096).describe('Size in GB (§8). It may grow, and never shrinks.'),
  expansion: z
    .enum(['Never', 'PauseService'])
    .default('Never')
    .describe('Whether the attached service may be paused for it to grow, and is started again (§3 rule 5).'),
  driftPolicy,
  deletionPolicy: deletionPolicy
    .default('Retain')
    .describe(
      'What becomes of the volume when this object is deleted: it stays, unmanaged, or is deleted with its files once nothing is attached.',
    ),
  adopt,
});
export type StorageVolumeSpec = z.infer<typeof storageVolumeSpec>;

/** Without a `volumeName`, the object's own name is the volume's, and has to leave room for the mark, too. */
export const storageVolumeDocument = constrained(
  kindSchema('StorageVolume', storageVolumeSpec, 'Storage at the provider that exists without compute.'),
  fittingName(longestName, 'volumeName', 'volume'),
);
