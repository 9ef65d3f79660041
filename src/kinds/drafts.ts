/** Fields of imported documents. Every field is written as it is observed, so that a plan of the document finds nothing to do. */
import type { Gap, Place } from '../engine/index.ts';

export function accountRef({ account }: Place): object {
  return account === 'default' ? {} : { accountRef: { name: account } };
}

/** It stays when its document is removed. */
export function adopted(id: string): object {
  return { deletionPolicy: 'Retain', adopt: { id } };
}

/** The group of regions that was asked for is not shown, only where it led to. */
export function geographyGap(geography: string | null | undefined): Gap[] {
  if (!geography) return [];
  return [
    {
      field: 'geography',
      why: 'what was asked for is not shown; it led to this one',
      example: [`geography: ${JSON.stringify(geography)}`],
    },
  ];
}

/** The API's null is "none", which a document expresses by omitting the field. */
export function present<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

export function listed(value: readonly string[] | null | undefined): readonly string[] | undefined {
  return value && value.length > 0 ? value : undefined;
}
