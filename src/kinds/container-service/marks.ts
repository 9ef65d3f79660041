/** A service carries its mark as the name of a variable (engine/plan/ownership.ts). */
import type { wire } from '../../api/index.ts';
import { compactUid, markedUid, parseBeacon, readMark } from '../../engine/plan/index.ts';
import type { Marks } from '../../engine/index.ts';

export const serviceMarks: Marks<wire.Service> = {
  of: ({ environmentNames }) =>
    (environmentNames ?? []).flatMap((name) => {
      const beacon = parseBeacon(name);
      return beacon ? [`${beacon.ownerId}:${beacon.uid}`] : [];
    }),
  own: ({ owner, record }) => `${owner.id}:${compactUid(markedUid(record))}`,
  ownerIn: (mark) => mark.split(':')[0] ?? '',
  byKey: ({ environmentNames }, { owner, record }) =>
    readMark(environmentNames, owner, markedUid(record)).ours?.keyId === owner.digestKey.id,
  keyIds: ({ environmentNames }) =>
    (environmentNames ?? []).flatMap((name) => parseBeacon(name)?.keyId ?? []),
};
