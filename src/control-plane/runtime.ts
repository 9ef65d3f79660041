/**
 * What runs the containers and holds the storage. The control plane decides and keeps the records; a runtime
 * carries out, and reports back. It is asked only after the decision is durable, and asked again after a
 * restart, so each operation must be safe to begin twice. A report that names an operation which the record
 * no longer has is ignored: the record has moved on.
 */
import type { Operation, ServiceRecord } from './records.ts';

export interface PullCredentials {
  readonly username: string;
  readonly password: string;
}

export interface RuntimeRequest extends Operation {
  /** The service or volume. */
  readonly subjectId: string;
  /** Of a service: which image to run. */
  readonly image?: string;
  /** For pulling the image from a private repository; never logged, kept or told to anybody. */
  readonly credentials?: PullCredentials;
}

export interface Report {
  readonly subjectId: string;
  readonly operationId: string;
  /** Where a provisioned service answers. */
  readonly endpoint?: string;
  /** Why the operation failed; absent when it succeeded. */
  readonly error?: string;
}

export interface Execution {
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

export interface ExecutionResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether output was cut off, or the command was ended by its time-out. */
  readonly truncated: boolean;
}

export interface Runtime {
  /** Replaces what was begun for the same subject. Reports later, never during the call. */
  begin(request: RuntimeRequest): void;
  /** What the containers of the service have written, oldest first; also when none runs now. */
  logs(service: ServiceRecord): Promise<string>;
  /** Runs a command in the container of a running service. */
  exec(service: ServiceRecord, execution: Execution): Promise<ExecutionResult>;
  /** The use of resources over the last `minutes`, as a JSON object. */
  metrics(service: ServiceRecord, minutes: number): Promise<object>;
  /** The private address of a browser session with this id in a running service. */
  browserUrl(service: ServiceRecord, sessionId: string): string;
  close(): void;
}

/** A throw means that the reports were not taken; the runtime reports again. */
export type OnReports = (reports: readonly Report[]) => void;
