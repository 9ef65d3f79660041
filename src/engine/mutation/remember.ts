/** What the kind's part of a record has to know about a mutation. */
import type { ObjectRecord } from '../../state/index.ts';

export type RecordedMutation =
  | {
      /** It is about to be sent, and may take effect even if its outcome never arrives. */
      readonly is: 'intended';
      readonly action: string;
      readonly reason: string;
      /** Of the object. */
      readonly generation: number;
      /** Unix milliseconds. */
      readonly at: number;
    }
  | {
      /** It took effect, or it is known that it did not. */
      readonly is: 'applied' | 'withdrawn';
      readonly action: string;
    };

/** The kind's part after the mutation. */
export type Remember = (state: object, mutation: RecordedMutation) => object;

export function remembered(
  record: ObjectRecord,
  remember: Remember | undefined,
  mutation: RecordedMutation,
): ObjectRecord {
  return remember ? { ...record, kind: remember(record.kind, mutation) } : record;
}
