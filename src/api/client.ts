/**
 * The control API, typed. Every method is one request and returns an `Outcome`; none retries, because only
 * the caller knows what was intended (§4 rule 8). Mutations take the idempotency key of their intent, which the
 * caller has saved before (§4: every mutating endpoint requires the header).
 *
 * GET answers are wrapped (`{service}`), mutation answers are bare (§4 rule 2); both come out bare here.
 */
import type { z } from 'zod';
import { invariant, type Clock, type Sensitive } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import { priorities, type Limiter } from './limiter.ts';
import { parseRetryAfter, type Outcome } from './outcome.ts';
import type { HttpReply, HttpRequest, Transport } from './transport.ts';
import * as wire from './wire.ts';

export interface ClientOptions {
  /** Base address without `/api` and without a trailing slash. */
  readonly baseUrl: string;
  /** Read before every request, so that a rotated key is used at once. */
  readonly credential: () => Sensitive<string> | undefined;
  readonly transport: Transport;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

interface Call<Schema extends z.ZodType> {
  readonly method: HttpRequest['method'];
  /** As in §4, with `{id}`; the label of metrics. */
  readonly endpoint: string;
  readonly id?: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly answer: Schema;
  readonly priority?: number;
  readonly public?: boolean;
}

const longestErrorText = 500;
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class ControlApi {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Requests that still wait for their turn become `not-sent`; those under way are finished. */
  close(): void {
    this.#options.limiter.close();
  }

  /** §4 GET /api/catalog; needs no authentication (§5.3). */
  catalog(signal?: AbortSignal): Promise<Outcome<wire.Catalog>> {
    return this.#call(
      { method: 'GET', endpoint: '/api/catalog', answer: wire.catalog, public: true },
      signal,
    );
  }

  me(signal?: AbortSignal): Promise<Outcome<wire.Identity>> {
    return this.#call({ method: 'GET', endpoint: '/api/me', answer: wire.identity }, signal);
  }

