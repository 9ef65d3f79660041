/**
 * Every service and volume that has a record, and the work for each: one request at a time (subject.ts), with growing pauses
 * for as long as the engine or cluster is away. A request that is replaced is given up between two steps.
 *
 * A service that is up is checked when its container may have ended, and the end is reported.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { sleep } from '../../../base/clock.ts';
import type { Report, RuntimeHost, RuntimeRequest } from '../../domain/runtime.ts';
import type { ServiceRecord, VolumeRecord } from '../../store/records.ts';
import { Subject, type Up } from './subject.ts';

export const retries = { firstMs: 500, longestMs: 30_000 };

/** What a runtime does for a subject. All of it throws when it is to be tried again. */
export interface SubjectWork {
  /** `failures`: as often it was tried in vain already, and `isFailure` held. */
  carryOut(request: RuntimeRequest, failures: number, signal: AbortSignal): Promise<Report>;
  /** Before each request. Absent: at once. */
  mayBegin?(signal: AbortSignal): Promise<void>;
  /** Whether a service that is about to sleep was used since it was measured last. */
  isInUse(request: RuntimeRequest): Promise<boolean>;
  /** Undefined when it has no port. */
  endpointOf(request: RuntimeRequest): Promise<string | undefined>;
  /** Undefined while it runs as it should. */
  whyDown(serviceId: string, up: Up): Promise<string | undefined>;
  /** It has no record any more. */
  forget(subjectId: string): void;
  isFailure(error: unknown): boolean;
  onRetry(error: unknown, details: object): void;
}

export class Subjects {
  readonly #host: RuntimeHost;
  readonly #work: SubjectWork;
  readonly #subjects = new Map<string, Subject>();

  constructor(host: RuntimeHost, work: SubjectWork) {
    this.#host = host;
    this.#work = work;
  }

  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void {
    for (const { id, accountId, state, endpoint, resources } of services) {
      const subject = this.#subject(id);
      const { memoryGb } = resources;
      subject.memoryGb = memoryGb;
      if (state === 'running') subject.up = { accountId, endpoint, memoryGb };
    }
    for (const { id } of volumes) this.#subject(id);
  }

  begin(request: RuntimeRequest): void {
    const subject = this.#subject(request.subjectId);
    subject.replace(request);
    this.#begin(subject);
  }

  /** Gives up all requests. */
  close(): void {
    for (const subject of this.#subjects.values()) subject.replace(undefined);
  }

  has(id: string): boolean {
    return this.#subjects.has(id);
  }

  /** Undefined while it is down. */
  upOf(id: string): Up | undefined {
    return this.#subjects.get(id)?.up;
  }

  /** Services that should run. */
  ups(): string[] {
    return [...this.#subjects.values()].filter(({ up }) => up).map(({ id }) => id);
  }

  /** Whether a service that should run still does. */
  recheck(id: string): void {
    const subject = this.#subjects.get(id);
    if (!subject?.up) return;
    subject.isDoubtful = true;
    this.#begin(subject);
  }

  #subject(id: string): Subject {
    let subject = this.#subjects.get(id);
    if (!subject) this.#subjects.set(id, (subject = new Subject(id)));
    return subject;
  }

  #begin(subject: Subject): void {
    subject.work ??= this.#workOff(subject);
  }

  async #workOff(subject: Subject): Promise<void> {
    while (subject.request || subject.isDoubtful) {
      const { request, signal } = subject;
      const details = { subject: subject.id, operation: request?.kind ?? 'inspect' };
      await this.#untilDone(details, signal, (failures) =>
        request ? this.#carryOut(subject, request, failures, signal) : this.#inspect(subject),
      );
    }
    subject.work = undefined;
  }

  /** Tries again for as long as `signal` allows. */
  async #untilDone(
    details: object,
    signal: AbortSignal,
    work: (failures: number) => Promise<void>,
  ): Promise<void> {
    let failures = 0;
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        return await work(failures);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#work.isFailure(error)) failures += 1;
        const waitMs = Math.round(backoffMs(tries, retries, this.#host.random));
        this.#work.onRetry(error, { ...details, waitMs });
        await sleep(this.#host.clock, waitMs, signal);
      }
    }
  }

  async #carryOut(
    subject: Subject,
    request: RuntimeRequest,
    failures: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#work.mayBegin?.(signal);
    const ownedVolumeId = request.kind === 'remove' ? request.ownedVolumeId : null;
    if (ownedVolumeId !== null) await this.#abandon(ownedVolumeId);
    const staysRunning = request.kind === 'sleep' && (await this.#work.isInUse(request));
    const report = staysRunning
      ? await this.#keepRunning(request)
      : await this.#work.carryOut(request, failures, signal);
    if (signal.aborted) return;
    this.#host.onReports([report]);
    // Taking the report may have led to the next request.
    if (subject.request !== request) return;
    subject.request = undefined;
    this.#note(subject, request, report);
  }

  #note(subject: Subject, request: RuntimeRequest, report: Report): void {
    const { endpoint = null } = report;
    const { accountId } = request;
    if (request.kind === 'provision') subject.memoryGb = request.launch.resources.memoryGb;
    if ((request.kind === 'provision' && report.error === undefined) || report.staysRunning) {
      subject.up = { accountId, endpoint, memoryGb: subject.memoryGb };
      // It may have ended since it was inspected.
      subject.isDoubtful = true;
    }
    if (request.kind === 'remove' || request.kind === 'volume-delete') this.#forget(subject.id);
  }

  #forget(id: string): void {
    this.#subjects.delete(id);
    this.#work.forget(id);
  }

  /** The volume is deleted with its service: its open work ends first. */
  async #abandon(volumeId: string): Promise<void> {
    const volume = this.#subject(volumeId);
    volume.replace(undefined);
    await volume.work;
    this.#forget(volumeId);
  }

  async #keepRunning(request: RuntimeRequest): Promise<Report> {
    const report = { subjectId: request.subjectId, operationId: request.id, staysRunning: true } as const;
    const endpoint = await this.#work.endpointOf(request);
    return endpoint === undefined ? report : { ...report, endpoint };
  }

  /** Reports when the container of a service that is up has ended. */
  async #inspect(subject: Subject): Promise<void> {
    subject.isDoubtful = false;
    const { up } = subject;
    if (!up) return;
    try {
      const reason = await this.#work.whyDown(subject.id, up);
      if (reason === undefined || subject.up !== up) return;
      this.#host.onEnded(subject.id, reason);
      subject.up = undefined;
    } catch (error) {
      subject.isDoubtful = true;
      throw error;
    }
  }
}
