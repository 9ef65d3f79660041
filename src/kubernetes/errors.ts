/** A request to the Kubernetes API that did not succeed. */
export class KubernetesError extends Error {
  /** Of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** Kubernetes' word for it: `Conflict`, `NotFound`, `AlreadyExists`, `Forbidden`, `Expired`, … */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: {
      readonly status?: number | undefined;
      readonly reason?: string | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.name = 'KubernetesError';
    this.status = details.status;
    this.reason = details.reason ?? '';
    this.retryAfterMs = details.retryAfterMs;
  }
}
