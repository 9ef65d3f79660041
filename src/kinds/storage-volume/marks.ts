/** A volume carries its mark in its name (engine/plan/ownership.ts). */
import type { wire } from '../../api/index.ts';
import { readVolumeMark, markedUid, volumeMark, volumeMarkId } from '../../engine/plan/index.ts';
import type { Marks } from '../../engine/index.ts';

export const volumeMarks: Marks<wire.Volume> = {
  isShort: true,
  of: ({ name }) => {
    const mark = readVolumeMark(name);
    return mark === undefined ? [] : [volumeMarkId(mark)];
  },
  own: ({ owner, record }) => volumeMarkId(volumeMark(owner, markedUid(record))),
  ownerIn: (mark) => mark.slice(1),
  byKey: ({ name }, { owner, record }) => readVolumeMark(name) === volumeMark(owner, markedUid(record)),
  keyIds: () => [],
};
