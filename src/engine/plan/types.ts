/**
 * The answers of a planner. A planner is pure: its input is everything that it may read, and its result
 * is the next step for one object, with at most one mutation. Sequences are not coded. Each pass plans again
 * from the current observation.
 */
import type { Action } from '../../actions/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { HandledCommand, OwnerRevision } from '../../state/index.ts';
import type { Cost } from './prices.ts';

export type { Action, ActionName, RegistryCredentials } from '../../actions/index.ts';

export type Plan = InSync | Act | Arrange | Wait | Hold;

interface Outstanding {
  /** All differences between the spec and the observed thing, including those that this plan does not correct. */
  readonly differences: readonly Difference[];
  /** Unix milliseconds. Until then an operator accepts the drift among them, and it is not corrected. */
  readonly driftAcceptedUntil?: number;
}

/** Nothing to do. For a deleted object: nothing is left of it, and the finalizer may be removed. */
export interface InSync extends Outstanding {
  readonly kind: 'in-sync';
  /** When a recheck is needed without any event: an acceptance expires, or a probation ends. */
  readonly recheckAfterMs: number | undefined;
}

/** Take `step`. `later`: the expected steps of the following passes, shown in plans. */
export interface Act extends Outstanding {
  readonly kind: 'act';
  readonly step: Step;
  readonly later: readonly Step[];
}

/**
 * Change what the object remembers, and with it which objects it owns. Nothing is sent, so there is no intent: the record
 * and those of the owned objects are saved in one commit.
 */
export interface Arrange extends Outstanding {
  readonly kind: 'arrange';
  readonly reason: ReasonOf<'doing'>;
  readonly message: string;
  /** What `plan` shows. Undefined: nothing, because it completes an earlier change. */
  readonly change: 'create' | 'scale' | 'update' | 'delete' | 'leave' | undefined;
  /** It records what was found again. Nothing is changed by that, so a preview does it in its copy of the state, and plans on. */
  readonly recalls?: true;
  /** The hourly cost before and after, in a preview. */
  readonly cost?: Cost;
  /** What becomes of the objects that it owns, in a preview. */
  readonly owned?: readonly OwnedChange[];
  /** Data is deleted with those of them that are deleted, in a preview. */
  readonly destroysData?: true;
  /** The kind's part of the record from now on. */
  readonly state: object;
  /** All revisions of what it gives to the objects that it owns. Undefined: as before. */
  readonly revisions?: readonly OwnerRevision[];
  /** What its measurements have found, by the kind of check, for a metric. */
  readonly measured?: readonly { readonly check: string; readonly outcome: string }[];
  /** Only of a preview: it is done without a change of its own, so rules of a policy are asked about the steps of each replica. */
  readonly unjudged?: true;
  /** What is done if rules of a policy deny it. Undefined: nothing. */
  readonly otherwise?: () => Plan;
  /** The operator command that it carries out, or finds outdated. */
  readonly handled?: Omit<HandledCommand, 'at'>;
  /** What is reported once, when the state is saved. */
  readonly news?: readonly { readonly reason: ReasonOf<'event'>; readonly message: string }[];
}

export interface OwnedChange {
  readonly name: string;
  readonly action: 'create' | 'update' | 'replace' | 'delete' | 'leave';
}

/** Something that resolves by itself: provisioning, backoff, capacity, somebody's running task. */
export interface Wait extends Outstanding {
  readonly kind: 'wait';
  readonly reason: ReasonOf<'waiting'>;
  readonly message: string;
  readonly recheckAfterMs: number;
  /** It also needs an operator: reported as stalled, while rechecks continue. */
  readonly stalled?: true;
  /** What is there has failed: `Ready` shows this reason, with the message of the wait. */
  readonly failed?: ReasonOf<'held'>;
  /** The steps that would be taken without the wait. */
  readonly steps: readonly Step[];
  /** Only of a preview: more follows, and it is not known what, nor what it costs. */
  readonly unforeseen?: true;
  /** Its owner lets it drain: it is deleted then. */
  readonly removes?: true;
  /** Of what waits for activities and nothing else: their ids, as far as they are shown. */
  readonly activities?: readonly (string | undefined)[];
}

/**
 * Something that an author or operator must change. Nothing is sent until the spec, credential or account
 * changes.
 */
export interface Hold extends Outstanding {
  readonly kind: 'hold';
  readonly reason: ReasonOf<'held'>;
  readonly message: string;
  /** The field of the document to change, if any. */
  readonly path: readonly (string | number)[] | undefined;
  readonly steps: readonly Step[];
  /** When time makes something else of it due, whatever holds the rest. */
  readonly recheckAfterMs?: number;
}

export interface Step {
  readonly action: Action;
  readonly reason: ReasonOf<'doing'>;
  /** It may interrupt what runs in the service. Activities are read just before it. */
  readonly disruptive: boolean;
  /** The protection that it overrides, because of `disruption: Always`. */
  readonly overrides?: string;
  /** Tasks that the same plan releases. It waits for their activities and nothing else, so it follows. */
  readonly after?: readonly ObjectKey[];
  /** What it deletes holds data, which is deleted with it. */
  readonly destroysData?: true;
  readonly differences: readonly Difference[];
  /** The hourly cost before and after the step, in a preview. */
  readonly cost?: Cost;
}

