/** StorageVolume: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { fixed, sameAccount, sameGeography, sameRegion } from '../../resources/parts/transitions.ts';
import { volumeHints } from './schema-hints.ts';
import { storageVolumeDocument } from './schema.ts';

const notSmaller =
  'self.spec.sizeGb >= oldSelf.spec.sizeGb || !has(oldSelf.status) || !has(oldSelf.status.sizeGb) || ' +
  'self.spec.sizeGb >= oldSelf.status.sizeGb';
import { noState } from '../../resources/parts/kind-state.ts';

export const storageVolume = declareKind({
  name: 'StorageVolume',
  plural: 'storagevolumes',
  shortName: 'svol',
  noun: 'volume',
  document: storageVolumeDocument,
  hints: volumeHints,
  alsoCalled: ['PersistentVolumeClaim', 'PersistentVolume', 'Volume', 'Disk'],
  list: 'volumes',
  home: 'accountRef',
  asks: ({ region, geography, sizeGb }) => ({ region, geography, storageGb: sizeGb }),
  nameField: 'volumeName',
  state: noState,
  columns: [
    columns.state,
    columns.ready,
    columns.whole('GB', '.status.sizeGb', 'Its size.'),
    columns.drift,
    columns.created,
    columns.wide(columns.whole('Wanted', '.spec.sizeGb', 'The size that it is to have, in GB.')),
    columns.wide(
      columns.text('Attached', '.status.serviceId', 'The id of the service that it is attached to.'),
    ),
    columns.account,
    columns.id,
    columns.reason,
  ],
  selectable: [...columns.inAccount, '.status.state'],
  status: z.object({
    ...status.common(),
    state: status.state('volume'),
    region: status.shownText.describe('Its region, as the provider shows it.'),
    geography: status.shownText.describe('Where it is, as the provider resolved it.'),
    sizeGb: status.count.describe('Its size in GB.'),
    requestedSizeGb: status.count.describe('The size in GB that it is to have.'),
    provisioned: z.boolean().optional().describe('Whether storage is held for it.'),
    serviceId: status.text.describe('The id of the service that it is attached to.'),
    hourlyMicros: status.micros('What it costs in an hour now'),
  }),
  transitions: [
    fixed('volume', 'accountRef', sameAccount),
    fixed('volume', 'region', sameRegion),
    fixed('volume', 'geography', sameGeography),
    {
      rule: notSmaller,
      message: 'a volume never shrinks; sizeGb must be at least the size that it has (status.sizeGb)',
      fieldPath: '.spec.sizeGb',
    },
  ],
});
