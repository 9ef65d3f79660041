/**
 * The state of the Jobs that ProtectedTasks last as long as (`until.jobRef`). A Job is read when a pass first asks
 * for it, and again whenever the watch reports a change. Before that, and while it can't be read, it is `unknown`.
 * After a failed read, the known state stays. A Job is `gone` only when the API server answers so (404), and the list
 * of Jobs does not show it, either.
 */
import type { Clock } from '../base/index.ts';
import type { KubernetesApi } from '../kubernetes/index.ts';
import type { JobAnswer } from '../engine/plan/index.ts';
import { isFinished, workloadTypes } from './workload.ts';

export interface JobStatesOptions {
  readonly api: Pick<KubernetesApi, 'get'>;
  readonly clock: Clock;
  /** Whether the watch shows it. */
  readonly isListed: (namespace: string, name: string) => boolean;
  /** It is to be read. */
  readonly onAsked: (namespace: string, name: string) => void;
  readonly onChange: (namespace: string, name: string) => void;
}

interface Known {
  answer: JobAnswer;
  /** Monotonic. */
  askedAtMs: number;
}

/** Longer than any pass waits before it asks again. */
const forgetAfterMs = 86_400_000;

export class JobStates {
  readonly #options: JobStatesOptions;
  /** By `namespace/name`; what was asked for last comes last. */
  readonly #known = new Map<string, Known>();

  constructor(options: JobStatesOptions) {
    this.#options = options;
  }

  answer(namespace: string, name: string): JobAnswer {
    const id = `${namespace}/${name}`;
    const known = this.#known.get(id);
    const answer = known?.answer ?? 'unknown';
    this.#known.delete(id);
    this.#known.set(id, { answer, askedAtMs: this.#options.clock.monotonicMs() });
    if (!known) {
      this.#forgetIdle();
      this.#options.onAsked(namespace, name);
    }
    return answer;
  }

  /** Somebody has asked for it. */
  isWatched(namespace: string, name: string): boolean {
    return this.#known.has(`${namespace}/${name}`);
  }

  /** Rejects with a `KubernetesError` when it can't be read. */
  async read(namespace: string, name: string): Promise<void> {
    const job = await this.#options.api.get({ type: workloadTypes.Job, namespace, name });
    const known = this.#known.get(`${namespace}/${name}`);
    if (!known) return;
    const before = known.answer;
    if (job) known.answer = isFinished('Job', job) ? 'finished' : 'running';
    // Listed all the same: the watch lags behind, or it has just been made; it will tell which.
    else known.answer = this.#options.isListed(namespace, name) ? 'unknown' : 'gone';
    if (known.answer !== before) this.#options.onChange(namespace, name);
  }

  /**
   * What is over, and nobody has asked for in a day, is read anew when somebody does. Who waits for a Job to end asks only
   * once: that one is kept.
   */
  #forgetIdle(): void {
    const oldestMs = this.#options.clock.monotonicMs() - forgetAfterMs;
    for (const [id, { answer, askedAtMs }] of this.#known) {
      if (askedAtMs >= oldestMs) return;
      if (answer === 'finished' || answer === 'gone') this.#known.delete(id);
    }
  }
}
