/**
 * What an operator's rules state about a step (src/policy/ has the rules). The engine asks them where it decides to send something, and
 * again just before the request leaves. A step that is denied is held like any other.
 *
 * A deletion that the source or the API server has accepted is never undone: its step is held, and the finalizer stays.
 */
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { ObjectNews } from './money/money.ts';
import { undecided, type Decision } from './decision.ts';
import type { Pass } from './pass.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import {
  holdFor,
  weakest,
  type Arrange,
  type Cost,
  type Hold,
  type OwnedChange,
  type Plan,
  type Step,
} from './plan/index.ts';

/** Everything that rules see of an object, without a value of a Secret, a ConfigMap or an environment. */
export interface PolicySubject {
  readonly key: ObjectKey;
  /** The document with its defaults, as it is recorded. */
  readonly manifest: ObjectRecord['manifest'];
  /** Its deletion is accepted. */
  readonly isDeleted: boolean;
  readonly steps: readonly PolicyStep[];
  /** What follows from them in later passes, as far as a plan foresees it. */
  readonly later: readonly PolicyStep[];
  /** The protection that the steps override or wait for. */
  readonly protectedBy: string | undefined;
  readonly replicas: readonly OwnedChange[];
  /** Undefined: nothing changes, or no cost is known. */
  readonly cost: Cost | undefined;
}

export interface PolicyStep {
  readonly action: string;
  readonly reason: string;
  readonly disruptive: boolean;
  readonly destroysData: boolean;
  readonly drift: boolean;
  readonly fields: readonly string[];
}

export interface PolicyFinding {
  readonly rule: string;
  readonly message: string;
}

export interface PolicyVerdict {
  readonly outcome: 'allow' | 'warn' | 'deny' | 'error';
  readonly denied: readonly PolicyFinding[];
  readonly warnings: readonly PolicyFinding[];
}

export interface StepPolicy {
  /** Always ends, and never throws. */
  judge(subject: PolicySubject): PolicyVerdict;
}

/**
 * Undefined: the plan sends and changes nothing. `costOf`: the cost of a step; it may be in the step already. `later`: steps behind those of
 * the plan.
 */
export function policySubject(
  { key, manifest, deletionRequestedAt }: ObjectRecord,
  plan: Plan,
  costOf: (step: Step) => Cost | undefined = (step) => step.cost,
  later: readonly Step[] = [],
): PolicySubject | undefined {
  const isDeleted = deletionRequestedAt !== undefined;
  const about = { key, manifest, isDeleted, later: later.map(policyStep) };
  if (plan.kind === 'arrange') {
    if (!plan.change || plan.unjudged) return undefined;
    const { owned: replicas = [], cost } = plan;
    return { ...about, steps: [rosterStep(plan, plan.change)], replicas, cost, protectedBy: undefined };
  }
  const steps = stepsOf(plan);
  if (steps.length === 0) return undefined;
  const waits = plan.kind === 'wait' && plan.reason === 'Protected' ? plan.message : undefined;
  return {
    ...about,
    steps: steps.map(policyStep),
    protectedBy: steps.find(({ overrides }) => overrides !== undefined)?.overrides ?? waits,
    replicas: [],
    cost: totalCost(steps.flatMap((step) => costOf(step) ?? [])),
  };
}

function stepsOf(plan: Exclude<Plan, Arrange>): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'in-sync' ? [] : plan.steps;
}

function policyStep({ action, reason, disruptive, destroysData, differences }: Step): PolicyStep {
  return {
    action: action.do,
    reason,
    disruptive,
    destroysData: destroysData === true,
    drift: differences.some((difference) => difference.drift),
    fields: differences.map(({ path }) => path),
  };
}

function rosterStep(plan: Arrange, action: string): PolicyStep {
  const { reason, differences, owned = [], destroysData = false } = plan;
  const disruptive = owned.some((replica) => replica.action !== 'create' && replica.action !== 'leave');
  const fields = differences.map(({ path }) => path);
  return { action, reason, disruptive, destroysData, drift: false, fields };
}

