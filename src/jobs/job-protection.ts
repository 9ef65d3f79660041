/**
 * Jobs and Pods of a cluster. This room provides the state of Jobs that ProtectedTasks last as long as, and creates
 * ProtectedTasks for Jobs and Pods that are annotated `fleetkeeper.dev/protects: SERVICE` (`protection.ts`).
 *
 *     watches (metadata) ── keys ──> workqueue ──> get ──> decide (pure) ──> apply or remove
 *
 * A watch only triggers; decisions use a `get`. Nothing is decided in a namespace before its lists were complete: what is not
 * listed yet is not gone. Failures are tried again with backoff; requests that the API refuses as invalid, when
 * something about the Job or Pod changes.
 */
import { backoffMs, messageOf } from '../base/index.ts';
import { KubernetesError, type Change, type KubernetesObject, type Reflector } from '../kubernetes/index.ts';
import type { JobAnswer } from '../engine/plan/index.ts';
import { protectedTask } from '../kinds/protected-task/declaration.ts';
import { Workqueue } from '../engine/index.ts';
import { resourceTypes } from '../resources/index.ts';
import { JobStates } from './job-states.ts';
import { stepFor, taskNameOf, workloadOf, type Step } from './protection.ts';
import { protectedService, workloadKey, workloadTypes, type WorkloadKind } from './workload.ts';
import { areListed, itemOf, reflectorsOf, workloadReflectors, type WatchOptions } from './workload-watch.ts';

export interface JobProtectionOptions extends WatchOptions {
  /** In which namespaces annotated Jobs and Pods get their tasks from this process; `false`: in none. Default: in all. */
  readonly protects?: false | ((namespace: string) => boolean);
  /** Whether this process may write now. Default: yes. */
  readonly mayAct?: () => boolean;
}

export type JobListener = (namespace: string, name: string) => void;

/** What there is to do: read how a Job stands, or see to the protection of a Job or Pod. */
type WorkKey = `${'State' | WorkloadKind}/${string}/${string}`;

