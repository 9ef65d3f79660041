import type { Target } from './mutation/index.ts';
import {
  holdFor,
  inSync,
  keepsChangingReason,
  unsettled,
  waitFor,
  type DescribedDuplicate,
  type Difference,
  type Gate,
  type Plan,
  type RosterPlan,
  type Step,
} from './plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { ObjectGone, type ObjectRecord } from '../state/index.ts';
import type { ObjectNews } from './money/money.ts';
import type { AnyRemote } from './kind.ts';
import type { Pass } from './pass.ts';
import type { Wake } from './wake.ts';

export interface PassResult {
  readonly plan: Plan;
  readonly wake: Wake;
  readonly statusChanged: boolean;
  /** The object is gone for good. */
  readonly removed: boolean;
  /** The id of the thing that it leaves at the provider (`deletionPolicy: Retain`). */
  readonly leaves?: string;
  /** Other objects to recheck because of this pass. */
  readonly wakes?: readonly ObjectKey[];
  /** Other things that carry the object's mark. */
  readonly duplicates?: readonly DescribedDuplicate[];
  /** What is reported of the object once. */
  readonly news?: readonly ObjectNews[];
  /** Only of a preview: steps of later passes that change what it costs. */
  readonly follows?: readonly Step[];
  /** Only of a preview. */
  readonly foreseen?: Foreseen;
}

/** In a cluster, an object may vanish during its pass. One that has its name now has a pass of its own. */
export function passedOver(
  error: unknown,
  uid: string | undefined,
  now: ObjectRecord | undefined,
): PassResult {
  if (!(error instanceof ObjectGone) || (now && now.uid === uid)) throw error;
  return { plan: inSync(), wake: { kind: 'now' }, statusChanged: false, removed: !now };
}

/** What follows the plan of a preview, as far as it can be known. */
export interface Foreseen {
  /** The steps of later passes, behind those of the plan. */
  readonly later: readonly Step[];
  /** Of an object that owns others. Undefined: it owns none, or nobody knows yet what becomes of them. */
  readonly roster: RosterPlan | undefined;
  /** The thing as it was observed. */
  readonly value: AnyRemote | undefined;
}

/** The result of a pass, and what to record of it. */
export interface Decision {
  readonly plan: Plan;
  readonly settled: Partial<ObjectRecord>;
}

/** What is in sync is recorded as of this moment. An edit during the pass has not been applied. */
export function decide(pass: Pass, plan: Plan, nowMs: number): Decision {
  if (plan.kind !== 'in-sync') return undecided(plan);
  const record = pass.record();
  const pause = record.deletionRequestedAt === undefined ? unsettled(record, nowMs) : undefined;
  const { differences } = plan;
  const replaced =
    pause &&
    waitFor(keepsChangingReason, pause.message, {
      recheckAfterMs: pause.leftMs + 1,
      stalled: true,
      differences,
    });
  return { plan: replaced ?? plan, settled: pass.settledRecord(plan) };
}

export function undecided(plan: Plan): Decision {
  return { plan, settled: {} };
}

/** Adds all unconfirmed fields, of which this request may settle some. */
export function withUnconfirmed(target: Target, differences: readonly Difference[]): Target {
  const paths = differences.filter(({ revisionMoved }) => revisionMoved).map(({ path }) => path);
  if (paths.length === 0) return target;
  const doubted = [...new Set([...target.record.doubted, ...paths])];
  return { ...target, record: { ...target.record, doubted } };
}

export function fromGate(gate: Gate): Plan {
  return gate.kind === 'wait' ? waitFor(gate.reason, gate.message) : holdFor(gate.reason, gate.message);
}
