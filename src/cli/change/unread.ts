/**
 * Objects of accounts whose read failed in a way that may pass: a 429, a 5xx, a connection that was lost. The account is read again, as the
 * limiter and `Retry-After` allow, and what a pass finds then counts. Only when the time of the observation is over, the failure does.
 */
import { mayPass, type Outcome } from '../../api/index.ts';
import type { AccountHandle, PassResult } from '../../engine/index.ts';
import type { Manager } from '../../manager/index.ts';
import { entryOf } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { accountNameOf } from './plan-file.ts';

type Failed = Exclude<Outcome<unknown>, { kind: 'applied' }>;

interface UnreadOptions {
  readonly manager: () => Pick<Manager, 'accounts' | 'snapshot'>;
  readonly store: Pick<StateStore, 'record' | 'recordOf'>;
  /** Milliseconds until the observation ends. */
  readonly leftMs: () => number;
}

export class UnreadYet {
  readonly results = new Map<ObjectKey, PassResult>();
  readonly #options: UnreadOptions;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  /** Whether the object is seen only after another read. */
  awaits(key: ObjectKey, result: PassResult): boolean {
    this.results.delete(key);
    const { plan } = result;
    const isBlind = plan.kind === 'wait' && entryOf(plan.reason).observed !== 'yes';
    if (!isBlind || !this.#failuresOf(key).some((failure) => this.#isPassing(failure))) return false;
    this.results.set(key, result);
    return true;
  }

  /** Of its account; of an object whose account is not known, of all. */
  #failuresOf(key: ObjectKey): Failed[] {
    const { manager, store } = this.#options;
    const { accounts, snapshot } = manager();
    const handles = new Map(Array.from(accounts.handles(), (handle) => [handle.name, handle]));
    const name = snapshot && accountNameOf({ objects: snapshot.objects, accounts: handles }, store, key);
    const own = name === undefined ? undefined : handles.get(name);
    return own ? failuresIn(own) : [...handles.values()].flatMap(failuresIn);
  }

  /** A pause that lasts longer than the observation is not waited for. */
  #isPassing(failure: Failed): boolean {
    const pauseMs = 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0;
    return mayPass(failure) && pauseMs < this.#options.leftMs();
  }
}

function failuresIn({ informer: { failure, current } }: Pick<AccountHandle, 'informer'>): Failed[] {
  if (failure) return [failure.outcome];
  return [current?.templates, current?.registries].flatMap((listing) =>
    listing?.kind === 'failed' ? [listing.outcome] : [],
  );
}
