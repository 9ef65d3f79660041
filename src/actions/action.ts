/**
 * What an action is, and what the engine has to know of it. Each mutation of the contract has one entry, in a file by the
 * resource: services.ts, volumes.ts, templates.ts, registries.ts. An entry makes its actions, too: `stopService({ id })`.
 *
 * The engine asks the entry, and compares no names. Where one mutation is meant, its name is `stopService.name`; the names are
 * spelled out in this room only.
 *
 * | property             | who asks                                                                        |
 * |----------------------|---------------------------------------------------------------------------------|
 * | `effect`             | keys of creations, proof of absence, what `resolve` takes: see `effectOf`       |
 * | `request`            | the executor sends it; nothing else of Fleetkeeper changes anything             |
 * | `fields`             | the record: which digests were applied with it                                  |
 * | `isSent`             | the same, where a request may carry only some of its fields                     |
 * | `answersRestart`     | the record: `restartToken` needs no other restart                               |
 * | `evidence`           | settlement of an unknown outcome (engine/plan/settle.ts)                               |
 * | `demand`             | pauses after refusals for funds, room, of a resize (engine/mutation/scarcity.ts)        |
 * | `spends`             | the balance is read again before it is sent (engine/plan/money.ts)                     |
 * | `needsVerifiedEmail` | one gate for the account (engine/plan/money.ts)                                        |
 * | `isRetried`          | whether what is held after a refusal is tried again (engine/mutation/refusals.ts)      |
 * | `verb`               | the output of `plan`                                                            |
 * | `progressive`        | the tables of `apply` and the demo                                              |
 * | `event`              | the Event of a success                                                          |
 *
 * Whether a step is disruptive is not a property of its action: it depends on the state of the service, so planners say it.
 *
 * Planners import this room, so it is pure: an entry calls the client that it is given, and nothing else.
 */
import type { ControlApi, Outcome, wire } from '../api/index.ts';
import type { Sensitive } from '../base/index.ts';
import type { ReasonOf } from '../reasons/index.ts';

type Environment = Sensitive<Readonly<Record<string, string>>>;
export type RegistryCredentials = Sensitive<Readonly<Omit<wire.RegistryCreate, 'repository'>>>;

interface Target {
  readonly id: string;
}
interface RevisedTarget extends Target {
  /** The request rests on it (§4 rule 3). */
  readonly revision: number;
}

/** What an action carries beside its name. Environments and credentials are kept wrapped until they are put on the wire. */
interface Fields {
  readonly 'create-service': {
    /** `resources` undefined: its template gives them, and is not there yet. Such a step only waits. */
    readonly body: Omit<wire.ServiceCreate, 'environment' | 'resources'> & {
      readonly resources: wire.ServiceResources | undefined;
    };
    readonly environment: Environment;
  };
  readonly 'patch-service': RevisedTarget & {
    readonly patch: Omit<wire.ServicePatch, 'environment'>;
    readonly environment: Environment | undefined;
  };
  readonly 'resize-service': Target & { readonly resources: wire.ServiceResources };
  readonly 'set-sleep-policy': Target & { readonly sleepAfterMinutes: number | null };
  readonly 'start-service': Target;
  readonly 'stop-service': Target;
  readonly 'restart-service': Target;
  readonly 'delete-service': Target;
  readonly 'create-volume': { readonly body: wire.VolumeCreate };
  readonly 'update-volume': RevisedTarget & {
    readonly name: string | undefined;
    readonly sizeGb: number | undefined;
  };
  readonly 'delete-volume': Target;
  readonly 'create-template': { readonly body: wire.TemplateSpec };
  readonly 'replace-template': RevisedTarget & { readonly spec: wire.TemplateSpec };
  readonly 'delete-template': RevisedTarget;
  readonly 'create-registry': { readonly repository: string; readonly credentials: RegistryCredentials };
  readonly 'rotate-registry': RevisedTarget & {
    readonly repository: string;
    readonly credentials: RegistryCredentials;
  };
  readonly 'delete-registry': RevisedTarget;
}

