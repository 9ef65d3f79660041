/**
 * How many services fleets will want until a month ends, for the forecasts of budgets (plan/forecast.ts).
 *
 * Which fleets follow a schedule is kept up to date. Their steps are found out when somebody asks, and again when the fleet changes; if only
 * its record does, at most once a minute.
 */
import { monthEnd } from '../../base/index.ts';
import { parseObjectKey, traitsOf, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { courseSteps, type Course, type CourseStep } from '../plan/index.ts';
import type { Budget } from './budget.ts';

interface ForecastsOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  /** Wall clock (Unix milliseconds). */
  readonly nowMs: () => number;
  /** What one of its services would cost, for a fleet that has none now. */
  readonly wouldCost: (owner: ObjectRecord) => bigint;
}

interface Kept {
  readonly spec: unknown;
  readonly state: unknown;
  readonly from: number;
  readonly until: number;
  readonly steps: readonly CourseStep[];
}

const keptMs = 60_000;
const dayMs = 86_400_000;

export class Forecasts {
  readonly #options: ForecastsOptions;
  /** Owners whose number changes with time, by namespace. */
  readonly #owners = new Map<string, Set<ObjectKey>>();
  readonly #kept = new Map<ObjectKey, Kept>();

  constructor(options: ForecastsOptions) {
    this.#options = options;
  }

  /** Its document or record has changed. */
  moved(key: ObjectKey): void {
    const { kind, namespace } = parseObjectKey(key);
    const traits = traitsOf(kind);
    if (!traits.ownedAt) return;
    const { store, fleet, nowMs } = this.#options;
    const record = store.record(key);
    const spec = record?.deletionRequestedAt === undefined ? record && fleet.specOf(record) : undefined;
    const { changesAt } = record && spec ? traits.ownedAt(spec, record.kind, nowMs()) : never;
    const owners = this.#owners.get(namespace) ?? new Set();
    this.#owners.set(namespace, owners);
    if (Number.isFinite(changesAt)) owners.add(key);
    else owners.delete(key);
    if (!record) this.#kept.delete(key);
  }

  /**
   * Of the budget's fleets, until its month ends, and for two days at least. `counts`: whether it counts the services of an owner.
   */
  of(budget: Budget, counts: (owner: ObjectKey) => boolean): readonly Course[] {
    const { store, wouldCost, nowMs } = this.#options;
    const now = nowMs();
    // A whole day, so that the steps that are kept serve for it.
    const until = Math.max(monthEnd(now, budget.terms.timeZone), Math.ceil(now / dayMs + 2) * dayMs);
    const courses: Course[] = [];
    for (const key of this.#owners.get(parseObjectKey(budget.key).namespace) ?? []) {
      const record = store.record(key);
      const { count, micros } = budget.ownedBy(key);
      if (!record || (count === 0 && !counts(key))) continue;
      const eachMicros = count > 0 ? micros / BigInt(count) : wouldCost(record);
      courses.push({ nowMicros: micros, eachMicros, steps: this.#steps(record, until) });
    }
    return courses;
  }

  #steps(record: ObjectRecord, until: number): readonly CourseStep[] {
    const { fleet, nowMs } = this.#options;
    const { key, kind: state } = record;
    const { spec } = fleet.planned(record);
    const now = nowMs();
    const kept = this.#kept.get(key);
    const isNew = !kept || kept.spec !== spec || kept.until < until || now < kept.from;
    if (!isNew && (kept.state === state || now - kept.from < keptMs)) return kept.steps;
    const traits = traitsOf(parseObjectKey(key).kind);
    const steps = courseSteps((atMs) => traits.ownedAt?.(spec, state, atMs) ?? constant, now, until);
    this.#kept.set(key, { spec, state, from: now, until, steps });
    return steps;
  }
}

const never = { changesAt: Number.POSITIVE_INFINITY };
const constant = { count: 0, ...never };
