/**
 * The four answers of a planner. A planner is pure: it gets everything that it may read, and returns the next step
 * for one object, at most one mutation. Sequences are not coded: each pass plans anew from what is then observed.
 */
import type { Action } from '../../actions/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import type { Cost } from './prices.ts';

export type { Action, ActionName, RegistryCredentials } from '../../actions/index.ts';

export type Plan = InSync | Act | Wait | Hold;

interface Outstanding {
  /** Everything in which the observed object is not as desired, also what this plan does not act on. */
  readonly differences: readonly Difference[];
  /** Unix milliseconds: until then a person accepts the drift among them, and it is left so. */
  readonly driftAcceptedUntil?: number;
}

/** Nothing to do. For an object that is being deleted: nothing is left of it, the finalizer may go. */
export interface InSync extends Outstanding {
  readonly kind: 'in-sync';
  /** When time alone can change that: an acknowledgement runs out, a probation ends. */
  readonly recheckAfterMs: number | undefined;
}

/** Carry out `step`; `later` is what the following passes are expected to do, for people who read plans. */
export interface Act extends Outstanding {
  readonly kind: 'act';
  readonly step: Step;
  readonly later: readonly Step[];
}

/** Something that passes by itself: provisioning, backoff, capacity, somebody's running task. */
export interface Wait extends Outstanding {
  readonly kind: 'wait';
  readonly reason: ReasonOf<'waiting'>;
  readonly message: string;
  readonly recheckAfterMs: number;
  /** It also needs a person: reported as stalled, while rechecks continue. */
  readonly stalled?: true;
  /** What would be done if it had not to wait. */
  readonly steps: readonly Step[];
}

/** Something that a person must change; nothing is sent until spec, credential or account changes. */
export interface Hold extends Outstanding {
  readonly kind: 'hold';
  readonly reason: ReasonOf<'held'>;
  readonly message: string;
  /** The field of the document that is to be changed, if it is one. */
  readonly path: readonly (string | number)[] | undefined;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly action: Action;
  readonly reason: ReasonOf<'doing'>;
  /** It may interrupt what runs in the service; activities are read just before. */
  readonly disruptive: boolean;
  /** What it interrupts in spite of a protection, because of `disruption: Always`. */
  readonly overrides?: string;
  readonly differences: readonly Difference[];
  /** What an hour costs before it and after it; of a preview. */
  readonly cost?: Cost;
}

export interface Difference {
  readonly path: string;
  readonly desired: unknown;
  readonly observed: unknown;
  /** The desired value is the one last applied: it is the observed one that moved. */
  readonly drift: boolean;
  /** The API does not return the field: this rests on what was last applied, not on what is observed. */
  readonly hidden?: true;
  /** Nothing visible differs: the revision moved, and the field may have been changed (kinds/container-service/revision-drift.ts). */
  readonly doubt?: true;
  /** It may as well have moved by itself: it is not sent again for that. */
  readonly onlyTold?: true;
  /** The document does not give the field any more, and the API has no way to unset it (kinds/container-service/removed-fields.ts). */
  readonly removed?: true;
  /** What the provider's events say of a drift. */
  readonly cause?: string;
}

/**
 * What is known of the remote object:
 *
 * - pending: nothing that is new enough to decide from;
 * - present: read after the last mutation of it;
 * - absent: not in an account read that began after the last mutation; `confirmed` when a read by id agrees;
 * - conflict: there is something that must not be changed.
 */
export type Observation<Value> =
  | { readonly kind: 'pending'; readonly message: string }
  | { readonly kind: 'present'; readonly value: Value }
  /** `message`: why it is not confirmed, where that is not the usual reason. */
  | { readonly kind: 'absent'; readonly confirmed: boolean; readonly message?: string }
  | { readonly kind: 'conflict'; readonly reason: ReasonOf<'held'>; readonly message: string };

/** Why a whole class of mutations is stopped for now. */
export type Gate = (
  | { readonly kind: 'wait'; readonly reason: ReasonOf<'waiting'> }
  | { readonly kind: 'hold'; readonly reason: ReasonOf<'held'> }
) & {
  readonly message: string;
  /** The field of the document that is to be changed, if it is one. */
  readonly path?: readonly (string | number)[];
};

export interface Gates {
  readonly creation: Gate | undefined;
  readonly deletion: Gate | undefined;
  /** Creating, starting and growing what costs. */
  readonly spending: Gate | undefined;
  /** The same for one step, by what that costs; to be asked after `spending`. */
  readonly increase?: (step: Step) => Gate | undefined;
}

/** Why a step that costs more has to wait. */
export function spendingGateOf({ spending, increase }: Gates, step: Step): Gate | undefined {
  return spending ?? increase?.(step);
}

/** How long to wait before a recheck of something that has no watch. */
export const recheckMs = { progress: 1000, protection: 15_000, gate: 30_000 } as const;

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
    steps?: readonly Step[];
    differences?: readonly Difference[];
  } = {},
): Wait {
  const { recheckAfterMs = recheckMs.progress, stalled, steps = [], differences = nothing } = rest;
  return {
    kind: 'wait',
    reason,
    message,
    recheckAfterMs,
    steps,
    differences,
    ...(stalled ? { stalled } : {}),
  };
}

export function holdFor(
  reason: ReasonOf<'held'>,
  message: string,
  rest: {
    path?: readonly (string | number)[];
    steps?: readonly Step[];
    differences?: readonly Difference[];
  } = {},
): Hold {
  const { path, steps = [], differences = nothing } = rest;
  return { kind: 'hold', reason, message, path, steps, differences };
}

export function shut(gate: Gate, steps: readonly Step[], differences: readonly Difference[]): Wait | Hold {
  return gate.kind === 'wait'
    ? waitFor(gate.reason, gate.message, { recheckAfterMs: recheckMs.gate, steps, differences })
    : holdFor(gate.reason, gate.message, {
        steps,
        differences,
        ...(gate.path ? { path: gate.path } : {}),
      });
}
