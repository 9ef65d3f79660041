/**
 * What else decides whether something is done, beside the planners: a plan that people have reviewed, of which nothing else may be
 * done (plan-file/guard.ts). It is asked before a step is recorded, once more just before its request leaves, and before a change
 * of a roster is saved.
 */
import type { DesiredObject } from '../desired/index.ts';
import { holdFor, type Plan, type RosterPlan, type Step } from './plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Decision, PassResult } from './decision.ts';
import type { Money } from './money/money.ts';
import type { AnyRemote } from './kind.ts';
import type { Pass } from './pass.ts';

export interface GuardedStep {
  readonly key: ObjectKey;
  readonly step: Step;
  readonly record: ObjectRecord;
  /** Undefined: its document is gone. */
  readonly object: DesiredObject | undefined;
  /** What the API shows of it. Undefined: it is not there, or not known. */
  readonly value: AnyRemote | undefined;
}

export interface StepGuard {
  /** The digest of the plan, which intents record. */
  readonly planFile?: string;
  /** Why the step must not be taken. Undefined: it may be. */
  refusesStep(step: GuardedStep): string | undefined;
  /** The same of a pass of an object that owns others. `roster` undefined: what it leads to is not known. */
  refusesRoster(key: ObjectKey, roster: RosterPlan | undefined): string | undefined;
}

interface Guarded {
  readonly guard?: StepGuard | undefined;
  readonly fleet: {
    readonly snapshot: { readonly objects: { get(key: ObjectKey): DesiredObject | undefined } };
  };
}

const reason = 'NotInPlan';

export function refusedStep({ guard, fleet }: Guarded, pass: Pass, step: Step): Plan | undefined {
  const object = fleet.snapshot.objects.get(pass.key);
  const observation = pass.observation();
  const value = observation.kind === 'present' ? observation.value : undefined;
  const message = guard?.refusesStep({ key: pass.key, step, record: pass.record(), object, value });
  return message === undefined ? undefined : holdFor(reason, message, { steps: [step] });
}

export function rosterGuard({ guard }: Guarded, pass: Pass): (decision: Decision) => Decision {
  return (decision) => {
    if (!guard || !pass.kind.roster) return decision;
    const message = guard.refusesRoster(pass.key, pass.roster(decision.plan));
    return message === undefined ? decision : { ...decision, plan: holdFor(reason, message) };
  };
}

interface Previewing {
  readonly mode: 'manage' | 'preview';
  readonly foresees: boolean;
  readonly money: Money;
}

/** Of a preview: what follows its plan, and what a plan file records of the object beside that. */
export function foreseen(
  { mode, foresees, money }: Previewing,
  pass: Pass,
  plan: Plan,
  account: AccountHandle | undefined,
): Pick<PassResult, 'follows' | 'foreseen'> {
  if (mode === 'manage') return {};
  const follows = money.follows(account, pass, plan);
  if (!foresees) return { follows };
  const observation = pass.observation();
  const value = observation.kind === 'present' ? observation.value : undefined;
  return { follows, foreseen: { later: pass.later(plan), roster: pass.roster(plan), value } };
}
