/**
 * The records of the provider and what time does to them. Nothing here runs by itself: whoever looks calls `settle`,
 * and everything that fell due until now happens in the order of its time.
 *
 *     service: (queued) -> provisioning -> running -> stopping -> paused -> provisioning ...
 *              running -> sleeping (idle); any -> deleting -> deleted -> (no record)
 *     volume:  provisioning -> ready -> expanding -> ready; ready -> deleting -> deleted -> (no record)
 */
import type { Conduct, Json } from './conduct.ts';

export interface Resources {
  readonly gpuCount: number;
  readonly cpu: number;
  readonly memoryGb: number;
}

export interface Service {
  readonly id: string;
  readonly name: string;
  readonly region: string;
  readonly geography: string;
  image: string;
  command: readonly string[];
  httpPort: number | null;
  resources: Resources;
  environment: Readonly<Record<string, string>>;
  volumeId: string | null;
  sleepAfterMinutes: number | null;
  state: string;
  revision: number;
  readonly createdAtMs: number;
  /** What comes next, and when. */
  next: Next[];
  activities: Map<string, Activity>;
  idleSinceMs: number;
}

export interface Activity {
  readonly name: string;
  readonly registeredAtMs: number;
  readonly beatenAtMs: number;
  readonly releasedAtMs?: number;
}

export interface Volume {
  readonly id: string;
  name: string;
  readonly region: string;
  readonly geography: string;
  readonly mode: string;
  serviceId: string | null;
  status: string;
  sizeGb: number;
  requestedSizeGb: number;
  provisioned: boolean;
  revision: number;
  readonly createdAtMs: number;
  next: Next[];
}

export interface Template {
  readonly id: string;
  revision: number;
  builtIn: boolean;
  spec: Json;
  readonly createdAtMs: number;
}

export interface Registry {
  readonly id: string;
  revision: number;
  readonly repository: string;
  readonly createdAtMs: number;
  rotatedAtMs: number | null;
}

interface Next {
  readonly atMs: number;
  readonly state: string;
}

/** A record at an earlier moment, for reads that lag. */
interface Moment {
  readonly atMs: number;
  readonly services: ReadonlyMap<string, Service>;
  readonly volumes: ReadonlyMap<string, Volume>;
}

export class Records {
  readonly #conduct: Conduct;
  readonly services = new Map<string, Service>();
  readonly volumes = new Map<string, Volume>();
  readonly templates = new Map<string, Template>();
  readonly registries = new Map<string, Registry>();
  #past: Moment[] = [];

  constructor(conduct: Conduct) {
    this.#conduct = conduct;
  }

  /** Everything that is due until `nowMs` happens. */
  settle(nowMs: number): void {
    for (;;) {
      const due = [...this.services.values(), ...this.volumes.values(), ...this.#idle()]
        .map((record) => ({ record, next: record.next[0] }))
        .filter(({ next }) => next !== undefined && next.atMs <= nowMs)
        .sort((left, right) => (left.next?.atMs ?? 0) - (right.next?.atMs ?? 0))[0];
      if (!due?.next) return;
      due.record.next.shift();
      this.#enter(due.record, due.next);
      this.remember(due.next.atMs);
    }
  }

  /** The account as it was `lagMs` ago. */
  before(nowMs: number, lagMs: number): Pick<Moment, 'services' | 'volumes'> {
    if (lagMs === 0) return this;
    const moment = this.#past.findLast(({ atMs }) => atMs <= nowMs - lagMs);
    return moment ?? { services: new Map(), volumes: new Map() };
  }

  /** Only for a provider whose reads lag. */
  remember(nowMs: number): void {
    const { listLagMs, readLagMs } = this.#conduct;
    const longestMs = Math.max(listLagMs, readLagMs);
    if (longestMs === 0) return;
    const kept = this.#past.findLastIndex(({ atMs }) => atMs <= nowMs - longestMs);
    this.#past = [
      ...this.#past.slice(Math.max(0, kept)),
      { atMs: nowMs, services: structuredClone(this.services), volumes: structuredClone(this.volumes) },
    ];
  }

  /** A service with a sleep policy and nothing to do falls asleep. */
  *#idle(): Generator<Service> {
    for (const service of this.services.values()) {
      const { state, sleepAfterMinutes, next, activities, idleSinceMs } = service;
      const isUsed = [...activities.values()].some(({ releasedAtMs }) => releasedAtMs === undefined);
      if (state !== 'running' || sleepAfterMinutes === null || next.length > 0 || isUsed) continue;
      service.next.push({ atMs: idleSinceMs + sleepAfterMinutes * 60_000, state: 'sleeping' });
      yield service;
    }
  }

  #enter(record: Service | Volume, { state, atMs }: Next): void {
    if (state === 'gone') {
      this.services.delete(record.id);
      this.volumes.delete(record.id);
      return;
    }
    if (this.#conduct.stepsAdvanceRevision) record.revision += this.#conduct.revisionStep;
    if ('environment' in record) {
      record.state = state;
      if (state === 'running') record.idleSinceMs = atMs;
      if (state === 'deleted') this.#detach(record);
      return;
    }
    record.status = state;
    if (state === 'ready') {
      record.sizeGb = record.requestedSizeGb;
      record.provisioned = true;
    }
  }

  /** §3 rule 3: service-owned storage goes with it, independent volumes remain. */
  #detach({ id }: Service): void {
    for (const volume of this.volumes.values()) {
      if (volume.serviceId !== id) continue;
      if (volume.mode === 'independent') volume.serviceId = null;
      else this.volumes.delete(volume.id);
    }
  }
}
