import type {
  Report,
  Runtime,
  RuntimeFactory,
  RuntimeHost,
  RuntimeRequest,
} from '../../../src/control-plane/domain/runtime.ts';

/** A runtime that remembers what it was asked, and does and tells what the test says. */
export class ScriptedRuntime {
  readonly requests: RuntimeRequest[] = [];
  #host: RuntimeHost | undefined;

  readonly factory: RuntimeFactory = (host) => {
    this.#host = host;
    const runtime: Runtime = {
      resume: () => undefined,
      begin: (request) => void this.requests.push(request),
      logs: () => Promise.resolve(''),
      exec: () => Promise.reject(new Error('not in this test')),
      metrics: () => Promise.resolve({}),
      close: () => undefined,
    };
    return runtime;
  };

  get host(): RuntimeHost {
    if (!this.#host) throw new Error('the control plane has not been started');
    return this.#host;
  }

  /** The latest request about a service or volume. */
  asked(subjectId: string): RuntimeRequest {
    const request = this.requests.findLast((candidate) => candidate.subjectId === subjectId);
    if (!request) throw new Error(`nothing was asked about ${subjectId}`);
    return request;
  }

  /** What a launch was asked with. */
  launch(serviceId: string) {
    const request = this.asked(serviceId);
    if (request.kind !== 'provision') throw new Error(`the latest request is ${request.kind}`);
    return request.launch;
  }

  /** Reports the latest request as done. */
  done(subjectId: string, more: Partial<Report> = {}): void {
    this.host.onReports([{ subjectId, operationId: this.asked(subjectId).id, ...more }]);
  }
}
