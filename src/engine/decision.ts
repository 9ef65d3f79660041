import type { Target } from './mutation/index.ts';
import {
  holdFor,
  keepsChangingReason,
  unsettled,
  waitFor,
  type DescribedDuplicate,
  type Difference,
  type Gate,
  type Plan,
} from './plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { Pass } from './pass.ts';
import type { Wake } from './wake.ts';

export interface PassResult {
  readonly plan: Plan;
  readonly wake: Wake;
  readonly statusChanged: boolean;
  /** The object is gone for good. */
  readonly removed: boolean;
  /** The id of what it leaves at the provider (`deletionPolicy: Retain`). */
  readonly leaves?: string;
  /** Others that are to be looked at for what this pass came to. */
  readonly wakes?: readonly ObjectKey[];
  /** What carries the object's mark beside what is recorded. */
  readonly duplicates?: readonly DescribedDuplicate[];
}

/** What a pass came to, and what is to be remembered of it. */
export interface Decision {
  readonly plan: Plan;
  readonly settled: Partial<ObjectRecord>;
}

/** What is found to be as desired is remembered as of this moment: an edit that comes while the pass goes on has not been carried out. */
export function decide(pass: Pass, plan: Plan, nowMs: number): Decision {
  if (plan.kind !== 'in-sync') return undecided(plan);
  const record = pass.record();
  const pause = record.deletionRequestedAt === undefined ? unsettled(record, nowMs) : undefined;
  const { differences } = plan;
  const told =
    pause &&
    waitFor(keepsChangingReason, pause.message, {
      recheckAfterMs: pause.leftMs + 1,
      stalled: true,
      differences,
    });
  return { plan: told ?? plan, settled: pass.settledRecord(plan) };
}

export function undecided(plan: Plan): Decision {
  return { plan, settled: {} };
}

/** All that is in doubt, of which this request may settle a part. */
export function withDoubts(target: Target, differences: readonly Difference[]): Target {
  const paths = differences.filter(({ doubt }) => doubt).map(({ path }) => path);
  if (paths.length === 0) return target;
  const doubted = [...new Set([...target.record.doubted, ...paths])];
  return { ...target, record: { ...target.record, doubted } };
}

export function fromGate(gate: Gate): Plan {
  return gate.kind === 'wait' ? waitFor(gate.reason, gate.message) : holdFor(gate.reason, gate.message);
}
