/**
 * What all of the code may know of a kind, whatever it does with it: how it is written, how a cluster serves and shows it, and its traits.
 * Each kind declares itself (kinds/KIND/declaration.ts). Code outside kinds/ asks for a trait, and never compares with the name of a kind.
 */
import type { z } from 'zod';
import type { Column } from './columns.ts';
import type { CelRule } from './constraints.ts';
import type { kindSchema } from './fields.ts';

type KindDocument<Name extends string, Spec extends z.ZodType> = ReturnType<typeof kindSchema<Name, Spec>>;

/** The lists in which an account shows what it has. */
export type RemoteList = 'services' | 'volumes' | 'templates' | 'registries';

export interface Declaration<
  Name extends string = string,
  Spec extends z.ZodType = z.ZodType<object>,
  List extends RemoteList | undefined = RemoteList | undefined,
> {
  readonly name: Name;
  /** As in the path of a cluster's API. */
  readonly plural: string;
  readonly shortName: string;
  readonly document: KindDocument<Name, Spec>;
  /** Where the account shows what the objects stand for; undefined: they stand for nothing at the provider. */
  readonly list: List;
  /** Of the spec: the name at the provider, where it is not the object's own. */
  readonly nameField?: string;

  /** What `kubectl get` shows. */
  readonly columns: readonly Column[];
  /** The fields by which `kubectl` can select. */
  readonly selectable: readonly string[];
  readonly status: z.ZodType;
  /** Changes that a cluster refuses. */
  readonly transitions: readonly CelRule[];
}

export function declareKind<
  const Name extends string,
  Spec extends z.ZodType,
  const List extends RemoteList | undefined,
>(declaration: Declaration<Name, Spec, List>): Declaration<Name, Spec, List> {
  return declaration;
}
