/**
 * Somebody who is there once nothing goes wrong any more. An object may say that only a person can tell what became of its request: this one looks at
 * the provider, and says so, as with `fleetkeeper resolve`. Only where a dialect hides what would tell (`asksPeople`): elsewhere it is a
 * violation that nothing settles it (L3).
 */
import type { ObjectKey } from '../../src/resources/index.ts';
import { userKindOf } from './documents.ts';
import type { ObjectRecord, Resolution } from '../../src/state/index.ts';
import type { Network } from './network.ts';
import type { Plane } from './plane.ts';
import { hasOpenOutcome, type DurableState } from './state.ts';
import type { Delivery, Json } from './watch.ts';

export interface PersonOptions {
  readonly state: () => DurableState;
  readonly plane: Plane;
  readonly network: () => Pick<Network, 'isUnderWay'>;
  readonly say: (key: ObjectKey, resolution: Resolution) => void;
}

export class Person {
  readonly #options: PersonOptions;
  /** The ids in the answers to requests that took effect, by their Idempotency-Key. */
  readonly #applied = new Map<string, string | undefined>();
  /** By what was said of it last. */
  readonly #said = new Map<ObjectKey, string>();

  constructor(options: PersonOptions) {
    this.#options = options;
  }

  delivered({ method, key, reply, isForeign }: Delivery): void {
    if (method === 'GET' || isForeign || key === undefined || reply.status >= 300) return;
    const body: Json = JSON.parse(reply.body);
    this.#applied.set(key, body.id);
  }

  look(): void {
    for (const record of this.#options.state().records()) {
      const resolution = asksWhatBecame(record) ? this.#answerFor(record) : undefined;
      if (!resolution) continue;
      const text = JSON.stringify(resolution);
      if (this.#said.get(record.key) === text) continue;
      this.#said.set(record.key, text);
      this.#options.say(record.key, resolution);
    }
  }

  #answerFor({ key, creationInDoubt }: ObjectRecord): Resolution | undefined {
    const intent = this.#options.state().intent(key);
    const open = intent && hasOpenOutcome(intent) ? intent : creationInDoubt;
    if (!open || this.#options.network().isUnderWay(open.idempotencyKey)) return undefined;
    const { idempotencyKey } = open;
    const isApplied = this.#applied.has(idempotencyKey);
    const creates = open === creationInDoubt || intent?.action.startsWith('create-') === true;
    if (!creates) return { idempotencyKey, applied: isApplied, id: undefined };
    const id = this.#applied.get(idempotencyKey);
    const isThere = id !== undefined && this.#isThere(key, id);
    return { idempotencyKey, applied: isThere, id: isThere ? id : undefined };
  }

  #isThere(key: ObjectKey, id: string): boolean {
    const { store } = this.#options.plane;
    switch (userKindOf(key)) {
      case 'ContainerService':
        return store?.services.get(id) !== undefined;
      case 'StorageVolume':
        return store?.volumes.get(id) !== undefined;
      case 'ServiceTemplate':
        return store?.templates.get(id) !== undefined;
      case 'ImageRegistry':
        return store?.registries.get(id) !== undefined;
      case 'ProtectedTask':
      case 'ServiceFleet':
      case undefined:
        return false;
    }
  }
}

function asksWhatBecame({ status }: ObjectRecord): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: is, reason, message }) =>
      type === 'Stalled' &&
      is === 'True' &&
      reason === 'OutcomeUnknown' &&
      message.includes('fleetkeeper resolve'),
  );
}
