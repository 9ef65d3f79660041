/**
 * The resources of owned objects in a cluster. The roster of an owner is durable first. Then its resources follow:
 *
 * | the resource                                   | step                                                              |
 * |------------------------------------------------|-------------------------------------------------------------------|
 * | is wanted, and not there                       | it is applied, unless a read finds one of its name                |
 * | differs from what is wanted                    | it is applied again, by force                                     |
 * | still differs, because others have added fields | a patch removes these                                            |
 * | still differs                                  | none: the API server does not keep it. A change of either is tried again |
 * | is not wanted any more                         | it is deleted, with its uid. Its finalizer takes the service away |
 * | is being deleted                               | none                                                              |
 * | has its name, and another owner or none        | none                                                              |
 *
 * A resource that was edited is applied again, with an Event. A refusal by the API server is an Event of the owner.
 */
import { backoffMs, mergePatch, messageOf, sameValue, type Clock, type Random } from '../base/index.ts';
import type { DesiredObject } from '../desired/index.ts';
import type { DerivedObjects, WantedResources } from '../engine/index.ts';
import {
  KubernetesError,
  type EventRecorder,
  type KubernetesApi,
  type KubernetesObject,
} from '../kubernetes/index.ts';
import type { Reason } from '../reasons/index.ts';
import { apiVersion, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { targetOf, type ClusterStore } from '../state/index.ts';

export interface OwnedResourcesOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'patch' | 'remove'>;
  readonly store: Pick<ClusterStore, 'isKindStateDurable' | 'record'>;
  readonly derived: Pick<DerivedObjects, 'wantedResources' | 'source'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Whether this process may write now. */
  readonly mayAct: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
}

/** What was last sent for a resource. */
interface Attempt {
  readonly uid: string;
  /** What was wanted then. */
  readonly body: object;
  /** The resource as it was when it was sent. */
  readonly seen: DesiredObject | undefined;
  /** Of the answer. */
  readonly generation: number;
  readonly did: 'apply' | 'patch';
}

interface Refusal {
  readonly body: object;
  readonly failures: number;
  readonly nextMs: number;
}

/** What belongs to one owner and one resource. */
interface Subject {
  readonly owner: ObjectKey;
  readonly ownerUid: string;
  readonly key: ObjectKey;
  readonly wanted: DesiredObject;
  readonly body: Body;
}

interface Body {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: object;
}

/** Under this name the API server records which fields of a replica its fleet owns. */
export const fieldManager = 'fleetkeeper-fleet';
const atOnce = 8;
const refusedBackoff = { firstMs: 5000, longestMs: 300_000 };

export class OwnedResources {
  readonly #options: OwnedResourcesOptions;
  readonly #attempts = new Map<ObjectKey, Attempt>();
  readonly #refusals = new Map<ObjectKey, Refusal>();
  /** Deleted, with their uid. The watch may not show it yet. */
  readonly #deleted = new Map<ObjectKey, string>();

  constructor(options: OwnedResourcesOptions) {
    this.#options = options;
  }

  /** Rejects if the API server can't be reached, or somebody was faster. */
  async sync(owner: ObjectKey): Promise<void> {
    const { derived, store, mayAct } = this.#options;
    const owned = derived.wantedResources(owner);
    if (!owned || !mayAct() || !store.isKindStateDurable(owner)) return;
    const steps = [...this.#removals(owned), ...this.#applications(owner, owned)];
    for (let next = 0; next < steps.length; next += atOnce) {
      await Promise.all(steps.slice(next, next + atOnce).map((step) => step()));
    }
  }

  #removals({ wanted, resources }: WantedResources): (() => Promise<void>)[] {
    return [...resources]
      .filter(
        ([key, { uid, deletionRequestedAt }]) =>
          !wanted.has(key) && deletionRequestedAt === undefined && this.#deleted.get(key) !== uid,
      )
      .map(([key, { uid }]) => async () => {
        await this.#options.api.remove(targetOf(key), { uid });
        this.#deleted.set(key, uid);
        this.#attempts.delete(key);
        this.#refusals.delete(key);
      });
  }

  #applications(owner: ObjectKey, { uid: ownerUid, wanted, resources }: WantedResources) {
    const { source } = this.#options.derived;
    return [...wanted].flatMap(([key, object]) => {
      const facts = resources.get(key);
      const isTaken = !facts && (source?.objects.has(key) || source?.unusable.has(key));
      if (isTaken === true || facts?.deletionRequestedAt !== undefined) return [];
      const body = bodyOf(owner, ownerUid, object);
      const subject = { owner, ownerUid, key, wanted: object, body };
      if (this.#isRefused(key, body)) return [];
      if (!facts) return [() => this.#guarded(subject, () => this.#create(subject))];
      const step = this.#step(
        subject,
        { uid: facts.uid, generation: facts.generation },
        source?.objects.get(key),
      );
      return step ? [() => this.#guarded(subject, step)] : [];
    });
  }

  #step(
    subject: Subject,
    facts: { readonly uid: string; readonly generation: number },
    shown: DesiredObject | undefined,
  ): (() => Promise<void>) | undefined {
    const { key, body, wanted } = subject;
    const last = this.#attempts.get(key);
    const before = last?.uid === facts.uid && sameValue(last.body, body) ? last : undefined;
    const isOther = last?.uid === facts.uid && !before;
    if (shown && !isOther && isAsWanted(wanted, shown)) return undefined;
    const isSpecOther = !shown || !sameValue(shown.spec, wanted.spec);
    if (!before) return () => this.#apply(subject, facts.uid, shown);
    const isUnchanged = before.generation === facts.generation;
    if (before.seen === shown && (before.did === 'patch' || !isUnchanged)) return undefined;
    if (before.did === 'apply' && isUnchanged && shown) return () => this.#patch(subject, facts.uid, shown);
    return () => {
      if (isSpecOther && facts.generation > before.generation) this.#edited(subject, facts.uid);
      return this.#apply(subject, facts.uid, shown);
    };
  }

