/** What rules see of an object and its change, as CEL has it: whole numbers are `int`, others `double`. Pure. */
import type { PolicySubject } from '../engine/index.ts';
import { clampedMicros, type Cost } from '../engine/plan/index.ts';
import { apiVersion, parseObjectKey } from '../resources/index.ts';
import type { Variables } from './expressions.ts';

/** Of all changes together. Empty in `run`, where each object is decided on by itself. */
export interface PolicyPlan {
  readonly summary?: object;
  readonly cost?: object;
}

export function variablesOf(subject: PolicySubject, plan: PolicyPlan, nowMs: number): Variables {
  const { key, manifest, steps, later, protectedBy = '', isDeleted, replicas, cost } = subject;
  const { kind, namespace, name } = parseObjectKey(key);
  const { labels, annotations, spec } = manifest;
  const counts = { create: 0, update: 0, replace: 0, delete: 0, leave: 0 };
  for (const { action } of replicas) counts[action] += 1;
  return {
    object: celValue({ apiVersion, kind, metadata: { namespace, name, labels, annotations }, spec }),
    change: celValue({ key, steps, later, protectedBy, deletion: isDeleted, replicas: counts }),
    cost: celValue(cost ? costValue(cost) : nothing),
    plan: celValue(plan),
    now: new Date(nowMs),
  };
}

const nothing = { beforeMicros: 0, afterMicros: 0, deltaMicros: 0, deltaHourlyMicros: 0, basis: 'none' };

function costValue({ beforeMicros, afterMicros, basis }: Cost): object {
  const deltaMicros = clampedMicros(afterMicros - beforeMicros);
  return {
    beforeMicros: clampedMicros(beforeMicros),
    afterMicros: clampedMicros(afterMicros),
    deltaMicros,
    // As in the cost of a plan.
    deltaHourlyMicros: deltaMicros,
    basis,
  };
}

function celValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (typeof value !== 'object' || value === null) return value ?? null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, celValue(member)] as const));
}