  /** The one read that serves the whole fleet (§4 rule 1: there is no service list). */
  account(signal?: AbortSignal): Promise<Outcome<wire.Account>> {
    return this.#call(
      { method: 'GET', endpoint: '/api/account', answer: wire.account, priority: priorities.accountRead },
      signal,
    );
  }

  async service(id: string, signal?: AbortSignal): Promise<Outcome<wire.Service>> {
    const outcome = await this.#call(
      { method: 'GET', endpoint: '/api/services/{id}', id, answer: wire.wrappedService },
      signal,
    );
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.service } : outcome;
  }

  async activities(id: string, signal?: AbortSignal): Promise<Outcome<wire.Activity[]>> {
    const outcome = await this.#call(
      { method: 'GET', endpoint: '/api/services/{id}/activity', id, answer: wire.activityList },
      signal,
    );
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.activities } : outcome;
  }

  createService(body: wire.ServiceCreate, idempotencyKey: string): Promise<Outcome<wire.Service>> {
    return this.#mutate({
      method: 'POST',
      endpoint: '/api/services',
      body,
      idempotencyKey,
      answer: wire.service,
    });
  }

  /** §4 PATCH: a present environment map replaces all previous entries (§2). */
  patchService(
    id: string,
    body: wire.ServicePatchRequest,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}';
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: wire.service });
  }

  actOnService(id: string, body: wire.ServiceAction, idempotencyKey: string): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}/actions';
    return this.#mutate({ method: 'POST', endpoint, id, body, idempotencyKey, answer: wire.service });
  }

  setSleepPolicy(
    id: string,
    sleepAfterMinutes: number | null,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}/sleep';
    const body = { sleepAfterMinutes };
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: wire.service });
  }

  async volume(id: string, signal?: AbortSignal): Promise<Outcome<wire.Volume>> {
    const outcome = await this.#call(
      { method: 'GET', endpoint: '/api/volumes/{id}', id, answer: wire.wrappedVolume },
      signal,
    );
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.volume } : outcome;
  }

  createVolume(body: wire.VolumeCreate, idempotencyKey: string): Promise<Outcome<wire.Volume>> {
    return this.#mutate({
      method: 'POST',
      endpoint: '/api/volumes',
      body,
      idempotencyKey,
      answer: wire.volume,
    });
  }

  updateVolume(id: string, body: wire.VolumeUpdate, idempotencyKey: string): Promise<Outcome<wire.Volume>> {
    const endpoint = '/api/volumes/{id}';
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: wire.volume });
  }

  /** §4 DELETE: any 2xx with the documented body; `deleting` does not prove release (§3 rule 4). */
  deleteVolume(id: string, idempotencyKey: string): Promise<Outcome<wire.VolumeDeletion>> {
    const endpoint = '/api/volumes/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, idempotencyKey, answer: wire.volumeDeletion });
  }

  /** A mutation is never aborted once it waits for its turn: a sent request can't be called back. */
  #mutate<Schema extends z.ZodType>(
    call: Call<Schema> & { idempotencyKey: string },
  ): Promise<Outcome<z.infer<Schema>>> {
    return this.#call({ ...call, priority: priorities.mutation });
  }

  async #call<Schema extends z.ZodType>(
    call: Call<Schema>,
    signal?: AbortSignal,
  ): Promise<Outcome<z.infer<Schema>>> {
    const { limiter, clock, metrics } = this.#options;
    let outcome: Outcome<z.infer<Schema>>;
    let started = false;
    try {
      outcome = await limiter.run(
        'ordinary',
        call.priority ?? priorities.read,
        async () => {
          started = true;
          const startedAtMs = clock.monotonicMs();
          const result = await this.#exchange(call, signal);
          if (result.kind === 'refused' && result.status === 429) {
            limiter.rateLimited(startedAtMs, result.retryAfterMs);
          } else if (result.kind !== 'not-sent') {
            limiter.answered();
          }
          const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
          metrics.apiSeconds.observe({ endpoint: `${call.method} ${call.endpoint}` }, seconds);
          return result;
        },
        signal,
      );
    } catch (error) {
      if (started && !signal?.aborted) throw error;
      outcome = { kind: 'not-sent', reason: 'stopped while waiting for its turn' };
    }
    metrics.apiRequests.inc({ endpoint: `${call.method} ${call.endpoint}`, outcome: outcome.kind });
    return outcome;
  }

  async #exchange<Schema extends z.ZodType>(
    call: Call<Schema>,
    signal: AbortSignal | undefined,
  ): Promise<Outcome<z.infer<Schema>>> {
    const credential = this.#options.credential();
    if (!call.public && !credential) return { kind: 'not-sent', reason: 'there is no API key' };
    const reply = await this.#options.transport.exchange(
      {
        method: call.method,
        url: `${this.#options.baseUrl}${this.#path(call)}`,
        headers: {
          accept: 'application/json',
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(call.public || !credential ? {} : { authorization: `Bearer ${credential.reveal()}` }),
          ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
      },
      signal,
    );
    return this.#read(reply, call, credential);
  }

  /** Ids are UUIDs (§2), so that nothing else can get into a path. */
  #path(call: Call<z.ZodType>): string {
    if (call.id === undefined) return call.endpoint;
    invariant(uuidPattern.test(call.id), `an id in a path must be a UUID, not ${JSON.stringify(call.id)}`);
    return call.endpoint.replace('{id}', call.id);
  }

  #read<Schema extends z.ZodType>(
    reply: HttpReply,
    call: Call<Schema>,
    credential: Sensitive<string> | undefined,
  ): Outcome<z.infer<Schema>> {
    if (reply.kind !== 'reply') return reply;
    const body = parseJson(reply.body);
    if (reply.status >= 200 && reply.status < 300) {
      const parsed = call.answer.safeParse(body);
      if (parsed.success) return { kind: 'applied', status: reply.status, value: parsed.data };
      const issue = parsed.error.issues[0];
      const where = issue?.path.join('.') || 'the body';
      return {
        kind: 'unknown',
        reason: `a ${reply.status} that can't be read (${where}: ${issue?.message})`,
      };
    }
    const error = wire.errorBody.safeParse(body);
    // A 408 says only that the server stopped waiting, not how much it had read.
    const definite =
      (reply.status >= 400 && reply.status < 500 && reply.status !== 408) || reply.status === 503;
    if (!error.success || !definite) {
      return {
        kind: 'unknown',
        reason: `status ${reply.status} ${error.success ? '' : 'without an error object'}`.trim(),
      };
    }
    const { code, message } = error.data.error;
    const secrets = [...(credential ? [credential.reveal()] : []), ...environmentValues(call.body)];
    return {
      kind: 'refused',
      status: reply.status,
      code: presentable(code, secrets),
      message: presentable(message, secrets),
      retryAfterMs: parseRetryAfter(reply.retryAfter, this.#options.clock.wallMs()),
    };
  }
}

/** Undefined, which no schema accepts, when it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a server may echo in an error text although it must never be shown. */
function environmentValues(body: unknown): string[] {
  const carrier = body as { environment?: object; patch?: { environment?: object } } | undefined;
  return Object.values(carrier?.environment ?? carrier?.patch?.environment ?? {}).map(String);
}

/** Shorter values would blot out ordinary words. */
const shortestSecret = 4;

/** Texts of the server go into status and logs: bounded, on one line, and without what we sent in secret. */
function presentable(text: string, secrets: readonly string[]): string {
  let clean = text;
  // The longest first: a shorter one may be the beginning of a longer one.
  for (const secret of [...secrets].sort((left, right) => right.length - left.length)) {
    if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, '[redacted]');
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return clean.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, longestErrorText);
}
