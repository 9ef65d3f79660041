/**
 * What was found by its mark, and of which no record shows what was applied: a run without a kept state, or after a lost one. Nobody can tell
 * there whether a difference comes from the document or from somebody else. Where drift is only reported, such a difference is.
 */
import type { ObjectRecord } from '../../state/index.ts';
import type { Difference } from './types.ts';

interface Unrecorded {
  readonly record: Pick<ObjectRecord, 'applied'>;
  readonly object: {
    readonly spec: { readonly driftPolicy?: 'Correct' | 'Report'; readonly adopt?: object | undefined };
  };
}

/** What is adopted is to become what its document has. */
export function reportsUnrecorded({ record, object: { spec } }: Unrecorded): boolean {
  return spec.driftPolicy === 'Report' && !spec.adopt && Object.keys(record.applied).length === 0;
}

/** Hidden values are sent, as ever: nobody can see that they differ. */
export function withUnrecorded(inputs: Unrecorded, differences: readonly Difference[]): Difference[] {
  if (!reportsUnrecorded(inputs)) return [...differences];
  return differences.map((difference) =>
    difference.hidden ? difference : Object.assign({}, difference, { drift: true }),
  );
}
