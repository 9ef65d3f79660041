/**
 * The control API, typed. Every method is one request and returns an `Outcome`; none retries, because only
 * the caller knows what was intended (§4 rule 8). Mutations take the idempotency key of their intent, which the
 * caller has saved before (§4: every mutating endpoint requires the header).
 *
 * GET answers are wrapped (`{service}`), mutation answers are bare (§4 rule 2); both come out bare here.
 */
import { Sensitive, canonicalId, invariant, isUuid, type Clock } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import { priorities, type Lane, type Limiter } from './limiter.ts';
import { readAnswer, type Notes } from './answer.ts';
import { QuietReads } from './quiet-reads.ts';
import { credentialHeader } from './credential-header.ts';
import type { CredentialTrust } from './credential-trust.ts';
import { execAnswerMs } from './exec-answer.ts';
import { notSent, type Outcome } from './outcome.ts';
import * as readers from './readers.ts';
import type { Reader } from './readers.ts';
import type { RefusalRule } from './refusal-meanings.ts';
import { release, type HttpRequest, type Transport } from './transport.ts';
import type * as wire from './wire.ts';

export interface ClientOptions {
  /** Base address without `/api` and without a trailing slash. */
  readonly baseUrl: string;
  /** Read before every request, so that a rotated key is used at once. */
  readonly credential: () => Sensitive<string> | undefined;
  /** The header that carries it; `Authorization` unless given. */
  readonly credentialsHeader?: string | undefined;
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
  /** What refusals of this API mean, beside what is known of any. */
  readonly refusals?: readonly RefusalRule[] | undefined;
  /** How the API writes ids that it does not write in lower case; shared by the clients of one account. */
  readonly spellings?: Map<string, string>;
}

interface Call<Value> {
  readonly method: HttpRequest['method'];
  /** As in §4, with `{id}`; the label of metrics. */
  readonly endpoint: string;
  readonly id?: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly answer: Reader<Value>;
  readonly priority?: number;
  /** Ends the wait for its turn, and nothing later. */
  readonly waits?: AbortSignal;
  /** `ordinary` unless given. */
  readonly lane?: Lane | undefined;
  readonly totalMs?: number | undefined;
  readonly public?: boolean;
  /** To be used, trusted or not, instead of the one in use. */
  readonly credential?: Sensitive<string>;
  /** Asked instead of `mayAct`. */
  readonly permit?: (() => boolean) | undefined;
  readonly onSend?: (() => void) | undefined;
  /** The answer is plain text, not JSON. */
  readonly text?: boolean;
  readonly query?: string;
  /** What was read before, for an answer of which most stays as it is. */
  readonly quiet?: { readonly read: (...read: Parameters<QuietReads['read']>) => Outcome<Value> };
}

const mostSpellings = 20_000;

export class ControlApi {
  readonly #options: ClientOptions;

  readonly #spellings: Map<string, string>;
  readonly #quiet = new QuietReads();

  constructor(options: ClientOptions) {
    this.#spellings = options.spellings ?? new Map<string, string>();
    this.#options = { ...options, spellings: this.#spellings };
  }