/** Of steps that follow each other. */
function totalCost(costs: readonly Cost[]): Cost | undefined {
  const [first] = costs;
  const last = costs.at(-1);
  if (!first || !last) return undefined;
  const { beforeMicros } = first;
  const basis = weakest(costs.map((cost) => cost.basis));
  const unknown = costs.find((cost) => cost.basis === 'unknown');
  return { ...(unknown ?? last), basis, beforeMicros, afterMicros: last.afterMicros };
}

/** A denied plan, as it is held. */
export function deniedHold(subject: PolicySubject, { denied }: PolicyVerdict, plan: Plan): Hold {
  const rules = denied.map(({ rule, message }) => `${rule}: ${message}`).join('; ');
  const kept = subject.isDeleted
    ? '; its deletion is accepted, and waits: the thing stays until then, and so does a finalizer'
    : '';
  return holdFor('PolicyDenied', `denied by the policy: ${rules}${kept}`, {
    steps: plan.kind === 'arrange' ? [] : stepsOf(plan),
    differences: plan.differences,
  });
}

export interface PolicyGateOptions {
  readonly policy?: StepPolicy | undefined;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'policyEvaluations'>;
}

/** Asks the policy for a reconciler, and reports what it warns of when that is done. */
export class PolicyGate {
  readonly #options: PolicyGateOptions;
  /** Of steps that were allowed, and are not sent yet. */
  readonly #pending = new Map<ObjectKey, readonly PolicyFinding[]>();
  readonly #reported = new Map<ObjectKey, readonly PolicyFinding[]>();

  constructor(options: PolicyGateOptions) {
    this.#options = options;
  }

  /** A decision about what the object owns, or what takes its place: what is left to be done without it, or a hold. */
  ofRoster(pass: Pass, made: Decision, guarded: (decision: Decision) => Decision): Decision {
    if (made.plan.kind !== 'arrange') return guarded(made);
    const { plan } = made;
    const { policy } = this.#options;
    const denied = policy && this.obstacle(pass.record(), pass.previewed(plan), () => undefined);
    const held = denied ? undecided(denied) : guarded(made);
    if (held.plan.kind === 'arrange') {
      this.sends(pass.key);
      return held;
    }
    const other = plan.otherwise?.();
    if (other?.kind !== 'arrange') return held;
    const instead = this.ofRoster(pass, { ...made, plan: other }, guarded);
    return instead.plan.kind === 'arrange' ? instead : held;
  }

  /** Undefined: it may be sent. */
  obstacle(record: ObjectRecord, plan: Plan, costOf: (step: Step) => Cost | undefined): Hold | undefined {
    const { policy, metrics } = this.#options;
    const subject = policy && policySubject(record, plan, costOf);
    if (!policy || !subject) return undefined;
    const verdict = policy.judge(subject);
    metrics.policyEvaluations.inc({ outcome: verdict.outcome });
    this.#pending.set(record.key, verdict.denied.length > 0 ? [] : verdict.warnings);
    return verdict.denied.length > 0 ? deniedHold(subject, verdict, plan) : undefined;
  }

  /** Whether what was allowed a while ago still is: the rules may have changed. */
  stillAllows(record: ObjectRecord, plan: Plan, costOf: (step: Step) => Cost | undefined): boolean {
    const { policy } = this.#options;
    const subject = policy && policySubject(record, plan, costOf);
    return !policy || !subject || policy.judge(subject).denied.length === 0;
  }

  /** What was allowed last is done now. */
  sends(key: ObjectKey): void {
    const found = this.#pending.get(key) ?? [];
    this.#pending.delete(key);
    if (found.length > 0) this.#reported.set(key, found);
    for (const { rule, message } of found) {
      this.#options.logger.warn({ object: key, rule, note: message }, 'policy warning');
    }
  }

  /** What was warned of since the last call. */
  news(key: ObjectKey): readonly ObjectNews[] {
    const found = this.#reported.get(key) ?? [];
    this.#reported.delete(key);
    return found.map(({ rule, message }) => ({ reason: 'PolicyWarning', message: `${rule}: ${message}` }));
  }
}