export interface Difference {
  readonly path: string;
  readonly desired: unknown;
  readonly observed: unknown;
  /** The desired value is the last applied one, so the observed value moved. */
  readonly drift: boolean;
  /** The API does not return the field. The difference is based on what was last applied. */
  readonly hidden?: true;
  /**
   * No visible field differs, but the revision moved. So the field may have changed
   * (kinds/container-service/revision-drift.ts).
   */
  readonly revisionMoved?: true;
  /** The provider may have moved the revision by itself. So the field is not sent again. */
  readonly isReportOnly?: true;
  /** The spec no longer has the field, and the API can't unset it (kinds/container-service/removed-fields.ts). */
  readonly removed?: true;
  /** What the provider's events report about a drift, or what became of its correction. */
  readonly cause?: string;
  /** Of an environment: the names of the variables that have other values now. */
  readonly changedNames?: readonly string[];
  /** Where the value is taken from: `Secret web-keys`. */
  readonly from?: string;
}

/**
 * What is known of the remote thing:
 *
 * - pending: no observation is recent enough to decide.
 * - present: it was read after its last mutation.
 * - absent: an account read that began after the last mutation lacks it. `confirmed`: a read by id agrees.
 * - conflict: something exists that must not be changed.
 */
export type Observation<Value> =
  | { readonly kind: 'pending'; readonly message: string }
  | { readonly kind: 'present'; readonly value: Value }
  /** `message`: why it is not confirmed, if the reason is unusual. */
  | { readonly kind: 'absent'; readonly confirmed: boolean; readonly message?: string }
  | { readonly kind: 'conflict'; readonly reason: ReasonOf<'held'>; readonly message: string };

/** Why a whole class of mutations is stopped for now. */
export type Gate = (
  | {
      readonly kind: 'wait';
      readonly reason: ReasonOf<'waiting'>;
      /** Absent: half a minute. */
      readonly recheckAfterMs?: number;
    }
  | { readonly kind: 'hold'; readonly reason: ReasonOf<'held'> }
) & {
  readonly message: string;
  /** The field of the document to change, if any. */
  readonly path?: readonly (string | number)[];
};

export interface Gates {
  readonly creation: Gate | undefined;
  readonly deletion: Gate | undefined;
  /** For creating, starting and growing what costs money. */
  readonly spending: Gate | undefined;
  /** The same for one step, by its cost. To be evaluated after `spending`. */
  readonly increase?: (step: Step) => Gate | undefined;
}

/** Why a step that costs more has to wait. */
export function spendingGateOf({ spending, increase }: Gates, step: Step): Gate | undefined {
  return spending ?? increase?.(step);
}

/** The pause before a recheck of something that has no watch. */
export const recheckMs = { progress: 1000, protection: 15_000, gate: 30_000 } as const;

/** How long a read of activities counts, from the moment in which it was asked for. */
export const activitiesFreshMs = 60_000;

const nothing: readonly Difference[] = [];

export function inSync(differences = nothing, recheckAfterMs?: number): InSync {
  return { kind: 'in-sync', differences, recheckAfterMs };
}

export function waitFor(
  reason: ReasonOf<'waiting'>,
  message: string,
  rest: {
    recheckAfterMs?: number;
    stalled?: true;
    failed?: ReasonOf<'held'> | undefined;
    steps?: readonly Step[];
    differences?: readonly Difference[];
    activities?: NonNullable<Wait['activities']>;
  } = {},
): Wait {
  const { recheckAfterMs = recheckMs.progress, stalled, failed, steps = [], differences = nothing } = rest;
  const { activities } = rest;
  return {
    kind: 'wait',
    reason,
    message,
    recheckAfterMs,
    steps,
    differences,
    ...(stalled ? { stalled } : {}),
    ...(failed ? { failed } : {}),
    ...(activities ? { activities } : {}),
  };
}

export function holdFor(
  reason: ReasonOf<'held'>,
  message: string,
  rest: {
    path?: readonly (string | number)[];
    steps?: readonly Step[];
    differences?: readonly Difference[];
    recheckAfterMs?: number | undefined;
  } = {},
): Hold {
  const { path, steps = [], differences = nothing, recheckAfterMs } = rest;
  const held: Hold = { kind: 'hold', reason, message, path, steps, differences };
  return recheckAfterMs === undefined ? held : { ...held, recheckAfterMs };
}

export function shut(gate: Gate, steps: readonly Step[], differences: readonly Difference[]): Wait | Hold {
  return gate.kind === 'wait'
    ? waitFor(gate.reason, gate.message, {
        recheckAfterMs: gate.recheckAfterMs ?? recheckMs.gate,
        steps,
        differences,
      })
    : holdFor(gate.reason, gate.message, {
        steps,
        differences,
        ...(gate.path ? { path: gate.path } : {}),
      });
}
