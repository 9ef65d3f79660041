/** Why a request to the Kubernetes API failed, as a helpful message. */
import { UserError, messageOf, oneLine, parseRetryAfter } from '../base/index.ts';
import { KubernetesError } from './errors.ts';

/** What was attempted: `list`, and `jobs.batch in all namespaces`. */
export interface Attempt {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';
  readonly what: string;
}

/** `Status` of the API machinery, as far as it is read. */
interface Status {
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown } | null;
}

const longestMessage = 500;
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** An answer that is no success. */
export function refusal(
  attempt: Attempt,
  answer: { readonly status: number; readonly body: string; readonly retryAfter: string | undefined },
  wallMs: number,
): KubernetesError {
  const said = readStatus(answer.body);
  const reason =
    typeof said.reason === 'string' && said.reason ? said.reason : (reasons[answer.status] ?? '');
  const seconds = said.details?.retryAfterSeconds;
  const retryAfter =
    answer.retryAfter ?? (typeof seconds === 'number' && seconds > 0 ? String(seconds) : undefined);
  const words = [String(answer.status), reason].filter(Boolean).join(' ');
  const message = typeof said.message === 'string' ? said.message : answer.body;
  return new KubernetesError(
    `can't ${attempt.verb} ${attempt.what}: the Kubernetes API answered ${words}${quoted(message)}${hint(attempt, answer.status)}`,
    { status: answer.status, reason, retryAfterMs: parseRetryAfter(retryAfter, wallMs) },
  );
}

/** No answer, half of one, or one that is too long (a `RangeError`). `because` is more specific than the error. */
export function brokenOff(
  attempt: Attempt,
  server: string,
  error: unknown,
  because?: string,
): KubernetesError {
  return new KubernetesError(
    `can't ${attempt.verb} ${attempt.what} at ${server}: ${because ?? describe(error)}`,
    {
      reason: error instanceof RangeError ? 'TooLarge' : undefined,
      cause: error,
    },
  );
}

function describe(error: unknown): string {
  if (error instanceof UserError) return error.message;
  const cause = rootCause(error);
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  return code && !messageOf(cause).includes(code) ? `${messageOf(cause)} (${code})` : messageOf(cause);
}

/** Of an ERROR event in a watch. */
export function statusOfErrorEvent(object: unknown): { status: number; message: string } {
  const { code, message, reason } = (object ?? {}) as Status;
  return {
    status: typeof code === 'number' ? code : 500,
    message: clipped(typeof message === 'string' ? message : typeof reason === 'string' ? reason : ''),
  };
}

function readStatus(body: string): Status {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function hint({ verb }: Attempt, status: number): string {
  if (status === 401) return '; the credentials are not accepted';
  if (status === 403) return `; the right to ${verb} it is missing in a Role or ClusterRole, see manifests/`;
  if (status === 404 && (verb === 'list' || verb === 'watch')) {
    return '; if it is a kind of Fleetkeeper, its CustomResourceDefinition is not installed: fleetkeeper crds | kubectl apply -f -';
  }
  return '';
}

function quoted(text: string): string {
  const clean = clipped(text);
  return clean === '' ? '' : `: ${clean}`;
}

function clipped(text: string): string {
  return oneLine(text).slice(0, longestMessage);
}

/** Several addresses of one host that all failed come as an AggregateError; its first one speaks for all. */
function rootCause(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  if (error instanceof Error && error.cause instanceof Error) return rootCause(error.cause);
  return error;
}
