/**
 * Services with `replacement: Recreate` that are to have each other's volumes. A volume can be attached at a creation only
 * (§2), so they all have to go before the first one can come back. Who is deleted while another one has to stay would be away
 * for as long as that stays; so nobody is deleted before all of them are found free to go.
 *
 *     blocked ── its pass finds nothing but the others in its way ──> free, for a minute
 *     free ── its pass finds something else, or the minute is over ──> blocked
 *     free, all the others are, and the balance bears all the creations together ──> deleted
 *
 * Who goes first reserves for the creations of all: nobody else may spend what those who are away wait for.
 *
 * What a pass finds is everything that it looks at before it deletes: activities and tasks, windows, annotations, brakes, refusals, and
 * all that a creation needs (kinds/container-service/removal.ts). What happens after that look is not foreseen: an activity that is registered in
 * one service while the request to delete another one is under way keeps that other one away for as long as it lasts.
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
/** For so long it is believed that a service is still free to go. */
const freeMs = 60_000;

export interface ExchangeOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly money: Money;
  readonly mode: 'manage' | 'preview';
}

/** Found free to go. */
interface Free {
  readonly atMs: number;
  /** Of the creation that follows. */
  readonly cost: Cost | undefined;
}

export class Exchanges {
  readonly #options: ExchangeOptions;
  /** Undefined: it was found not to be. */
  readonly #free = new Map<ObjectKey, Free | undefined>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#free.delete(key);
  }

  /** The plan is to delete the service, and it is free to. */
  obstacle({ step, differences }: Act, pass: Pass, handle: AccountHandle | undefined): Plan | undefined {
    const others = pass.exchanges();
    if (step.reason !== 'Replace' || others.length === 0) return undefined;
    const blocked = others.filter((key) => !this.#isFree(key));
    if (blocked.length === 0) {
      const gate = handle && this.#gate(handle, pass, step, others);
      return gate && shut(gate, [step], differences);
    }
    const names = blocked.map((key) => `${parseObjectKey(key).name} (${this.#whyNot(key)})`).join(', ');
    const message =
      `the service is to be created anew with a volume that another one has, and they go together or not at all; ` +
      `these can't go yet: ${names}`;
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

  /** The service is deleted next. Synchronous with the obstacle, so that nothing comes between them. */
  begin(step: Step, pass: Pass, { name }: AccountHandle): void {
    if (step.reason !== 'Replace') return;
    const { reservations } = this.#options.money;
    for (const [key, cost] of this.#costsOf(pass.exchanges())) reservations.promise(key, name, cost);
  }

  /** What a pass came to. The answer: those to be looked at again for it. */
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
    // Who has not been looked at yet will be, and then this one once more.
    if (mode === 'preview' && !this.#free.has(key)) return true;
    const free = this.#free.get(key);
    return free !== undefined && clock.monotonicMs() - free.atMs <= freeMs;
  }

  #whyNot(key: ObjectKey): string {
    return this.#options.store.record(key)?.report?.pending?.reason ?? 'not looked at yet';
  }
}

/** The deletion that is planned, where nothing but the others is in its way. */
function stepOfFree(plan: Plan): Step | undefined {
  if (plan.kind === 'act') return plan.step.reason === 'Replace' ? plan.step : undefined;
  return plan.kind === 'wait' && plan.reason === waitReason ? plan.steps?.[0] : undefined;
}
