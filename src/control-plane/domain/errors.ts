/**
 * Refusals of the API, in the contract's error form (§7): `{error: {code, message}}`. The code decides, and is part
 * of the interface. The message states what was attempted and what to do, and never holds a value that a client sent
 * as an environment value.
 */
type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 409 | 421 | 429 | 503;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: RefusalStatus;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: RefusalStatus, code: string, message: string, retryAfterSeconds?: number) {
    // Where it was thrown is of no interest, and finding that out takes longer than most refusals.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function errorJson(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}

export function invalidRequest(message: string): ApiError {
  return new ApiError(400, 'invalid_request', message);
}

/** Also for an id that exists in another account: other tenants can't distinguish the two. */
export function notFound(noun: string, id: string): ApiError {
  return new ApiError(404, 'not_found', `no ${noun} ${id} in this account`);
}

export function conflict(code: string, message: string): ApiError {
  return new ApiError(409, code, message);
}

export function revisionConflict(noun: string, given: number, current: number): ApiError {
  return conflict(
    'revision_conflict',
    `the ${noun} is at revision ${current}, not ${given}; read it again before changing it`,
  );
}
