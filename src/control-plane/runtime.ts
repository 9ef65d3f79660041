/**
 * What runs the containers and holds the storage. The control plane decides and keeps the records; a runtime
 * carries out, and reports back. It is asked only after the decision is durable, and asked again after a
 * restart, so each operation must be safe to begin twice. A report that names an operation which the record
 * no longer has is ignored: the record has moved on.
 */
import type { Operation } from './records.ts';

export interface RuntimeRequest extends Operation {
  /** The service or volume. */
  readonly subjectId: string;
  /** Of a service: which image to run. */
  readonly image?: string;
}

export interface Report {
  readonly subjectId: string;
  readonly operationId: string;
  /** Where a provisioned service answers. */
  readonly endpoint?: string;
  /** Why the operation failed; absent when it succeeded. */
  readonly error?: string;
}

export interface Runtime {
  /** Replaces what was begun for the same subject. Reports later, never during the call. */
  begin(request: RuntimeRequest): void;
  close(): void;
}

/** A throw means that the reports were not taken; the runtime reports again. */
export type OnReports = (reports: readonly Report[]) => void;
