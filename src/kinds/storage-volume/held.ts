/** Volumes of an account, whoever made them: what `inventory` shows of them, and the documents that `import` writes. */
import type { wire } from '../../api/index.ts';
import type { HeldThings, ImportContext, Place, SpecDraft } from '../../engine/index.ts';
import { readVolumeMark, volumeBurn } from '../../engine/plan/index.ts';
import { accountRef, adopted, geographyGap, present } from '../drafts.ts';

export const heldVolumes: HeldThings<wire.Volume> = {
  name: ({ name }) => name,
  state: ({ status }) => status,
  burn: volumeBurn,
  isGoing: ({ status }) => status === 'deleting',
  isPart: isServiceOwned,
  wholeOf: ({ id, serviceId }, { services }) =>
    services.find((service) => service.id === serviceId || service.volumeId === id)?.id,
  imported: 'first',
  // Without a `volumeName` the object's name is the volume's, and has to leave room for the mark.
  longestName: 48,
  bestName(name) {
    const mark = readVolumeMark(name);
    return mark === undefined ? name : name.slice(0, -mark.length);
  },
  draft,
};

/** `independent` is the one mode that is documented (§2); one that names no mode and a service may be either. */
export function isServiceOwned({ mode, serviceId }: wire.Volume): boolean {
  return mode === undefined || mode === null ? typeof serviceId === 'string' : mode !== 'independent';
}

function draft(volume: wire.Volume, place: Place, { quote }: ImportContext): SpecDraft {
  const marked = readVolumeMark(volume.name) !== undefined;
  return {
    spec: {
      ...accountRef(place),
      // With another owner's mark behind it, the name is that owner's to give.
      volumeName: marked ? undefined : volume.name,
      region: present(volume.region),
      sizeGb: present(volume.requestedSizeGb ?? volume.sizeGb),
      ...adopted(volume.id),
    },
    needed: ['region', 'sizeGb'],
    gaps: [
      ...geographyGap(volume.geography),
      ...(marked ? [{ field: 'volumeName', why: `it is ${quote(volume.name)}, mark included` }] : []),
    ],
  };
}
