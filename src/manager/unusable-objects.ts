/**
 * Reports objects of a cluster that the API server admitted, but the schema refuses. Examples: an unknown
 * time zone; a field that an older CRD let pass. Their conditions and an Event report the problem. Nothing
 * else of their status is changed, and nothing is sent to the provider. If such an object was in use before,
 * the engine holds it instead.
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
  #reporting: Promise<void> = Promise.resolve();
  #reported: DesiredSnapshot | undefined;
  /** Objects to report with the next snapshot, even if nothing changes until then. */
  readonly #unreported = new Set<ObjectKey>();

  constructor(options: UnusableObjectsOptions) {
    this.#options = options;
  }

  /** Reports each problem that is not in the status yet. After a failed write, the next snapshot tries again. */
  report(snapshot: DesiredSnapshot): void {
    this.#reporting = this.#reporting.then(() => this.#reportAll(snapshot));
  }

  /** Somebody may have wiped the condition. */
  statusMoved(key: ObjectKey): void {
    if (this.#reported?.unusable.has(key)) this.#unreported.add(key);
  }

  async stop(): Promise<void> {
    await this.#reporting;
  }

  async #reportAll(snapshot: DesiredSnapshot): Promise<void> {
    const { store, logger, mayAct } = this.#options;
    const changed = changedKeys(snapshot, this.#reported);
    const keys = new Set(changed === 'all' ? snapshot.unusable.keys() : [...changed, ...this.#unreported]);
    this.#reported = snapshot;
    this.#unreported.clear();
    for (const key of keys) {
      const facts = snapshot.cluster?.get(key);
      const [problem] = snapshot.unusable.get(key) ?? [];
      if (!facts || !problem) continue;
      if (store.record(key) || !mayAct()) {
        this.#unreported.add(key);
        continue;
      }
      try {
        await this.#reportOne(key, facts, problem);
      } catch (error) {
        this.#unreported.add(key);
        logger.warn({ object: key, note: messageOf(error) }, 'its status could not be written');
      }
    }
  }

  async #reportOne(key: ObjectKey, facts: ClusterFacts, problem: Problem): Promise<void> {
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
