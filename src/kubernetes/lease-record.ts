/** The Lease of an election, as this process has seen it last, and the writes that take, renew and give it back. */
import { parseRfc3339, type Clock } from '../base/index.ts';
import { KubernetesError } from './errors.ts';
import type { KubernetesApi, KubernetesObject, ObjectMeta, ResourceType, Target } from './types.ts';

export interface LeaseOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseMs: number;
  /** What its holder knows now: namespaces, or `*` for all. It is written to the Lease with each renewal. */
  readonly reads?: () => readonly string[];
  readonly clock: Clock;
}

export type Attempted =
  | { readonly outcome: 'held' }
  /** Somebody was faster, and it is not known yet who. */
  | { readonly outcome: 'conflict' }
  /** Another process holds it. */
  | { readonly outcome: 'taken'; readonly reason: string };

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export const leaseType: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

const readsAnnotation = 'fleetkeeper.dev/reads';

/** Its holder's name shows whether a later holder, of an earlier version, has left the annotation as it was. */
interface Reads {
  readonly holder: string;
  readonly namespaces: readonly string[];
}

/** A holder that claims more is not waited for: somebody has mistyped. */
const longestClaimMs = 60_000;

export class LeaseRecord {
  readonly #options: LeaseOptions;
  readonly #target: Target;
  #object: KubernetesObject | undefined;
  /** When its spec was seen to differ from the one before. */
  #changedAtMs = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#target = { type: leaseType, namespace: options.namespace, name: options.name };
  }

  /** Undefined when nobody holds it. */
  get holder(): string | undefined {
    return this.#spec.holderIdentity || undefined;
  }

  get transitions(): number {
    return this.#spec.leaseTransitions ?? 0;
  }

  /** When it may be taken unless its holder renews it, on the monotonic clock; in the past for one without a holder. */
  get freeAtMs(): number {
    if (this.holder === undefined) return -Infinity;
    const claimedMs = Math.min((this.#spec.leaseDurationSeconds ?? 0) * 1000, longestClaimMs);
    return this.#changedAtMs + Math.max(claimedMs, this.#options.leaseMs);
  }

  /** What its holder knows; undefined: an earlier version does not show that. */
  get holderReads(): readonly string[] | undefined {
    return this.#object && readsOf(this.#object);
  }

  async read(signal: AbortSignal): Promise<void> {
    this.#see(await this.#options.api.get(this.#target, signal));
  }

  /** Takes it if it is free. */
  async acquire(signal: AbortSignal): Promise<Attempted> {
    await this.read(signal);
    if (this.#object === undefined) return this.#create(signal);
    const isFree = this.#isOurs || this.#options.clock.monotonicMs() >= this.freeAtMs;
    return isFree ? this.#write(this.#held(), signal) : this.#taken();
  }

  /** For who holds it: one request, unless somebody else has written to it. */
  async renew(signal: AbortSignal): Promise<Attempted> {
    const attempted = await this.#write(this.#held(), signal);
    if (attempted.outcome !== 'conflict') return attempted;
    await this.read(signal);
    return this.#isOurs ? this.#write(this.#held(), signal) : this.#taken();
  }

  /** For who holds it: lets the next one take it at once. */
  async release(signal: AbortSignal): Promise<void> {
    const attempted = await this.#write(this.#released(), signal);
    if (attempted.outcome !== 'conflict') return;
    await this.read(signal);
    if (this.#isOurs) await this.#write(this.#released(), signal);
  }

  get #spec(): LeaseSpec {
    return specOf(this.#object);
  }

  get #isOurs(): boolean {
    return this.holder === this.#options.identity;
  }

  #taken(): Attempted {
    const reason =
      this.holder === undefined ? 'nobody holds the Lease any more' : `${this.holder} holds the Lease`;
    return { outcome: 'taken', reason: this.#object === undefined ? 'the Lease was deleted' : reason };
  }

  #see(object: KubernetesObject | undefined): void {
    const changed = JSON.stringify(specOf(object)) !== JSON.stringify(this.#spec);
    if (changed || !this.#object) this.#changedAtMs = this.#options.clock.monotonicMs();
    this.#object = object;
  }

  async #create(signal: AbortSignal): Promise<Attempted> {
    const { api, name, namespace } = this.#options;
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, ...this.#annotations() },
      spec: this.#held(),
    };
    return this.#written(() => api.create(leaseType, lease, signal));
  }

  async #write(spec: LeaseSpec, signal: AbortSignal): Promise<Attempted> {
    const object = this.#object;
    if (object === undefined) return { outcome: 'conflict' };
    const metadata = { ...object.metadata, ...this.#annotations() };
    return this.#written(() => this.#options.api.replace(leaseType, { ...object, metadata, spec }, signal));
  }

  async #written(write: () => Promise<KubernetesObject>): Promise<Attempted> {
    try {
      this.#see(await write());
      return { outcome: 'held' };
    } catch (error) {
      if (!(error instanceof KubernetesError) || !(error.status === 409 || error.status === 404)) throw error;
      // A missing or terminating namespace is reported as such.
      if (this.#object === undefined && error.status === 404) throw error;
      return { outcome: 'conflict' };
    }
  }

  #annotations(): Pick<ObjectMeta, 'annotations'> {
    const { reads, identity } = this.#options;
    if (!reads) return {};
    const written: Reads = { holder: identity, namespaces: reads() };
    const before = this.#object?.metadata.annotations;
    return { annotations: { ...before, [readsAnnotation]: JSON.stringify(written) } };
  }

  #held(): LeaseSpec {
    const { clock, identity, leaseMs } = this.#options;
    const now = microTime(clock.wallMs());
    const { acquireTime = now, leaseTransitions = 0 } = this.#spec;
    const isNew = this.#object === undefined;
    return {
      ...this.#spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      acquireTime: this.#isOurs ? acquireTime : now,
      renewTime: now,
      leaseTransitions: this.#isOurs || isNew ? leaseTransitions : leaseTransitions + 1,
    };
  }

  #released(): LeaseSpec {
    const renewTime = microTime(this.#options.clock.wallMs());
    return { ...this.#spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime };
  }
}