export type ActionName = keyof Fields;

/** For several names: one of their actions. */
export type ActionOf<Name extends ActionName> = {
  [Each in Name]: { readonly do: Each } & Fields[Each];
}[Name];

/** One action is one request. */
export type Action = ActionOf<ActionName>;

/** What the answer to an applied mutation shows, as far as the engine needs it. */
export interface Receipt {
  readonly id: string;
  /** Of the object, after what was asked for. */
  readonly revision?: number | undefined;
  /** Of a deletion that the API continues by itself. */
  readonly operationId?: string | undefined;
  /** Of a service. */
  readonly environmentNames?: readonly string[] | null | undefined;
}

/** What shows whether a request with an unknown outcome took effect; engine/plan/settle.ts has the table. */
export type Evidence =
  | { readonly by: 'left' | 'paused' | 'moved' }
  /** `isSingle`: an account can have only one such thing, so a repetition makes no second one. */
  | { readonly by: 'mark'; readonly isSingle?: true }
  /** `paths` of the differences that the action would have removed; `isRevised`: the request carries the revision that it rests on. */
  | { readonly by: 'fields'; readonly paths: RegExp; readonly isRevised: boolean }
  /** `stateless`: such a thing is there or not, and shows no deletion under way. */
  | { readonly by: 'gone'; readonly stateless?: true };

export type Effect = 'create' | 'change' | 'delete';

/** Actions in the output of `plan`. */
export type Verb =
  | 'create'
  | 'update'
  | 'resize'
  | 'set-sleep-policy'
  | 'start'
  | 'stop'
  | 'restart'
  | 'delete';

export interface ActionEntry<Name extends ActionName = ActionName> {
  readonly name: Name;
  readonly effect: Effect;
  request(api: ControlApi, action: ActionOf<Name>, idempotencyKey: string): Promise<Outcome<Receipt>>;
  /** Those that it brings to the desired value, by their names in `applied`. */
  readonly fields: readonly string[] | 'all';
  /** Without it, each of `fields` is in the request. */
  isSent?(action: ActionOf<Name>, field: string): boolean;
  /** The container starts anew. */
  readonly answersRestart?: true;
  readonly evidence: Evidence;
  /** What it needs of the provider's stock; without it: the action on its target. */
  demand?(action: ActionOf<Name>): object;
  /** It may cost more than there was before. */
  readonly spends: boolean;
  /** §5.4, §3 rule 2. */
  readonly needsVerifiedEmail: boolean;
  /** Held after a refusal, it is tried again: no edit of a document makes it another request, or a service may be paused until then. */
  isRetried?(action: ActionOf<Name>): boolean;
  readonly verb: Verb;
  readonly progressive: string;
  readonly event: ReasonOf<'event'>;
}

/** What all creations have in common. */
export const creation = {
  effect: 'create',
  fields: 'all',
  verb: 'create',
  progressive: 'creating',
  event: 'Created',
} as const;

/** What all deletions have in common. */
export const deletion = {
  effect: 'delete',
  fields: [],
  spends: false,
  needsVerifiedEmail: false,
  isRetried: () => true,
  verb: 'delete',
  progressive: 'deleting',
  event: 'Deleted',
} as const;

/** The entry, which is a function that makes such an action of its fields. */
export type DefinedAction<Name extends ActionName> = ActionEntry<Name> &
  ((fields: Fields[Name]) => ActionOf<Name>);

export function defineAction<const Name extends ActionName>(entry: ActionEntry<Name>): DefinedAction<Name> {
  const make = (fields: Fields[Name]) => ({ do: entry.name, ...fields });
  // Not `Object.assign`: `name` of a function can only be defined.
  return Object.defineProperties(make, Object.getOwnPropertyDescriptors(entry)) as DefinedAction<Name>;
}
