/**
 * The documents that people write: our kinds (group `fleetkeeper.dev`) and the two core kinds that they
 * refer to. Our kinds are strict: an unknown field is an error with its path. Defaults are filled in here,
 * so that the rest of the engine never asks twice.
 */
import { z } from 'zod';
import { declarations } from '../kinds/declarations.ts';
import { objectName } from './parts/fields.ts';
import { forEachKind, type ManagedKind } from './keys.ts';
import { traitsOf } from './traits.ts';

type Declarations = typeof declarations;

/** The schema of each kind's document. */
export const documents = forEachKind((kind) => declarations[kind].document) as {
  readonly [Kind in ManagedKind]: Declarations[Kind]['document'];
};

export type Specs = {
  [Kind in ManagedKind]: z.output<Declarations[Kind]['document']>['spec'];
};

/** The name under which an object is created at the provider, without any mark. */
export function remoteName(kind: ManagedKind, name: string, spec: object): string {
  const { nameField } = traitsOf(kind);
  const value = nameField === undefined ? undefined : (spec as Record<string, unknown>)[nameField];
  return typeof value === 'string' ? value : name;
}

// ---- core kinds --------------------------------------------------------------------------------------

const coreMetadata = z.looseObject({
  name: objectName,
  namespace: objectName.default('default'),
  annotations: z.record(z.string(), z.unknown()).nullish(),
});
const text = z.string({ error: 'must be a string; quote numbers and booleans' });

export const secretDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: coreMetadata,
  data: z.record(z.string(), z.base64('must be base64; plain text belongs under stringData')).nullish(),
  stringData: z.record(z.string(), text).nullish(),
});

export const configMapDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: coreMetadata,
  data: z.record(z.string(), text).nullish(),
});
