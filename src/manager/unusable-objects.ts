/**
 * Objects of a cluster that the engine can't take up: the API server has admitted them, and our schema does not (a time zone that
 * there is none of; a field that an older definition lets pass). A person is told in their conditions, and by an Event; nothing else of their
 * status is touched, and nothing is done at the provider. One that was in use before is held by the engine itself.
 */
import { mergePatch, messageOf, rfc3339, type Clock } from '../base/index.ts';
import {
  changedKeys,
  formatProblem,
  type ClusterFacts,
  type DesiredSnapshot,
  type Problem,
} from '../desired/index.ts';
import type { EventRecorder, KubernetesApi } from '../kubernetes/index.ts';
import { holdFor } from '../engine/plan/index.ts';
import {
  apiVersion,
  parseObjectKey,
  resourceTypes,
  type Condition,
  type ObjectKey,
} from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import { buildConditions } from '../engine/status/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface UnusableObjectsOptions {
  readonly api: Pick<KubernetesApi, 'patch'>;
  readonly store: Pick<StateStore, 'record'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly mayAct: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class UnusableObjects {
  readonly #options: UnusableObjectsOptions;
  #telling: Promise<void> = Promise.resolve();
  #told: DesiredSnapshot | undefined;
  /** What may have to be told with the next snapshot, although nothing changes until then. */
  readonly #untold = new Set<ObjectKey>();

  constructor(options: UnusableObjectsOptions) {
    this.#options = options;
  }

  /** Tells each that does not say so yet. What can't be written is tried again with the next snapshot. */
  tell(snapshot: DesiredSnapshot): void {
    this.#telling = this.#telling.then(() => this.#tellAll(snapshot));
  }

  /** Somebody may have wiped what it says. */
  statusMoved(key: ObjectKey): void {
    if (this.#told?.unusable.has(key)) this.#untold.add(key);
  }

  async stop(): Promise<void> {
    await this.#telling;
  }

  async #tellAll(snapshot: DesiredSnapshot): Promise<void> {
    const { store, logger, mayAct } = this.#options;
    const changed = changedKeys(snapshot, this.#told);
    const keys = new Set(changed === 'all' ? snapshot.unusable.keys() : [...changed, ...this.#untold]);
    this.#told = snapshot;
    this.#untold.clear();
    for (const key of keys) {
      const facts = snapshot.cluster?.get(key);
      const [problem] = snapshot.unusable.get(key) ?? [];
      if (!facts || !problem) continue;
      if (store.record(key) || !mayAct()) {
        this.#untold.add(key);
        continue;
      }
      try {
        await this.#tellOne(key, facts, problem);
      } catch (error) {
        this.#untold.add(key);
        logger.warn({ object: key, note: messageOf(error) }, 'its status could not be written');
      }
    }
  }

  async #tellOne(key: ObjectKey, facts: ClusterFacts, problem: Problem): Promise<void> {
    const { api, clock, recorder } = this.#options;
    const { uid, resourceVersion, generation } = facts;
    const before = (facts.status ?? {}) as { readonly conditions?: readonly Condition[] };
    const message = formatProblem(problem);
    const conditions = buildConditions({
      plan: holdFor('InvalidSpec', message),
      health: { ready: 'False', reason: 'InvalidSpec', message },
      outcomeUnknown: undefined,
      overdue: undefined,
      drift: [],
      generation,
      previous: before.conditions ?? [],
      now: rfc3339(clock.wallMs()),
    });
    const status = mergePatch(before, { ...before, observedGeneration: generation, conditions });
    if (status === undefined) return;
    const { kind, namespace, name } = parseObjectKey(key);
    const body = { metadata: { uid, resourceVersion }, status };
    await api.patch(
      { type: resourceTypes[kind], namespace, name },
      { kind: 'merge', body, subresource: 'status' },
    );
    const about = { apiVersion, kind, namespace, name, uid };
    recorder.record({ about, type: 'Warning', reason: 'InvalidSpec', message });
  }
}