const workers = 4;
/** How often it is looked whether the lists are complete. */
const listMs = 1000;
const retry = { firstMs: 500, longestMs: 60_000 };
/** Of answers that stay the same until something is changed. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 422]);

export class JobProtection {
  readonly #options: JobProtectionOptions;
  readonly #protects: false | ((namespace: string) => boolean);
  readonly #watches: Readonly<Record<WorkloadKind, readonly Reflector[]>>;
  readonly #tasks: readonly Reflector[];
  readonly #states: JobStates;
  readonly #queue: Workqueue<WorkKey>;
  readonly #failures = new Map<WorkKey, number>();
  #listener: JobListener = () => {};
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: JobProtectionOptions) {
    this.#options = options;
    const { api, clock, metrics, protects = () => true } = options;
    this.#protects = protects;
    this.#queue = new Workqueue(clock, metrics, { name: 'jobs' });
    this.#watches = {
      Job: workloadReflectors(options, 'Job', (change) => this.#moved('Job', change)),
      Pod: protects ? workloadReflectors(options, 'Pod', (change) => this.#moved('Pod', change)) : [],
    };
    this.#tasks = protects ? this.#taskReflectors() : [];
    this.#states = new JobStates({
      api,
      clock,
      isListed: (namespace, name) => itemOf(this.#watches.Job, namespace, name) !== undefined,
      onAsked: (namespace, name) => this.#queue.add(`State/${namespace}/${name}`, 'edit'),
      onChange: (namespace, name) => this.#listener(namespace, name),
    });
  }

  get reflectors(): readonly Reflector[] {
    return [...this.#watches.Job, ...this.#watches.Pod, ...this.#tasks];
  }

  /** From now on, a caller is notified when the answer changes. */
  listen(listener: JobListener): void {
    this.#listener = listener;
  }

  /** How the Job stands, as far as is known. */
  answer(namespace: string, name: string): JobAnswer {
    return this.#states.answer(namespace, name);
  }

  /** Until the lists of a namespace are complete, every answer about it is `unknown`, and no task is made in it. */
  start(): void {
    for (const reflector of this.reflectors) reflector.start();
    this.#running = Promise.all(Array.from({ length: workers }, () => this.#work()));
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
    await this.#running;
  }

  #taskReflectors(): Reflector[] {
    return reflectorsOf(this.#options, (namespace) => ({
      type: resourceTypes[protectedTask.name],
      scope: { namespace },
      onChange: ({ object, previous, kind }) => {
        // The engine writes their status.
        const isStatus = kind === 'updated' && object.metadata.generation === previous.metadata.generation;
        const workload = workloadOf(object);
        const { namespace: place = 'default' } = object.metadata;
        if (workload && !isStatus && this.#protectsIn(place)) this.#queue.add(workload, 'edit');
      },
    }));
  }

  #moved(kind: WorkloadKind, { object, previous }: Change): void {
    const { namespace = 'default', name } = object.metadata;
    if (kind === 'Job' && this.#states.isWatched(namespace, name)) {
      this.#queue.add(`State/${namespace}/${name}`, 'edit');
    }
    const isAnnotated = [object, previous].some((each) => each && protectedService(each) !== undefined);
    if (isAnnotated && this.#protectsIn(namespace))
      this.#queue.add(workloadKey(kind, namespace, name), 'edit');
  }

  #protectsIn(namespace: string): boolean {
    return this.#protects !== false && this.#protects(namespace);
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.take();
      if (key === undefined) return;
      try {
        await this.#see(key);
        this.#failures.delete(key);
      } catch (error) {
        this.#failed(key, error);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #see(key: WorkKey): Promise<void> {
    const [what, namespace, name] = key.split('/') as ['State' | WorkloadKind, string, string];
    const isState = what === 'State';
    const isListed = areListed(isState ? this.#watches.Job : this.reflectors, namespace);
    if (!isListed || (!isState && this.#options.mayAct?.() === false)) this.#queue.addAfter(key, listMs);
    else await (isState ? this.#states.read(namespace, name) : this.#protect(what, namespace, name));
  }

  #failed(key: WorkKey, error: unknown): void {
    const { logger, random } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    const isRefused = error instanceof KubernetesError && refusals.has(error.status);
    if (failures === 0) logger.warn({ object: key, note: messageOf(error) }, 'job not seen to');
    if (isRefused) return;
    this.#failures.set(key, failures + 1);
    this.#queue.addAfter(key, backoffMs(failures, retry, random));
  }

  async #protect(kind: WorkloadKind, namespace: string, name: string): Promise<void> {
    const workload = await this.#options.api.get({ type: workloadTypes[kind], namespace, name });
    const task = itemOf(this.#tasks, namespace, taskNameOf(kind, name));
    await this.#take(stepFor(kind, workload, task), kind, namespace, name, task);
  }

  async #take(
    step: Step,
    kind: WorkloadKind,
    namespace: string,
    name: string,
    task: KubernetesObject | undefined,
  ): Promise<void> {
    const { api, logger } = this.#options;
    const target = { type: resourceTypes[protectedTask.name], namespace, name: taskNameOf(kind, name) };
    const about = { object: workloadKey(kind, namespace, name), task: target.name };
    switch (step.do) {
      case 'nothing':
        return;
      case 'tell':
        logger.warn({ ...about, note: step.note }, 'protection not possible');
        return;
      case 'apply':
        await api.patch(target, { kind: 'apply', body: step.object, force: true });
        logger.info(about, 'protection applied');
        return;
      case 'remove':
        if (task) await api.remove(target, { uid: task.metadata.uid }).catch(unlessGone);
        logger.info(about, 'protection removed');
    }
  }
}

/** Gone already, or another one by now: the watch will show which. */
function unlessGone(error: unknown): void {
  if (!(error instanceof KubernetesError) || (error.status !== 404 && error.status !== 409)) throw error;
}
