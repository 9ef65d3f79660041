/** The source of the read API in a folder: the memory of the manager that runs in this process, and the journal in its state file. */
import type { Clock } from '../../base/index.ts';
import { isBuiltIn, itemsOf, quotasOf, type AccountHandle } from '../../engine/index.ts';
import { burnMicrosPerHour, clampedMicros, runwaySeconds } from '../../engine/plan/index.ts';
import { impairmentTexts, type Manager } from '../../manager/index.ts';
import { longestPollSeconds, originOf, type ObjectKey } from '../../resources/index.ts';
import type { JournalReader } from '../../state/index.ts';
import type { ManagerState } from '../../shown/manager-state.ts';
import type { Reader } from './reader.ts';
import type { AccountNow, FleetSource, Holdings } from './source.ts';

export interface ManagerSourceOptions {
  readonly manager: Manager;
  readonly journal: JournalReader;
  readonly clock: Clock;
  readonly version: string;
  readonly commandFlags: string;
  /** Which command runs it. */
  readonly command: string;
  readonly host: string;
  readonly pid: number;
}

export class ManagerSource implements FleetSource {
  readonly place = 'folder';
  readonly version: string;
  readonly commandFlags: string;
  readonly notes: readonly string[] = [];
  readonly timelineLimits = 'the last 20 mutations of each object';
  readonly #options: ManagerSourceOptions;
  readonly #startedAt: number;
  readonly #listeners: ((key: ObjectKey) => void)[] = [];

  constructor(options: ManagerSourceOptions) {
    this.#options = options;
    this.version = options.version;
    this.commandFlags = options.commandFlags;
    this.#startedAt = options.clock.wallMs();
  }

  get store() {
    return this.#options.manager.store;
  }

  listen(onMoved: (key: ObjectKey) => void): void {
    this.#listeners.push(onMoved);
    this.store.listen(onMoved);
  }

  /** An object has had a pass. Its record need not have changed. */
  passed(key: ObjectKey): void {
    for (const onMoved of this.#listeners) onMoved(key);
  }

  isCurrent(key: ObjectKey): boolean {
    return this.#options.manager.passed.has(key);
  }

  createdAt(): undefined {
    // The record has it.
  }

  labelsOf(key: ObjectKey) {
    const { manager } = this.#options;
    return manager.snapshot?.objects.get(key)?.labels ?? this.store.record(key)?.manifest.labels ?? {};
  }

  accounts(): readonly AccountNow[] {
    return Array.from(this.#options.manager.accounts.handles(), (handle) => this.#account(handle));
  }

  brakes() {
    return this.#options.manager.brakes();
  }

  documentProblems() {
    return this.#options.manager.snapshot?.problems ?? [];
  }

  manager(): ManagerState {
    const { clock, command, host, pid } = this.#options;
    const found = { command, host, pid, startedAt: this.#startedAt, seenAt: clock.wallMs() };
    const notes = impairmentTexts(this.impairments());
    return notes.length === 0
      ? { ...found, phase: 'Running' }
      : { ...found, phase: 'Impaired', note: notes.join('; ') };
  }

  readonly impairments = () => this.#options.manager.impairments;

  heartbeatAt(key: ObjectKey): number | undefined {
    return this.#options.manager.heartbeatTimes()?.[key];
  }

  journal(key: ObjectKey) {
    return this.#options.journal.ofObject(key);
  }

  timeline({ namespaces }: Reader, before: number | undefined, limit: number) {
    const { journal } = this.#options;
    return namespaces === undefined ? journal.page(before, limit) : journal.pageOf(namespaces, before, limit);
  }

  holdings(): Holdings | undefined {
    const { manager } = this.#options;
    const { snapshot } = manager;
    if (!snapshot) return undefined;
    const accounts = Array.from(manager.accounts.handles()).flatMap(({ name, spec, informer, catalog }) => {
      const { current } = informer;
      if (!current) return [];
      const own = [...itemsOf(current.templates).values()].filter(
        (template) => !isBuiltIn(template, catalog.current),
      );
      const contents = {
        services: [...current.services.values()],
        volumes: [...current.volumes.values()],
        templates: own,
        registries: [...itemsOf(current.registries).values()],
      };
      return [{ account: name, origin: originOf(spec.url), contents }];
    });
    return { accounts, fleet: { snapshot, store: this.store } };
  }

  #account({ name, isShared = false, spec, informer, pace }: AccountHandle): AccountNow {
    const { current, failure, balanceMicros } = informer;
    const burn = current && burnMicrosPerHour(current);
    const runway =
      burn === undefined || balanceMicros === undefined ? undefined : runwaySeconds(balanceMicros, burn);
    return {
      name,
      isShared,
      pollSeconds: spec.pollSeconds,
      longestPollSeconds: longestPollSeconds(spec),
      readAt: current?.receivedAt,
      ageMs: current && this.#options.clock.monotonicMs() - current.startedAtMs,
      failure: failure && { reason: failure.reason, message: failure.message },
      requests: pace?.(),
      balanceMicros,
      burnMicrosPerHour: burn === undefined ? undefined : clampedMicros(burn),
      reservedMicrosPerHour: this.#options.manager.reservedMicros(name),
      runwaySeconds: runway,
      quotas: current ? quotasOf(current) : [],
    };
  }
}
