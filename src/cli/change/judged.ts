/** What the policy states about a plan, before anything of it is done. */
import {
  deniedHold,
  policySubject,
  type PassResult,
  type PolicyFinding,
  type StepPolicy,
} from '../../engine/index.ts';
import type { PolicyWarning } from '../../manager/index.ts';
import type { Context } from '../context.ts';
import type { ObservedFleet } from './fleet-plan.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

export interface Judged {
  /** What is denied is held. */
  readonly results: ReadonlyMap<ObjectKey, PassResult>;
  readonly warnings: readonly PolicyWarning[];
}

export function judgedResults(
  results: ReadonlyMap<ObjectKey, PassResult>,
  policy: StepPolicy,
  store: Pick<StateStore, 'record'>,
): Judged {
  const warnings: PolicyWarning[] = [];
  const judged = Array.from(results, ([key, result]): readonly [ObjectKey, PassResult] => {
    const { plan } = result;
    const record = store.record(key);
    // A hold does nothing, whatever it would do otherwise.
    const subject =
      record && plan.kind !== 'hold'
        ? policySubject(record, plan, undefined, result.foreseen?.later)
        : undefined;
    if (!subject) return [key, result];
    const verdict = policy.judge(subject);
    warnings.push(...verdict.warnings.map((finding) => warningOf(key, finding)));
    return verdict.denied.length > 0
      ? [key, { ...result, plan: deniedHold(subject, verdict, plan), follows: [] }]
      : [key, result];
  });
  return { results: new Map(judged), warnings };
}

function warningOf(key: ObjectKey, { rule, message }: PolicyFinding): PolicyWarning {
  return { ...parseObjectKey(key), rule, message };
}

/** For what is done then: the same rules, which see the same plan as a whole. Undefined: there are none. */
export async function policyOf(
  { clock }: Pick<Context, 'clock'>,
  { judgedBy }: Pick<ObservedFleet, 'judgedBy'>,
): Promise<StepPolicy | undefined> {
  if (!judgedBy) return undefined;
  const { createPolicy } = await import('../../policy/index.ts');
  const { rules, plan } = judgedBy;
  return createPolicy({ rules: () => rules, plan, nowMs: () => clock.wallMs() });
}
