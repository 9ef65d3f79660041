/** Faults that a test asks for, each for a number of requests. */
import { ApiError } from './errors.ts';
import type { ResourceRequest, Verb } from './paths.ts';

/** Which requests; what is not given matches all. */
export interface Matching {
  readonly verbs?: readonly Verb[];
  /** Plural, e.g. `leases`. */
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly user?: string;
}

export interface Fault {
  readonly match?: Matching;
  /** Without end when not given. */
  readonly times?: number;
  /** Waits before anything else happens. */
  readonly delayMs?: number;
  /** Answers this instead of doing it. */
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  /** Breaks the connection before it is done, or after, so that the answer is lost. */
  readonly reset?: 'before' | 'after';
}

interface Planned {
  readonly fault: Fault;
  left: number;
}

export class Faults {
  #planned: readonly Planned[] = [];

  /** The first that matches is the one that happens. Returns what takes it back. */
  add(fault: Fault): () => void {
    const planned = { fault, left: fault.times ?? Infinity };
    this.#planned = [...this.#planned, planned];
    return () => {
      this.#planned = this.#planned.filter((one) => one !== planned);
    };
  }

  clear(): void {
    this.#planned = [];
  }

  /** For this request; counts as one time. */
  take(request: ResourceRequest, user: string): Fault | undefined {
    const planned = this.#planned.find(
      ({ fault, left }) => left > 0 && matches(fault.match ?? {}, request, user),
    );
    if (!planned) return undefined;
    planned.left -= 1;
    return planned.fault;
  }
}

function matches(match: Matching, request: ResourceRequest, user: string): boolean {
  return (
    (match.verbs?.includes(request.verb) ?? true) &&
    (match.resource ?? request.plural) === request.plural &&
    (match.subresource ?? request.subresource) === request.subresource &&
    (match.namespace ?? request.namespace) === request.namespace &&
    (match.user ?? user) === user
  );
}

const reasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden: asked for by a test'],
  409: [
    'Conflict',
    'the object has been modified; please apply your changes to the latest version and try again',
  ],
  410: ['Expired', 'too old resource version'],
  429: ['TooManyRequests', 'too many requests, please try again later'],
  500: ['InternalError', 'Internal error occurred: asked for by a test'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};

export function refusalOf(status: number, retryAfterSeconds: number | undefined): ApiError {
  const [reason, message] = reasons[status] ?? ['', `status ${status}: asked for by a test`];
  return new ApiError({
    code: status,
    reason,
    message,
    details: retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  });
}
