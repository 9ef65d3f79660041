/** A template carries its mark in its description (engine/plan/ownership.ts). */
import type { wire } from '../../api/index.ts';
import { compactUid, readTemplateMark } from '../../engine/plan/index.ts';
import type { Marks } from '../../engine/index.ts';

export const templateMarks: Marks<wire.Template> = {
  of: ({ description }) => {
    const mark = readTemplateMark(description);
    return mark ? [`${mark.ownerId}:${mark.uid}`] : [];
  },
  own: ({ owner, record }) => `${owner.id}:${compactUid(record.uid)}`,
  ownerIn: (mark) => mark.split(':')[0] ?? '',
  byKey({ description }, { owner, record }) {
    const mark = readTemplateMark(description);
    return mark?.keyId === owner.digestKey.id && mark.uid === compactUid(record.uid);
  },
};
