/**
 * Services with `replacement: Recreate` that are to get each other's volumes. A volume can only be attached at a creation (§2),
 * so all of them have to be deleted before the first one can be created again. If one of them can't be deleted, the others would
 * be missing as long as that lasts. So none is deleted before all of them are free.
 *
 *     blocked ── its pass finds that only the others prevent its deletion ──> free, for a minute
 *     free ── its pass finds another reason, or the minute is over ──> blocked
 *     free, all others are free, and the balance is sufficient for all creations ──> deleted
 *
 * The first one to be deleted reserves money for the creations of all. So nothing else can spend what they need.
 *
 * A pass checks everything before a deletion: activities and tasks, windows, annotations, brakes, refusals, and all that a creation
 * needs (kinds/container-service/removal.ts). Later events are not foreseen. For example, an activity may be registered in
 * one service while the request to delete another one is under way. Then that other one is missing as long as the activity
 * lasts.
 */
import type { Clock } from '../../base/index.ts';
import {
  recheckMs,
  shut,
  waitFor,
  type Act,
  type Cost,
  type Gate,
  type Plan,
  type Step,
} from '../plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Money } from '../money/money.ts';
import type { Pass } from '../pass.ts';

const waitReason = 'VolumeExchange';
/** How long the result of a pass counts. */
const freeMs = 60_000;

export interface ExchangeOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly money: Money;
  readonly mode: 'manage' | 'preview';
  /** The objects that this process plans and changes. Undefined: all. */
  readonly isSelected?: ((key: ObjectKey) => boolean) | undefined;
}

/** Its last pass found it free. */
interface Free {
  readonly atMs: number;
  /** Of the creation that follows. */
  readonly cost: Cost | undefined;
}

export class Exchanges {
  readonly #options: ExchangeOptions;
  /** Undefined: the last pass found it blocked. */
  readonly #free = new Map<ObjectKey, Free | undefined>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#free.delete(key);
  }

  /** The plan is to delete the service, and the service itself is free. */
  obstacle({ step, differences }: Act, pass: Pass, handle: AccountHandle | undefined): Plan | undefined {
    const others = pass.exchanges();
    if (step.reason !== 'Replace') return undefined;
    const refused = handle && this.#options.money.replacementGate(handle, pass, step);
    if (refused) return shut(refused, [step], differences);
    if (others.length === 0) return undefined;
    const blocked = others.filter((key) => !this.#isFree(key));
    if (blocked.length === 0) {
      const gate = handle && this.#gate(handle, pass, step, others);
      return gate && shut(gate, [step], differences);
    }
    const names = blocked.map((key) => `${parseObjectKey(key).name} (${this.#whyNot(key)})`).join(', ');
    const message =
      `the service is to be created again with a volume that another service has, so all of them are deleted together or none;  ` +
      `these can't be deleted yet:  ${names}`;
    return waitFor(waitReason, message, { recheckAfterMs: recheckMs.protection, steps: [step], differences });
  }

  #gate(handle: AccountHandle, pass: Pass, step: Step, others: readonly ObjectKey[]): Gate | undefined {
    const { money } = this.#options;
    const own = money.replacementCost(handle, pass, step);
    return own && money.exchangeGate(handle, pass.record().key, own, this.#costsOf(others));
  }

  #costsOf(keys: readonly ObjectKey[]): ReadonlyMap<ObjectKey, Cost> {
    const costs = keys.map((key) => [key, this.#free.get(key)?.cost] as const);
    return new Map(costs.filter((each): each is [ObjectKey, Cost] => each[1] !== undefined));
  }

  /** The service is deleted next. Synchronous after the check, so that nothing happens between them. */
  begin(step: Step, pass: Pass, { name }: AccountHandle): void {
    if (step.reason !== 'Replace') return;
    const { reservations } = this.#options.money;
    for (const [key, cost] of this.#costsOf(pass.exchanges())) reservations.promise(key, name, cost);
  }

  /** Takes in the result of a pass. Returns the objects to recheck because of it. */
  saw(key: ObjectKey, plan: Plan, pass: Pass, handle: AccountHandle | undefined): readonly ObjectKey[] {
    const others = pass.exchanges();
    if (others.length === 0) {
      this.forget(key);
      return [];
    }
    const step = stepOfFree(plan);
    const isNews = !this.#free.has(key) || (this.#free.get(key) !== undefined) !== (step !== undefined);
    const cost = step && handle && this.#options.money.replacementCost(handle, pass, step);
    this.#free.set(key, step && { atMs: this.#options.clock.monotonicMs(), cost });
    return isNews ? others : [];
  }

  #isFree(key: ObjectKey): boolean {
    const { store, clock, mode } = this.#options;
    if (store.record(key)?.deletedByUs && !store.openIntent(key)) return true;
    // Services without a pass yet will have one, and then this one is rechecked.
    if (mode === 'preview' && !this.#free.has(key)) return this.#isSelected(key);
    const free = this.#free.get(key);
    return free !== undefined && clock.monotonicMs() - free.atMs <= freeMs;
  }

  #isSelected(key: ObjectKey): boolean {
    return this.#options.isSelected?.(key) ?? true;
  }

  #whyNot(key: ObjectKey): string {
    const { kind, name } = parseObjectKey(key);
    if (!this.#isSelected(key)) return `not selected: add --target ${kind}/${name}`;
    return this.#options.store.record(key)?.report?.pending?.reason ?? 'not observed yet';
  }
}

/** The planned deletion, if only the others prevent it. */
function stepOfFree(plan: Plan): Step | undefined {
  if (plan.kind === 'act') return plan.step.reason === 'Replace' ? plan.step : undefined;
  return plan.kind === 'wait' && plan.reason === waitReason ? plan.steps?.[0] : undefined;
}
