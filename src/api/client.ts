/**
 * The control API, typed. Every method is one request and returns an `Outcome`; none retries, because only
 * the caller knows what was intended (§4 rule 8). Mutations take the idempotency key of their intent, which the
 * caller has saved before (§4: every mutating endpoint requires the header).
 *
 * GET answers are wrapped (`{service}`), mutation answers are bare (§4 rule 2); both come out bare here.
 */
import type { z } from 'zod';
import { Sensitive, invariant, type Clock } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import { priorities, type Lane, type Limiter } from './limiter.ts';
import { readAnswer } from './answer.ts';
import type { CredentialTrust } from './credential-trust.ts';
import type { Outcome } from './outcome.ts';
import type { HttpRequest, Transport } from './transport.ts';
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
  /** Without one, every credential is used as it comes. */
  readonly trust?: CredentialTrust;
  /** Whether this process leads, asked before a change is sent and again when its first byte is about to leave. Without one it does. */
  readonly mayAct?: () => boolean;
  /** Whether what a mutation is for is still wanted, asked when its turn has come. */
  readonly isMeant?: () => boolean;
  /** Added to the priority of every request. */
  readonly urgency?: number;
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
  /** `ordinary` unless given. */
  readonly lane?: Lane | undefined;
  readonly public?: boolean;
  /** To be used, trusted or not, instead of the one in use. */
  readonly credential?: Sensitive<string>;
  /** Asked instead of `mayAct`. */
  readonly permit?: (() => boolean) | undefined;
  /** The answer is plain text, not JSON. */
  readonly text?: boolean;
  readonly query?: string;
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class ControlApi {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The same API, whose requests come before all others but account reads. */
  get urgent(): ControlApi {
    return new ControlApi({ ...this.#options, urgency: priorities.urgent });
  }

  /** The same API, whose mutations are not sent when `isMeant` denies it by the time that their turn has come. */
  providedThat(isMeant: () => boolean): ControlApi {
    return new ControlApi({ ...this.#options, isMeant });
  }

  /** Requests that still wait for their turn become `not-sent`; those under way are finished. */
  close(): void {
    this.#options.limiter.close();
  }

  /** §4 GET /api/catalog; needs no authentication (§5.3). */
  catalog(signal?: AbortSignal): Promise<Outcome<wire.Catalog>> {
    const endpoint = '/api/catalog';
    return this.#call({ method: 'GET', endpoint, answer: wire.catalog, public: true }, signal);
  }

  /** §5.4: whose `credential` it is; in the lane of heartbeats when these wait for it. */
  me(credential: Sensitive<string>, signal?: AbortSignal, lane?: Lane): Promise<Outcome<wire.Identity>> {
    const [endpoint, priority] = ['/api/me', priorities.accountRead] as const;
    const call = { endpoint, answer: wire.identity, credential, priority, ...(lane ? { lane } : {}) };
    return this.#call({ method: 'GET', ...call }, signal);
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

  /** `heartbeat`: it comes before a beat, and must not wait behind all else. */
  async activities(id: string, signal?: AbortSignal, lane?: Lane): Promise<Outcome<wire.Activity[]>> {
    const endpoint = '/api/services/{id}/activity';
    const call = { method: 'GET', endpoint, id, answer: wire.activityList, lane } as const;
    const outcome = await this.#call(call, signal);
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.activities } : outcome;
  }

  /**
   * Registers an activity, renews it, or releases it (§2 "Activity record", §4 rule 6). In the lane of heartbeats.
   * A `signal` that is aborted after the request was sent leaves its outcome unknown. `permit` is asked in the place of `mayAct`.
   */
  recordActivity(
    serviceId: string,
    body: wire.ActivityRequest,
    idempotencyKey: string,
    signal: AbortSignal,
    permit?: () => boolean,
  ): Promise<Outcome<wire.ActivityAnswer>> {
    const endpoint = '/api/services/{id}/activity';
    const answer = wire.activityAnswer;
    return this.#call(
      { method: 'POST', endpoint, id: serviceId, body, idempotencyKey, answer, lane: 'heartbeat', permit },
      signal,
    );
  }

  /** Whether one that `recordActivity` was called for still waits for its turn. */
  heartbeatWaits(): boolean {
    return this.#options.limiter.waiting('heartbeat') > 0;
  }

  /** Whether requests other than heartbeats wait for their turn. */
  requestsWait(): boolean {
    return this.#options.limiter.waiting('ordinary') > 0;
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

  /** §4: built-in ones and those of the account; there is no read of one. */
  async templates(signal?: AbortSignal): Promise<Outcome<wire.Template[]>> {
    const endpoint = '/api/templates';
    const outcome = await this.#call({ method: 'GET', endpoint, answer: wire.templateList }, signal);
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.templates } : outcome;
  }

  createTemplate(body: wire.TemplateSpec, idempotencyKey: string): Promise<Outcome<wire.Template>> {
    const endpoint = '/api/templates';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: wire.template });
  }

  /** §2: replacement, not merge. What `spec` leaves out takes its default again. */
  replaceTemplate(
    id: string,
    body: wire.TemplateUpdate,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Template>> {
    const endpoint = '/api/templates/{id}';
    return this.#mutate({ method: 'PUT', endpoint, id, body, idempotencyKey, answer: wire.template });
  }

  deleteTemplate(id: string, body: wire.Deletion, idempotencyKey: string): Promise<Outcome<wire.Deleted>> {
    const endpoint = '/api/templates/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, body, idempotencyKey, answer: wire.deleted });
  }

  /** Metadata only (§2); there is no read of one. */
  async registries(signal?: AbortSignal): Promise<Outcome<wire.Registry[]>> {
    const endpoint = '/api/registries';
    const outcome = await this.#call({ method: 'GET', endpoint, answer: wire.registryList }, signal);
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.registries } : outcome;
  }

  createRegistry(body: wire.RegistryCreate, idempotencyKey: string): Promise<Outcome<wire.Registry>> {
    const endpoint = '/api/registries';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: wire.registry });
  }

  /** §2: a complete create spec with the same repository. */
  rotateRegistry(
    id: string,
    body: wire.RegistryRotation,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Registry>> {
    const endpoint = '/api/registries/{id}';
    return this.#mutate({ method: 'PUT', endpoint, id, body, idempotencyKey, answer: wire.registry });
  }

  deleteRegistry(id: string, body: wire.Deletion, idempotencyKey: string): Promise<Outcome<wire.Deleted>> {
    const endpoint = '/api/registries/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, body, idempotencyKey, answer: wire.deleted });
  }

  /** §6 rule 1: newest first, at most 100. */
  async events(id: string, signal?: AbortSignal): Promise<Outcome<wire.ServiceEvent[]>> {
    const outcome = await this.#call(
      { method: 'GET', endpoint: '/api/services/{id}/events', id, answer: wire.eventList },
      signal,
    );
    return outcome.kind === 'applied' ? { ...outcome, value: outcome.value.events } : outcome;
  }

  /** Plain text, with whatever the container wrote in it. */
  logs(id: string, signal?: AbortSignal): Promise<Outcome<string>> {
    const endpoint = '/api/services/{id}/logs';
    return this.#call({ method: 'GET', endpoint, id, answer: wire.logText, text: true }, signal);
  }

  /** The shape of the answer is not documented (§4 "Gaps in endpoints"). */
  metrics(id: string, minutes: wire.MetricsMinutes, signal?: AbortSignal): Promise<Outcome<unknown>> {
    const endpoint = '/api/services/{id}/metrics';
    const query = `minutes=${minutes}`;
    return this.#call({ method: 'GET', endpoint, id, query, answer: wire.undocumented }, signal);
  }

  /** Runs a command in the container; the shape of the answer is not documented. */
  exec(id: string, body: wire.ExecRequest, idempotencyKey: string): Promise<Outcome<unknown>> {
    const endpoint = '/api/services/{id}/exec';
    return this.#mutate({ method: 'POST', endpoint, id, body, idempotencyKey, answer: wire.undocumented });
  }

  /** The URL is private (§4 rule 7). */
  async openBrowserSession(id: string, idempotencyKey: string): Promise<Outcome<Sensitive<string>>> {
    const endpoint = '/api/services/{id}/browser-session';
    const outcome = await this.#mutate({
      method: 'POST',
      endpoint,
      id,
      idempotencyKey,
      answer: wire.browserSession,
    });
    return outcome.kind === 'applied' ? { ...outcome, value: new Sensitive(outcome.value.url) } : outcome;
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
    const { limiter, clock, metrics, urgency = 0 } = this.#options;
    let outcome: Outcome<z.infer<Schema>>;
    let started = false;
    try {
      outcome = await limiter.run(
        call.lane ?? 'ordinary',
        (call.priority ?? priorities.read) + urgency,
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
          metrics.apiSeconds.observe({ verb: call.method, endpoint: call.endpoint }, seconds);
          return result;
        },
        signal,
      );
    } catch (error) {
      if (started && !signal?.aborted) throw error;
      outcome = { kind: 'not-sent', reason: 'stopped while waiting for its turn' };
    }
    metrics.apiRequests.inc({ verb: call.method, endpoint: call.endpoint, outcome: outcome.kind });
    return outcome;
  }

  async #exchange<Schema extends z.ZodType>(
    call: Call<Schema>,
    signal: AbortSignal | undefined,
  ): Promise<Outcome<z.infer<Schema>>> {
    const { trust, isMeant } = this.#options;
    const { lane = 'ordinary', permit: mayAct = this.#options.mayAct } = call;
    if (call.method !== 'GET' && mayAct?.() === false) {
      return { kind: 'not-sent', reason: 'this process is not the leader any more' };
    }
    if (call.method !== 'GET' && isMeant?.() === false) {
      return { kind: 'not-sent', reason: 'what is wanted has changed, or something came in its way' };
    }
    const kept = lane === 'heartbeat' ? trust?.lastTrusted : undefined;
    const credential = call.credential ?? this.#options.credential() ?? kept;
    if (!call.public && !credential) return { kind: 'not-sent', reason: 'there is no API key' };
    const checks = trust && credential && !call.public && !call.credential;
    if (checks && !trust.trusts(credential, lane)) {
      return { kind: 'not-sent', reason: 'whose API key it is has to be checked first' };
    }
    const reply = await this.#options.transport.exchange(
      {
        method: call.method,
        url: `${this.#options.baseUrl}${this.#path(call)}`,
        headers: {
          accept: call.text ? 'text/plain, */*' : 'application/json',
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(call.public || !credential ? {} : { authorization: `Bearer ${credential.reveal()}` }),
          ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        mayLeave: call.method === 'GET' ? undefined : mayAct,
      },
      signal,
    );
    const outcome = readAnswer(reply, call, credential, this.#options.clock.wallMs());
    if (outcome.kind === 'refused' && outcome.status === 401) trust?.rejected();
    return outcome;
  }

  /** Ids are UUIDs (§2), so that nothing else can get into a path. */
  #path(call: Call<z.ZodType>): string {
    const query = call.query === undefined ? '' : `?${call.query}`;
    if (call.id === undefined) return `${call.endpoint}${query}`;
    invariant(uuidPattern.test(call.id), `an id in a path must be a UUID, not ${JSON.stringify(call.id)}`);
    return `${call.endpoint.replace('{id}', call.id)}${query}`;
  }
}