  /** Not by force: somebody may have made one of its name that is not shown yet. */
  async #create(subject: Subject): Promise<void> {
    const { api } = this.#options;
    // The watch will show it.
    if (await api.get(targetOf(subject.key))) return;
    const body = { apiVersion, kind: parseObjectKey(subject.key).kind, ...subject.body };
    const answer = await api.patch(targetOf(subject.key), { kind: 'apply', body, fieldManager });
    this.#remember(subject, answer, undefined, 'apply');
  }

  async #apply(subject: Subject, uid: string, shown: DesiredObject | undefined): Promise<void> {
    const { metadata, spec } = subject.body;
    const body = { apiVersion, kind: parseObjectKey(subject.key).kind, metadata: { ...metadata, uid }, spec };
    const answer = await this.#options.api.patch(targetOf(subject.key), {
      kind: 'apply',
      body,
      fieldManager,
      force: true,
    });
    this.#remember(subject, answer, shown, 'apply');
  }

  async #patch(subject: Subject, uid: string, shown: DesiredObject): Promise<void> {
    const { labels, annotations } = subject.wanted;
    const spec = mergePatch(plain(shown.spec), subject.body.spec);
    const body = { metadata: { uid, labels, annotations }, ...(spec === undefined ? {} : { spec }) };
    const answer = await this.#options.api.patch(targetOf(subject.key), {
      kind: 'merge',
      body,
      fieldManager,
    });
    this.#remember(subject, answer, shown, 'patch');
  }

  #remember(
    { key, body }: Subject,
    { metadata: { uid, generation = 0 } }: KubernetesObject,
    seen: DesiredObject | undefined,
    did: Attempt['did'],
  ): void {
    this.#attempts.set(key, { uid, body, seen, generation, did });
    this.#refusals.delete(key);
    this.#deleted.delete(key);
  }

  #isRefused(key: ObjectKey, body: object): boolean {
    const refusal = this.#refusals.get(key);
    const nowMs = this.#options.clock.monotonicMs();
    return refusal !== undefined && sameValue(refusal.body, body) && nowMs < refusal.nextMs;
  }

  /** What the API server refuses for good must not keep the others. */
  async #guarded(subject: Subject, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { clock, random } = this.#options;
      const { key, body } = subject;
      const known = this.#refusals.get(key);
      const failures = known && sameValue(known.body, body) ? known.failures + 1 : 0;
      const nextMs = clock.monotonicMs() + backoffMs(failures, refusedBackoff, random);
      this.#refusals.set(key, { body, failures, nextMs });
      this.#tell(
        subject.owner,
        subject.ownerUid,
        'ChildRefused',
        `${key} could not be applied: ${messageOf(error)}`,
      );
    }
  }

  #edited({ owner, key }: Subject, uid: string): void {
    const message = `its spec was edited, and is applied again as ${owner} requires; edit the template there`;
    this.#tell(key, uid, 'ChildEdited', message);
  }

  #tell(key: ObjectKey, uid: string, reason: Reason, message: string): void {
    const about = { apiVersion, ...parseObjectKey(key), uid };
    this.#options.recorder.record({ about, type: 'Warning', reason, message });
  }
}

function bodyOf(
  owner: ObjectKey,
  ownerUid: string,
  { namespace, name, labels, annotations, spec }: DesiredObject,
): Body {
  const { kind, name: ownerName } = parseObjectKey(owner);
  const reference = { apiVersion, kind, name: ownerName, uid: ownerUid, controller: true };
  return {
    metadata: { name, namespace, labels, annotations, ownerReferences: [reference] },
    spec: plain(spec),
  };
}

/** Without what JSON leaves out. */
function plain(spec: object): object {
  return JSON.parse(JSON.stringify(spec)) as object;
}

function isAsWanted(wanted: DesiredObject, shown: DesiredObject): boolean {
  return (
    sameValue(shown.spec, wanted.spec) &&
    hasAll(shown.labels, wanted.labels) &&
    hasAll(shown.annotations, wanted.annotations)
  );
}

function hasAll(shown: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => shown[name] === value);
}

/** Of what was sent, and not of the moment. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof KubernetesError ? (error.status ?? 500) : 500;
  return status >= 400 && status < 500 && ![401, 404, 408, 409, 429].includes(status);
}
