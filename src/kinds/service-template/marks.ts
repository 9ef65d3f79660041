/** A template carries its mark in its description (engine/plan/ownership.ts). */
import type { wire } from '../../api/index.ts';
import { compactUid, markedUid, readTemplateMark } from '../../engine/plan/index.ts';
import type { Marks } from '../../engine/index.ts';

export const templateMarks: Marks<wire.Template> = {
  of: ({ description }) => {
    const mark = readTemplateMark(description);
    return mark ? [`${mark.ownerId}:${mark.uid}`] : [];
  },
  own: ({ owner, record }) => `${owner.id}:${compactUid(markedUid(record))}`,
  ownerIn: (mark) => mark.split(':')[0] ?? '',
  byKey({ description }, { owner, record }) {
    const mark = readTemplateMark(description);
    return mark?.keyId === owner.digestKey.id && mark.uid === compactUid(markedUid(record));
  },
  keyIds({ description }) {
    const mark = readTemplateMark(description);
    return mark ? [mark.keyId] : [];
  },
};
