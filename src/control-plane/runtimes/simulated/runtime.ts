/**
 * A runtime that only takes time: each operation succeeds after its duration on the platform's clock, counted from
 * when it was first begun. An image on a registry host under `.invalid`, a name that never resolves (RFC 2606), can't
 * be pulled: its service ends in `error`.
 *
 * To questions about containers it answers that it is a simulation. It reads no environment value, and repeats
 * nothing of a command.
 */
import { invariant } from '../../../base/invariant.ts';
import { Agenda } from '../../domain/agenda.ts';
import type { Durations } from '../../domain/config.ts';
import type { Clock } from '../../../base/clock.ts';
import type { OperationKind, ServiceRecord } from '../../store/records.ts';
import type {
  Execution,
  ExecutionResult,
  Report,
  Runtime,
  RuntimeFactory,
  RuntimeHost,
  RuntimeRequest,
} from '../../domain/runtime.ts';
import { simulatedLogs, simulatedMetrics } from './output.ts';

/** As a shell reports a command that it found but could not execute. Success would be made up (§9 rule 1). */
const notExecutable = 126;

export function simulatedRuntime(durations: Durations): RuntimeFactory {
  return (host) => new SimulatedRuntime(durations, host);
}

class SimulatedRuntime implements Runtime {
  readonly browser = 'page';
  readonly #durationMs: Readonly<Record<OperationKind, number>>;
  readonly #agenda: Agenda;
  readonly #clock: Clock;
  readonly #requests = new Map<string, RuntimeRequest>();

  constructor(durations: Durations, { time, clock, onReports, onFailure }: RuntimeHost) {
    this.#clock = clock;
    this.#durationMs = {
      provision: durations.provisionMs,
      stop: durations.stopMs,
      sleep: durations.stopMs,
      remove: durations.removeMs,
      'volume-provision': durations.volumeProvisionMs,
      'volume-expand': durations.volumeExpandMs,
      'volume-delete': durations.volumeDeleteMs,
    };
    const onDue = (subjectIds: readonly string[]) => {
      const requests = subjectIds.map((subjectId) => this.#requestOf(subjectId));
      onReports(requests.map(reportOf));
      for (const request of requests) {
        if (this.#requests.get(request.subjectId) === request) this.#requests.delete(request.subjectId);
      }
    };
    this.#agenda = new Agenda(time, onDue, onFailure);
  }

  /** Nothing runs, so nothing was left behind. */
  resume(): void {}

  begin(request: RuntimeRequest): void {
    this.#requests.set(request.subjectId, request);
    this.#agenda.at(request.subjectId, request.startedAtMs + this.#durationMs[request.kind]);
  }

  logs(service: ServiceRecord): Promise<string> {
    return Promise.resolve(simulatedLogs(service, this.#clock.wallMs()));
  }

  exec(service: ServiceRecord, { command }: Execution): Promise<ExecutionResult> {
    const stdout = `simulation: no container of service ${service.id} exists, and the command (${command.length} elements) was not run; \`fleetkeeper init DIR --docker\` and \`fleetkeeper control-plane --runtime docker\` run real containers\n`;
    return Promise.resolve({ exitCode: notExecutable, stdout, stderr: '', truncated: false });
  }

  metrics(service: ServiceRecord, minutes: number): Promise<object> {
    return Promise.resolve(simulatedMetrics(service, minutes, this.#clock.wallMs()));
  }

  close(): void {
    this.#agenda.close();
  }

  #requestOf(subjectId: string): RuntimeRequest {
    const request = this.#requests.get(subjectId);
    invariant(request, `the simulated runtime was not asked about ${subjectId}`);
    return request;
  }
}

function reportOf(request: RuntimeRequest): Report {
  const report = { subjectId: request.subjectId, operationId: request.id };
  if (request.kind !== 'provision') return report;
  const host = request.launch.image.split('/')[0] ?? '';
  if (/\.invalid(:\d+)?$/.test(host)) {
    return { ...report, error: `can't pull the image: the registry host ${host} does not resolve` };
  }
  return { ...report, endpoint: `https://${request.subjectId}.compute.example` };
}
