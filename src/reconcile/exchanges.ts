/**
 * Services with `replacement: Recreate` that are to have each other's volumes. A volume can be attached at a creation only
 * (§2), so they all have to go before the first one can come back. Who is deleted while another one has to stay would be away
 * for as long as that stays; so nobody is deleted before all of them are found free to go.
 *
 *     blocked ── its pass finds nothing but the others in its way ──> free, for a minute
 *     free ── its pass finds something else, or the minute is over ──> blocked
 *     free, and all the others are ──> deleted
 *
 * What a pass finds is everything that it looks at before it deletes: activities and tasks, windows, annotations, brakes, refusals, and
 * all that a creation needs (plan/service-removal.ts). What happens after that look is not foreseen: an activity that is registered in
 * one service while the request to delete another one is under way keeps that other one away for as long as it lasts.
 */
import type { Clock } from '../base/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import { recheckMs, waitFor, type Act, type Plan } from '../plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { Fleet } from './fleet.ts';

const waitReason = 'VolumeExchange';
/** For so long it is believed that a service is still free to go. */
const freeMs = 60_000;

export interface ExchangeOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly mode: 'manage' | 'preview';
}

export class Exchanges {
  readonly #options: ExchangeOptions;
  /** When they were found free to go; undefined: they were found not to be. */
  readonly #freeAtMs = new Map<ObjectKey, number | undefined>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#freeAtMs.delete(key);
  }

  /** `others`: those that have to go, too. The plan is to delete the service, and it is free to. */
  obstacle({ step, differences }: Act, others: readonly ObjectKey[]): Plan | undefined {
    if (step.reason !== 'Replace') return undefined;
    const blocked = others.filter((key) => !this.#isFree(key));
    if (blocked.length === 0) return undefined;
    const names = blocked.map((key) => `${parseObjectKey(key).name} (${this.#whyNot(key)})`).join(', ');
    const message =
      `the service is to be created anew with a volume that another one has, and they go together or not at all; ` +
      `these can't go yet: ${names}`;
    return waitFor(waitReason, message, { recheckAfterMs: recheckMs.protection, steps: [step], differences });
  }

  /** What a pass came to. The answer: those to be looked at again for it. */
  saw(key: ObjectKey, plan: Plan, others: readonly ObjectKey[]): readonly ObjectKey[] {
    const isFree =
      (plan.kind === 'wait' && plan.reason === waitReason) ||
      (plan.kind === 'act' && plan.step.reason === 'Replace');
    if (others.length === 0) {
      this.forget(key);
      return [];
    }
    const isNews = !this.#freeAtMs.has(key) || (this.#freeAtMs.get(key) !== undefined) !== isFree;
    this.#freeAtMs.set(key, isFree ? this.#options.clock.monotonicMs() : undefined);
    return isNews ? others : [];
  }

  #isFree(key: ObjectKey): boolean {
    const { store, clock, mode } = this.#options;
    if (store.record(key)?.deletedByUs && !store.openIntent(key)) return true;
    // Who has not been looked at yet will be, and then this one once more.
    if (mode === 'preview' && !this.#freeAtMs.has(key)) return true;
    const atMs = this.#freeAtMs.get(key);
    return atMs !== undefined && clock.monotonicMs() - atMs <= freeMs;
  }

  #whyNot(key: ObjectKey): string {
    const conditions = this.#options.store.record(key)?.status?.conditions ?? [];
    const told = conditions.find(
      ({ type, status }) => (type === 'Reconciling' || type === 'Stalled') && status === 'True',
    );
    return told?.reason ?? 'not looked at yet';
  }
}

/**
 * The other services that have to go before `record` can be created anew with the volume that it names: each is to have what the
 * next one has, and the last one what `record` has. None where they go one after the other: who has a volume that
 * somebody waits for goes first then.
 */
export function exchangeOf(
  fleet: Fleet,
  record: ObjectRecord,
  { services, volumes }: AccountSnapshot,
): readonly ObjectRecord[] {
  const others: ObjectRecord[] = [];
  let last = record;
  // Each volume has one user, and each service names one volume: it is a round, or it ends.
  while (others.length <= services.size) {
    const wanted = volumeToMoveTo(fleet, last);
    if (wanted === undefined) return [];
    const user =
      volumes.get(wanted)?.serviceId ??
      [...services.values()].find(({ volumeId }) => volumeId === wanted)?.id;
    const next = user ? fleet.store.recordOf(user) : undefined;
    if (!next || parseObjectKey(next.key).kind !== 'ContainerService') return [];
    if (next.key === record.key) return others;
    others.push(next);
    last = next;
  }
  return [];
}

/** Of a service whose document names another volume than it has, and which is to be created anew for that. */
function volumeToMoveTo(fleet: Fleet, record: ObjectRecord): string | undefined {
  const { spec, deleting } = fleet.planned<'ContainerService'>(record);
  if (spec.replacement !== 'Recreate' || deleting) return undefined;
  const volume = fleet.volumeOf(record, undefined);
  const wanted = spec.storage?.volumeId ?? (typeof volume === 'object' ? volume.externalId : undefined);
  const isThere = wanted === undefined || record.applied['volumeId'] === fleet.owner.digestKey.digest(wanted);
  return isThere ? undefined : wanted;
}
