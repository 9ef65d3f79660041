/**
 * Objects of accounts whose read failed in a way that may pass: a 429, a 5xx, a connection that was lost. The account is read again, as the
 * limiter and `Retry-After` allow, and what a pass finds then counts. Only when the time of the observation is over, the failure does.
 * A pass before the first read of the object's account never counts: without that read, the observation is incomplete. Nor does one of an object
 * that may have something in several accounts, before the first read of each: it has another pass then.
 */
import { mayPass, type Outcome } from '../../api/index.ts';
import type { AccountHandle, PassResult } from '../../engine/index.ts';
import type { Manager } from '../../manager/index.ts';
import { entryOf } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { parseObjectKey, traitsOf } from '../../resources/index.ts';
import { accountNameOf } from './plan-file.ts';

type Failed = Exclude<Outcome<unknown>, { kind: 'applied' }>;

interface UnreadOptions {
  readonly manager: () => Pick<Manager, 'accounts' | 'snapshot' | 'recheck'>;
  readonly store: Pick<StateStore, 'record' | 'recordOf'>;
  /** Milliseconds until the observation ends. */
  readonly leftMs: () => number;
}

export class UnreadYet {
  readonly results = new Map<ObjectKey, PassResult>();
  /** With the accounts whose first read they await, beside their own. */
  readonly #early = new Map<ObjectKey, readonly Near[]>();
  readonly #options: UnreadOptions;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  /** Whether the object is seen only after another read. */
  awaits(key: ObjectKey, result: PassResult): boolean {
    this.results.delete(key);
    this.#early.delete(key);
    this.#recheckRead();
    const { plan } = result;
    const isBlind = plan.kind === 'wait' && entryOf(plan.reason).observed !== 'yes';
    if (!isBlind) return false;
    const { own, others, all } = this.#accountsOf(key);
    if (own && isAwaited(own)) return true;
    const early = others.filter(isAwaited);
    if (early.length > 0) {
      this.#early.set(key, early);
      return true;
    }
    const failures = own ? failuresIn(own) : all.flatMap(failuresIn);
    if (!failures.some((failure) => this.#isPassing(failure))) return false;
    this.results.set(key, result);
    return true;
  }

  /** Any pass may follow from a read. */
  #recheckRead(): void {
    for (const [key, accounts] of this.#early) {
      if (accounts.some(isAwaited)) continue;
      this.#early.delete(key);
      this.#options.manager().recheck(key);
    }
  }

  /** `own`: undefined if it is not known. */
  #accountsOf(key: ObjectKey): Accounts {
    const { manager, store } = this.#options;
    const { accounts, snapshot } = manager();
    const handles = new Map(Array.from(accounts.handles(), (handle) => [handle.name, handle]));
    const name = snapshot && accountNameOf({ objects: snapshot.objects, accounts: handles }, store, key);
    const { kind, namespace } = parseObjectKey(key);
    const spec = snapshot?.objects.get(key)?.spec;
    const named = (spec && traitsOf(kind).accounts?.(spec)) ?? [];
    return {
      own: name === undefined ? undefined : handles.get(name),
      others: named.flatMap((each) => handles.get(`${namespace}/${each}`) ?? []),
      all: [...handles.values()],
    };
  }

  /** A pause that lasts longer than the observation is not waited for. */
  #isPassing(failure: Failed): boolean {
    const pauseMs = 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0;
    return mayPass(failure) && pauseMs < this.#options.leftMs();
  }
}

type Near = Pick<AccountHandle, 'informer'>;

interface Accounts {
  readonly own: Near | undefined;
  readonly others: readonly Near[];
  readonly all: readonly Near[];
}

/** Its first read is under way. */
function isAwaited({ informer: { failure, current } }: Near): boolean {
  return !failure && !current;
}

function failuresIn({ informer: { failure, current } }: Near): Failed[] {
  if (failure) return [failure.outcome];
  return [current?.templates, current?.registries].flatMap((listing) =>
    listing?.kind === 'failed' ? [listing.outcome] : [],
  );
}
