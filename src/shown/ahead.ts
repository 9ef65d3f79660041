/**
 * What accounts will cost until the month ends: the burn of now, and for fleets with a schedule the number of replicas that it will want,
 * at the mean price of those that there are. Pure. The rules: engine/plan/forecast.ts. A fleet without a replica now adds nothing,
 * since nobody knows here what one costs.
 *
 * The things of an account are divided into groups, such as namespaces. What is ahead of a fleet is divided by how many of its replicas are
 * in each group. So the groups add up.
 */
import { courseSteps, forecast, microsOf, type CourseStep } from '../engine/plan/index.ts';
import { parseObjectKey, traitsOf, type ObjectKey } from '../resources/index.ts';
import type { KnownFleet } from './survey.ts';

/** Where schedules are. Without a snapshot, documents are those of the records. */
export interface Scheduled {
  readonly snapshot?: KnownFleet['snapshot'];
  readonly store: Pick<KnownFleet['store'], 'identityPin' | 'record'>;
}

export interface Period {
  /** Unix milliseconds. */
  readonly from: number;
  readonly until: number;
}

/** One group. */
export interface AheadOf {
  /** Of what no schedule changes. */
  micros: bigint;
  readonly owned: Map<ObjectKey, Owned>;
}

interface Owned {
  readonly micros: bigint;
  readonly count: number;
}

export const nothingAhead = (): AheadOf => ({ micros: 0n, owned: new Map() });

export class Ahead {
  readonly #fleet: Scheduled | undefined;
  readonly #period: Period;
  readonly #steps = new Map<ObjectKey, readonly CourseStep[]>();
  readonly #counts = new Map<ObjectKey, number>();

  constructor(fleet: Scheduled | undefined, period: Period) {
    this.#fleet = fleet;
    this.#period = period;
  }

  /** Each thing belongs to one group, and is added once. `key`: the object that manages it. */
  add(group: AheadOf, key: ObjectKey | undefined, burn: bigint): void {
    const owner = burn > 0n ? this.#scheduledOwner(key) : undefined;
    if (owner === undefined) {
      group.micros += burn;
      return;
    }
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
    const { micros, count } = group.owned.get(owner) ?? { micros: 0n, count: 0 };
    group.owned.set(owner, { micros: micros + burn, count: count + 1 });
  }

  /** In micro-USD, when all things were added. */
  microsOf({ micros, owned }: AheadOf): bigint {
    const courses = [...owned].map(([owner, group]) => ({
      nowMicros: group.micros,
      eachMicros: group.micros / BigInt(group.count),
      steps: this.#shareOf(owner, group),
    }));
    const burnMicros = [...owned.values()].reduce((sum, group) => sum + group.micros, micros);
    const { from: at, until } = this.#period;
    return microsOf(forecast({ spent: 0n, at, burnMicros, until, courses, limitMicros: undefined }).amount);
  }

  #shareOf(owner: ObjectKey, { count }: Owned): readonly CourseStep[] {
    const share = count / (this.#counts.get(owner) ?? count);
    return (this.#steps.get(owner) ?? []).map(({ from, count: all }) => ({ from, count: all * share }));
  }

  /** Of a service. Volumes cost the same, however many services there are. */
  #scheduledOwner(key: ObjectKey | undefined): ObjectKey | undefined {
    if (key === undefined || traitsOf(parseObjectKey(key).kind).list !== 'services') return undefined;
    const owner = this.#fleet?.store.record(key)?.derived?.owner;
    return owner !== undefined && this.#stepsOf(owner).length > 1 ? owner : undefined;
  }

  #stepsOf(owner: ObjectKey): readonly CourseStep[] {
    const known = this.#steps.get(owner);
    if (known) return known;
    const { from, until } = this.#period;
    const record = this.#fleet?.store.record(owner);
    const spec = this.#fleet?.snapshot?.objects.get(owner)?.spec ?? record?.manifest.spec;
    const traits = traitsOf(parseObjectKey(owner).kind);
    const steps =
      traits.ownedAt && record && spec
        ? courseSteps((at) => traits.ownedAt?.(spec, record.kind, at) ?? constant, from, until)
        : [];
    this.#steps.set(owner, steps);
    return steps;
  }
}

const constant = { count: 0, changesAt: Number.POSITIVE_INFINITY };