  /** The same API, whose requests come before all others but account reads. */
  urgent(why: 'edit' | 'new'): ControlApi {
    return new ControlApi({ ...this.#options, urgency: priorities[why] });
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
    return this.#call({ method: 'GET', endpoint, answer: readers.catalog, public: true }, signal);
  }

  /** §5.4: whose `credential` it is; in the lane of heartbeats when these wait for it. */
  me(credential: Sensitive<string>, signal?: AbortSignal, lane?: Lane): Promise<Outcome<wire.Identity>> {
    const [endpoint, priority] = ['/api/me', priorities.accountRead] as const;
    const call = { endpoint, answer: readers.identity, credential, priority, ...(lane ? { lane } : {}) };
    return this.#call({ method: 'GET', ...call }, signal);
  }

  /** The one read that serves the whole fleet (§4 rule 1: there is no service list). */
  account(signal?: AbortSignal): Promise<Outcome<wire.Account>> {
    const [endpoint, priority, quiet] = ['/api/account', priorities.accountRead, this.#quiet] as const;
    return this.#call({ method: 'GET', endpoint, answer: readers.account, priority, quiet }, signal);
  }

  service(id: string, signal?: AbortSignal): Promise<Outcome<wire.Service>> {
    return this.#call({ method: 'GET', endpoint: '/api/services/{id}', id, answer: readers.service }, signal);
  }

  /** `heartbeat`: it precedes a heartbeat, and must not wait behind all else. `onSend` is called when its turn has come. */
  activities(
    id: string,
    signal?: AbortSignal,
    lane?: Lane,
    onSend?: () => void,
  ): Promise<Outcome<readonly wire.Activity[]>> {
    const endpoint = '/api/services/{id}/activity';
    return this.#call({ method: 'GET', endpoint, id, answer: readers.activities, lane, onSend }, signal);
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
    const answer = readers.activityOf(body.id);
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
    const endpoint = '/api/services';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: readers.service });
  }

  /** §4 PATCH: a present environment map replaces all previous entries (§2). */
  patchService(
    id: string,
    body: wire.ServicePatchRequest,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}';
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: readers.service });
  }

  actOnService(id: string, body: wire.ServiceAction, idempotencyKey: string): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}/actions';
    return this.#mutate({ method: 'POST', endpoint, id, body, idempotencyKey, answer: readers.service });
  }

  setSleepPolicy(
    id: string,
    sleepAfterMinutes: number | null,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Service>> {
    const endpoint = '/api/services/{id}/sleep';
    const body = { sleepAfterMinutes };
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: readers.service });
  }

  volume(id: string, signal?: AbortSignal): Promise<Outcome<wire.Volume>> {
    return this.#call({ method: 'GET', endpoint: '/api/volumes/{id}', id, answer: readers.volume }, signal);
  }

  createVolume(body: wire.VolumeCreate, idempotencyKey: string): Promise<Outcome<wire.Volume>> {
    const endpoint = '/api/volumes';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: readers.volume });
  }

  updateVolume(id: string, body: wire.VolumeUpdate, idempotencyKey: string): Promise<Outcome<wire.Volume>> {
    const endpoint = '/api/volumes/{id}';
    return this.#mutate({ method: 'PATCH', endpoint, id, body, idempotencyKey, answer: readers.volume });
  }

  /** §4 DELETE: any 2xx with the documented body; `deleting` does not prove release (§3 rule 4). */
  deleteVolume(id: string, idempotencyKey: string): Promise<Outcome<wire.VolumeDeletion>> {
    const endpoint = '/api/volumes/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, idempotencyKey, answer: readers.volumeDeletion });
  }

  /** §4: built-in ones and those of the account; there is no read of one. */
  templates(signal?: AbortSignal): Promise<Outcome<wire.Shown<wire.Template>>> {
    return this.#call({ method: 'GET', endpoint: '/api/templates', answer: readers.templates }, signal);
  }

  createTemplate(body: wire.TemplateSpec, idempotencyKey: string): Promise<Outcome<wire.Template>> {
    const endpoint = '/api/templates';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: readers.template });
  }

  /** §2: replacement, not merge. What `spec` leaves out takes its default again. */
  replaceTemplate(
    id: string,
    body: wire.TemplateUpdate,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Template>> {
    const endpoint = '/api/templates/{id}';
    return this.#mutate({ method: 'PUT', endpoint, id, body, idempotencyKey, answer: readers.template });
  }

  deleteTemplate(id: string, body: wire.Deletion, idempotencyKey: string): Promise<Outcome<wire.Deleted>> {
    const endpoint = '/api/templates/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, body, idempotencyKey, answer: readers.deletion });
  }

  /** Metadata only (§2); there is no read of one. */
  registries(signal?: AbortSignal): Promise<Outcome<wire.Shown<wire.Registry>>> {
    return this.#call({ method: 'GET', endpoint: '/api/registries', answer: readers.registries }, signal);
  }

  createRegistry(body: wire.RegistryCreate, idempotencyKey: string): Promise<Outcome<wire.Registry>> {
    const endpoint = '/api/registries';
    return this.#mutate({ method: 'POST', endpoint, body, idempotencyKey, answer: readers.registry });
  }

  /** §2: a complete create spec with the same repository. */
  rotateRegistry(
    id: string,
    body: wire.RegistryRotation,
    idempotencyKey: string,
  ): Promise<Outcome<wire.Registry>> {
    const endpoint = '/api/registries/{id}';
    return this.#mutate({ method: 'PUT', endpoint, id, body, idempotencyKey, answer: readers.registry });
  }

  deleteRegistry(id: string, body: wire.Deletion, idempotencyKey: string): Promise<Outcome<wire.Deleted>> {
    const endpoint = '/api/registries/{id}';
    return this.#mutate({ method: 'DELETE', endpoint, id, body, idempotencyKey, answer: readers.deletion });
  }

  /** §6 rule 1: newest first, at most 100. */
  events(id: string, signal?: AbortSignal): Promise<Outcome<readonly wire.ServiceEvent[]>> {
    const endpoint = '/api/services/{id}/events';
    return this.#call({ method: 'GET', endpoint, id, answer: readers.events }, signal);
  }

  /** Plain text, with whatever the container wrote in it. */
  logs(id: string, signal?: AbortSignal): Promise<Outcome<string>> {
    const endpoint = '/api/services/{id}/logs';
    return this.#call({ method: 'GET', endpoint, id, answer: readers.logText, text: true }, signal);
  }

  /** The shape of the answer is not documented (§4 "Gaps in endpoints"). */
  metrics(id: string, minutes: wire.MetricsMinutes, signal?: AbortSignal): Promise<Outcome<unknown>> {
    const endpoint = '/api/services/{id}/metrics';
    const query = `minutes=${minutes}`;
    return this.#call({ method: 'GET', endpoint, id, query, answer: readers.undocumented }, signal);
  }

  /** Runs a command in the container; the shape of the answer is not documented. */
  exec(id: string, body: wire.ExecRequest, idempotencyKey: string): Promise<Outcome<unknown>> {
    const call = { endpoint: '/api/services/{id}/exec', id, answer: readers.undocumented } as const;
    return this.#mutate({ method: 'POST', ...call, body, idempotencyKey, totalMs: execAnswerMs(body) });
  }

  /** The URL is private (§4 rule 7). */
  async openBrowserSession(id: string, idempotencyKey: string): Promise<Outcome<Sensitive<string>>> {
    const endpoint = '/api/services/{id}/browser-session';
    const outcome = await this.#mutate({
      method: 'POST',
      endpoint,
      id,
      idempotencyKey,
      answer: readers.browserSession,
    });
    return outcome.kind === 'applied' ? { ...outcome, value: new Sensitive(outcome.value.url) } : outcome;
  }

  /** A sent request can't be called back; one that waits for its turn is given up when a long pause begins. */
  #mutate<Value>(call: Call<Value> & { idempotencyKey: string }): Promise<Outcome<Value>> {
    return this.#call({ ...call, priority: priorities.mutation, waits: this.#options.limiter.pauses });
  }

  async #call<Value>(call: Call<Value>, signal?: AbortSignal): Promise<Outcome<Value>> {
    const { limiter, clock, metrics, urgency = 0 } = this.#options;
    let outcome: Outcome<Value>;
    let started = false;
    try {
      outcome = await limiter.run(
        call.lane ?? 'ordinary',
        (call.priority ?? priorities.read) + urgency,
        async () => {
          started = true;
          call.onSend?.();
          const startedAtMs = clock.monotonicMs();
          const result = await this.#exchange(call, signal);
          // A proxy may answer with it, too, and in its own form.
          if ('retryAfterMs' in result && result.status === 429) {
            limiter.rateLimited(startedAtMs, result.retryAfterMs);
          } else if (result.kind !== 'not-sent') {
            limiter.answered();
          }
          const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
          metrics.apiSeconds.observe({ verb: call.method, endpoint: call.endpoint }, seconds);
          return result;
        },
        call.waits ?? signal,
      );
    } catch (error) {
      if (started) throw error;
      outcome = notSent(
        call.waits?.aborted ? 'the API has asked for a pause' : 'stopped while waiting for its turn',
      );
    }
    metrics.apiRequests.inc({ verb: call.method, endpoint: call.endpoint, outcome: outcome.kind });
    return outcome;
  }

  async #exchange<Value>(call: Call<Value>, signal: AbortSignal | undefined): Promise<Outcome<Value>> {
    const { trust, isMeant } = this.#options;
    const { lane = 'ordinary', permit: mayAct = this.#options.mayAct } = call;
    const changes = call.method !== 'GET';
    if (changes && mayAct?.() === false) return notSent('this process is not the leader any more');
    if (changes && isMeant?.() === false) return notSent('the plan has changed, or something prevents it');
    const kept = lane === 'heartbeat' ? trust?.lastTrusted : undefined;
    const credential = call.credential ?? this.#options.credential() ?? kept;
    if (!call.public && !credential) return notSent(trust?.withheld ?? 'there is no API key');
    const isChecked =
      !trust || !credential || call.public || call.credential || trust.trusts(credential, lane);
    if (!isChecked) return notSent('the account of the API key has to be checked first');
    const reply = await this.#options.transport.exchange(
      {
        method: call.method,
        url: `${this.#options.baseUrl}${this.#path(call)}`,
        headers: {
          accept: call.text ? 'text/plain, */*' : 'application/json',
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(call.public || !credential
            ? {}
            : credentialHeader(credential, this.#options.credentialsHeader)),
          ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        mayLeave: call.method === 'GET' ? undefined : mayAct,
        totalMs: call.totalMs,
        isHeartbeat: lane === 'heartbeat',
      },
      signal,
    );
    const notes: Notes = {
      note: (resource, { field, decides }, times) =>
        this.#options.metrics.apiUnreadable.inc({ resource, field, decides: String(decides) }, times),
      spelled: (id, shown) => this.#spelled(id, shown),
      refusals: this.#options.refusals,
    };
    const rest = [credential, this.#options.clock.wallMs(), notes] as const;
    const outcome = call.quiet?.read(reply, ...rest) ?? readAnswer(reply, call, ...rest);
    if (reply.kind === 'reply') release(reply.body);
    if (outcome.kind === 'refused' && outcome.status === 401) trust?.rejected();
    return outcome;
  }

  #spelled(id: string, shown: string): void {
    if (this.#spellings.size >= mostSpellings) this.#spellings.clear();
    this.#spellings.set(id, shown);
  }

  /** Ids are UUIDs (§2), so that nothing else can get into a path; as the API writes them, because it may compare texts. */
  #path(call: Pick<Call<unknown>, 'endpoint' | 'id' | 'query'>): string {
    const query = call.query === undefined ? '' : `?${call.query}`;
    if (call.id === undefined) return `${call.endpoint}${query}`;
    invariant(isUuid(call.id), `an id in a path must be a UUID, not ${JSON.stringify(call.id)}`);
    return `${call.endpoint.replace('{id}', this.#spellings.get(canonicalId(call.id)) ?? call.id)}${query}`;
  }
}