/** Who holds a Lease, for who only wants to know. Times are by the holder's clock, in Unix milliseconds. */
export interface LeaseHolder {
  /** Undefined: it was given back. */
  readonly identity: string | undefined;
  readonly acquiredAt: number | undefined;
  readonly renewedAt: number | undefined;
  readonly durationMs: number;
  /** The namespaces of which it, or the last holder, knows what is declared, or `*` for all; undefined: an earlier version does not show that. */
  readonly reads?: readonly string[] | undefined;
}

/** Undefined when there is no such Lease. */
export async function readLease(
  api: Pick<KubernetesApi, 'get'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<LeaseHolder | undefined> {
  const object = await api.get({ type: leaseType, namespace, name });
  if (object === undefined) return undefined;
  const { holderIdentity, acquireTime = '', renewTime = '', leaseDurationSeconds = 0 } = specOf(object);
  return {
    identity: holderIdentity || undefined,
    acquiredAt: parseRfc3339(acquireTime),
    renewedAt: parseRfc3339(renewTime),
    durationMs: leaseDurationSeconds * 1000,
    reads: readsOf(object),
  };
}

function readsOf(object: KubernetesObject): readonly string[] | undefined {
  const { holderIdentity = '' } = specOf(object);
  try {
    const text = object.metadata.annotations?.[readsAnnotation] ?? '{}';
    const { holder, namespaces } = JSON.parse(text) as Partial<Reads>;
    const isOfHolder = holderIdentity === '' || holder === holderIdentity;
    return isOfHolder && Array.isArray(namespaces) ? namespaces : undefined;
  } catch {
    return undefined;
  }
}

export interface HeldLease {
  readonly name: string;
  readonly holder: string;
  /** Another one after each renewal. */
  readonly version: string;
  readonly durationMs: number;
}

/** All Leases of the namespace that somebody holds. */
export async function heldLeases(
  api: Pick<KubernetesApi, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<HeldLease[]> {
  const { items } = await api.list(leaseType, { namespace }, signal);
  return items.flatMap((object) => {
    const { holderIdentity, leaseDurationSeconds = 0 } = specOf(object);
    const { name, resourceVersion } = object.metadata;
    const durationMs = leaseDurationSeconds * 1000;
    return holderIdentity ? [{ name, holder: holderIdentity, version: resourceVersion, durationMs }] : [];
  });
}

function specOf(object: KubernetesObject | undefined): LeaseSpec {
  return object?.spec ?? {};
}

/** RFC 3339 with exactly six digits behind the second, as the API demands it. */
function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
