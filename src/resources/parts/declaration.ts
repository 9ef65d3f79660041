/**
 * What all rooms may know of a kind: how it is written, how a cluster serves and shows it, and its traits. Each kind declares itself
 * (kinds/KIND/declaration.ts). Code outside kinds/ asks for a trait, and never compares with the name of a kind.
 */
import type { z } from 'zod';
import type { BudgetInForce, BudgetTerms, StoredLeft, StoredShedding, StoredTally } from './budget.ts';
import type { Column } from './columns.ts';
import type { CommandVerbs } from './commands.ts';
import type { CelRule } from './constraints.ts';
import type { kindSchema } from './fields.ts';
import type { KindStateDeclaration } from './kind-state.ts';
import type { Announcing } from './notification.ts';

/** The lists in which an account shows what it has. */
export type RemoteList = 'services' | 'volumes' | 'templates' | 'registries';

/** Another object of the same namespace, by its name. */
export interface Reference<Kind extends string = string> {
  readonly kind: Kind;
  readonly name: string;
}

/** Keys of a Secret or a ConfigMap of the same namespace. */
export interface DataReference {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly keys: readonly string[];
}

/**
 * Where the account of an object is found: it is the account `itself`; its `accountRef` names it; or it is that of the object to which the
 * field `reference` refers.
 */
export type Home<Referred extends string = string> =
  | 'itself'
  | 'accountRef'
  | { readonly kind: Referred; readonly reference: string };

/** What an object asks the provider for that has a price. */
export interface Asked {
  readonly region: string;
  readonly geography?: string | undefined;
  readonly compute?:
    | { readonly gpuCount: number; readonly cpu: number; readonly memoryGb: number }
    | undefined;
  readonly storageGb?: number;
}

/** Where an object has its wanted size, its present one, and the labels of what it consists of. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string;
}

export interface Traits<Name extends string, Spec, Referred extends string, State extends object> {
  readonly name: Name;
  /** As in the path of a cluster's API. */
  readonly plural: string;
  readonly shortName: string;
  /** What one is called in messages, among others of its kind: `service`. */
  readonly noun: string;
  /** Where the account shows what the objects stand for; absent: they stand for nothing at the provider. */
  readonly list?: RemoteList;
  readonly home: Home<Referred>;
  /** The names of all Accounts in which it may have something; absent: its own. */
  accounts?(spec: Spec): readonly string[];
  /** Of the spec: the name at the provider, where it is not the object's own. */
  readonly nameField?: string;
  /**
   * What to write instead of a field of another tool, or of a value in another form, by the path at which it is written: `spec.ports`,
   * `spec.env[].value`.
   */
  readonly hints?: Readonly<Record<string, string>>;
  /** The kinds of other tools for such a thing: `Deployment`. */
  readonly alsoCalled?: readonly string[];
  /** Some things of the kind belong to the provider. An object may refer to them as to those that are declared. */
  readonly hasBuiltIns?: true;
  /** In a cluster its size is read and written at `/scale`. Paths as in a CustomResourceDefinition. */
  readonly scale?: ScalePaths;
  /** Deleting many of them in a cluster at once destroys nothing; default: the mass-change brake counts them. */
  readonly countsForBrake?: false;

  /** The operator commands that its objects take. */
  readonly commands?: CommandVerbs;

  references?(spec: Spec): readonly Reference<Referred>[];
  /** The Secrets and ConfigMaps whose values it uses. */
  data?(spec: Spec): readonly DataReference[];
  /** The Job of the same namespace with which it ends. */
  job?(spec: Spec): string | undefined;
  asks?(spec: Spec, state: State): Asked;
  /** The labels of what it owns. */
  labelsOfOwned?(spec: Spec): Readonly<Record<string, string>>;
  /** How many services it is to own at a moment (Unix milliseconds), and when that changes next; infinite: never. */
  ownedAt?(spec: Spec, state: State, atMs: number): { readonly count: number; readonly changesAt: number };
  /** What each of them is to ask for, where it would be first. */
  asksOfOwned?(spec: Spec): Asked;
  /** It is to cost nothing for now. */
  isAtRest?(spec: Spec): boolean;
  /** What it limits, of a budget, what was counted so far, what is stopped for it, and what was left that it counts. */
  budget?(
    spec: Spec,
    state: State,
  ): {
    readonly terms: BudgetTerms;
    readonly tally: StoredTally | undefined;
    readonly shedding: StoredShedding | undefined;
    readonly left: readonly StoredLeft[] | undefined;
  };
  /** With that left at the provider which it counts. */
  withLeft?(state: State, left: readonly StoredLeft[]): State;
  /** What is shown of its terms. `spec`: as it was stored, by whatever version, or as anybody has written it. */
  budgetInForce?(spec: Partial<Spec>, state: State): BudgetInForce;
  /** What it announces, and to whom. */
  announces?(spec: Spec): Announcing;
  /** What was counted of an account, or of what a budget is about. */
  spent?(state: State): StoredTally | undefined;
  /** The spec without values that may be secret, as it is stored; default: all of it. */
  stored?(spec: Spec): object;

  readonly state: KindStateDeclaration<State>;

  /** What `kubectl get` shows. */
  readonly columns: readonly Column[];
  /** The fields by which `kubectl` can select. */
  readonly selectable: readonly string[];
  readonly status: z.ZodType;
  /** Changes that a cluster refuses. */
  readonly transitions: readonly CelRule[];
}

export interface Declaration<
  Name extends string,
  Spec extends z.ZodType,
  Referred extends string,
  State extends object,
> extends Traits<Name, z.output<Spec>, Referred, State> {
  readonly document: ReturnType<typeof kindSchema<Name, Spec>>;
}

export function declareKind<
  const Name extends string,
  Spec extends z.ZodType,
  const Referred extends string = never,
  State extends object = object,
>(declaration: Declaration<Name, Spec, Referred, State>): Declaration<Name, Spec, Referred, State> {
  return declaration;
}
