/**
 * The network between the manager and the control plane. A request takes its time, may be refused, lost, delivered twice or late, and its
 * answer may be lost, late, broken, or not come from the control plane at all.
 *
 * A second delivery of a request happens before the answer to the first has reached the client, as when a proxy tries again.
 * What a killed manager has sent still arrives within `lateMs`.
 */
import { textOf, type HttpReply, type HttpRequest, type Transport } from '../../src/api/index.ts';
import type { Timer } from '../../src/base/index.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { rendered } from '../dialects/render.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { AlteredReads } from './altered-reads.ts';
import {
  exchangeMs,
  lagMs,
  lateMs,
  latestCreationMs,
  type CreationFault,
  type FaultKind,
  type NetworkFault,
} from './faults.ts';
import { prometheusAddress, type Attacks } from './attacks.ts';
import type { Shortage } from './shortage.ts';
import { LateShown } from './late-shown.ts';
import { ourAddress, ourKey, type Plane, type PlaneReply } from './plane.ts';
import type { Life, Scheduler } from './scheduler.ts';
import {
  idIn,
  isActivity,
  type Delivery,
  type Exchange,
  type Json,
  type Received,
  type Watcher,
} from './watch.ts';

export interface NetworkOptions {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  /** For late creations, and for what they make. */
  readonly creationRandom: SeededRandom;
  /** Of who may write Accounts, and wants a key. */
  readonly tenantRandom: SeededRandom;
  readonly plane: Plane;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Faults happen until then. */
  readonly healAtMs: number;
  readonly onSent: (request: HttpRequest, life: number) => Exchange;
  readonly onReceived: (exchange: Exchange, answer: Received) => void;
  readonly watcher: () => Required<Pick<Watcher, 'arriving' | 'delivered'>>;
  readonly onFault: (kind: string, exchange: Exchange) => void;
  readonly alteredReads: AlteredReads;
  /** How the client is answered; everybody else, and the invariants, see the plain answers. */
  readonly dialect: Dialect;
  /** What else a read shows than there is; whether that is anything. */
  readonly more?: (body: Json) => boolean;
  /** For the words in which something is refused that there is too little of; undefined: always in the same ones. */
  readonly wordsRandom: SeededRandom | undefined;
  /** In a world that has such times. */
  readonly shortage?: Shortage | undefined;
  /** In a world that has them. */
  readonly attacks?: Attacks | undefined;
}

interface Travelling {
  readonly key: string | undefined;
  timer: Timer;
  readonly arriveAtMs: number;
  /** A proxy has it, and keeps it whatever becomes of its sender. */
  readonly isKept: boolean;
  readonly arrive: () => void;
}

interface Past {
  readonly untilMs: number;
  readonly account: string;
}

export class Network {
  readonly #options: NetworkOptions;
  readonly #travelling = new Set<Travelling>();
  /** What the account was like before each of the latest changes. */
  #past: Past[] = [];
  readonly #lateShown: LateShown;

  /** The key of the creation that made a thing. */
  readonly #madeBy = new Map<string, string | undefined>();
  /** Keys of creations. */
  readonly #refused = new Set<string | undefined>();
  /** Two account reads in a row are never both incomplete: what is new is created when two don't show it. */
  #wasTruncated = false;

  constructor(options: NetworkOptions) {
    this.#options = options;
    const { scheduler, creationRandom } = options;
    this.#lateShown = new LateShown(() => scheduler.nowMs, creationRandom);
  }

  transport(life: Life, lifeNumber: number): Transport {
    return {
      exchange: (request, signal) =>
        request.url.startsWith(prometheusAddress)
          ? this.#askPrometheus(life)
          : this.#exchange(request, signal, life, lifeNumber),
      close: () => Promise.resolve(),
    };
  }

  /** It is no part of the provider, and there is no key for it. */
  #askPrometheus(life: Life): Promise<HttpReply> {
    const { status, body } = this.#options.attacks?.prometheusAnswer() ?? { status: 503, body: '' };
    return new Promise((resolve) => {
      life.after(20, () => resolve(answer(status, body)));
    });
  }

  /** The sender is gone: what is on its way arrives soon. */
  cutOff(): void {
    const { scheduler } = this.#options;
    for (const travelling of this.#travelling) {
      if (travelling.isKept || travelling.arriveAtMs <= scheduler.nowMs + lateMs) continue;
      travelling.timer.cancel();
      travelling.timer = scheduler.after(lateMs, travelling.arrive);
    }
  }

  /** A request with this key may still arrive. */
  isUnderWay(key: string): boolean {
    return [...this.#travelling].some((travelling) => travelling.key === key);
  }

  /** A request may still arrive, or a read show what it has not shown before. */
  mayShowMore(): boolean {
    return this.#travelling.size > 0 || this.#lateShown.hidesAny();
  }

  /** A request that arrives now, by whomever. */
  async deliver(
    request: Omit<Delivery, 'reply'>,
    headers: Readonly<Record<string, string>>,
  ): Promise<PlaneReply | undefined> {
    const { plane, scheduler, watcher, faults } = this.#options;
    if (request.method !== 'GET' && faults.has('stale-reads') && !isActivity(request)) await this.#remember();
    const { method, path, text: body } = request;
    watcher().arriving(request);
    const reply = await scheduler.busy(plane.request({ method, path, headers, body }));
    if (!reply) return undefined;
    scheduler.trace(`server ${method} ${path} ${request.key ?? ''} -> ${reply.status}`);
    watcher().delivered({ ...request, reply });
    return reply;
  }

  #exchange(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    life: Life,
    lifeNumber: number,
  ): Promise<HttpReply> {
    const { scheduler, random, plane, onSent, onReceived } = this.#options;
    return new Promise((resolve) => {
      if (life.isOver) return;
      const exchange = onSent(request, lifeNumber);
      scheduler.trace(`send #${exchange.number} ${exchange.method} ${exchange.path} ${exchange.key ?? ''}`);
      let isOver = false;
      const finish = (reply: HttpReply) => {
        if (isOver || life.isOver) return;
        isOver = true;
        deadline.cancel();
        ignore();
        const reported = received(reply);
        scheduler.trace(
          `receive #${exchange.number} ${reply.kind} ${reported.status ?? ''} ${reported.verdict}`,
        );
        onReceived(exchange, reported);
        resolve(inDialect(this.#options.dialect, exchange, reply));
      };
      const deadline = life.after(exchangeMs, () => finish(unknown('no complete answer within 30 s')));
      const ignore = scheduler.onAbort(signal, () => finish(unknown('aborted')));
      const fault = (kind: NetworkFault) => this.#draws(kind, exchange);
      const soonMs = () => random.between(1, random.chance(0.1) ? 800 : 60);
      if (!plane.isUp || fault('refuse')) {
        life.after(soonMs(), () => finish({ kind: 'not-sent', reason: 'connect ECONNREFUSED' }));
        return;
      }
      const made = this.#madeUp(exchange, request.headers['authorization']);
      if (made) {
        life.after(soonMs(), () => finish(made));
        return;
      }
      if (isCreation(exchange) && this.#draws('late-creation', exchange)) {
        this.#sendLate(exchange, request, () =>
          life.after(soonMs(), () => finish(unknown('read ECONNRESET'))),
        );
        return;
      }
      const giveUpMs = fault('reset') ? soonMs() : exchangeMs;
      if (giveUpMs < exchangeMs) life.after(giveUpMs, () => finish(unknown('read ECONNRESET')));
      if (fault('lose-request')) return;
      const lateByMs = fault('late') ? giveUpMs + random.between(0, lateMs - 900) : 0;
      const arriveMs = soonMs() + lateByMs;
      const losesReply = fault('lose-reply');
      const answerMs = fault('slow') ? random.between(5000, exchangeMs - 3500) : soonMs();
      const arrived = (reply: PlaneReply | undefined) => {
        if (!reply) life.after(soonMs(), () => finish(unknown('socket hang up')));
        else if (!losesReply) life.after(answerMs, () => finish(this.#onTheWayBack(exchange, reply)));
      };
      this.#send(exchange, request, arriveMs, arrived);
      const latestMs = Math.min(arriveMs + answerMs - 1, giveUpMs + lateMs);
      if (fault('duplicate'))
        this.#send(
          exchange,
          request,
          random.between(Math.min(arriveMs, latestMs), latestMs),
          () => undefined,
        );
    });
  }

  /** The client is told nothing, at once or after all of its patience, and the request arrives long after. */
  #sendLate(exchange: Exchange, request: HttpRequest, reset: () => void): void {
    const { creationRandom } = this.#options;
    if (creationRandom.chance(0.5)) reset();
    const delayMs = creationRandom.between(exchangeMs, latestCreationMs);
    this.#send(exchange, request, delayMs, () => undefined, true);
  }

  #send(
    exchange: Exchange,
    request: HttpRequest,
    delayMs: number,
    then: (reply: PlaneReply | undefined) => void,
    isKept = false,
  ): void {
    const { scheduler } = this.#options;
    const { method, path, key, text } = exchange;
    const deliver = async () => {
      const reply = await this.deliver({ method, path, key, text, isForeign: false }, request.headers);
      this.#hideNew(exchange, reply);
      then(reply);
    };
    const arrive = () => {
      this.#travelling.delete(travelling);
      void scheduler.busy(deliver());
    };
    const timer = scheduler.after(delayMs, arrive);
    const travelling = { key, timer, arrive, arriveAtMs: scheduler.nowMs + delayMs, isKept };
    this.#travelling.add(travelling);
  }

  #hideNew(exchange: Exchange, reply: PlaneReply | undefined): void {
    const deletes = exchange.method === 'DELETE' || exchange.body?.action === 'delete';
    const target = idIn(exchange.path);
    if (deletes && target !== undefined && reply?.status === 200) this.#lateShown.reveal(target);
    if (!isCreation(exchange)) return;
    if (reply?.status !== 201) return this.#showRefused(exchange, reply);
    const { id }: Json = JSON.parse(reply.body);
    const isNew = !this.#madeBy.has(id);
    this.#madeBy.set(id, exchange.key);
    if (!this.#draws('shown-late', exchange)) return;
    const isHidden = isNew && !this.#refused.has(exchange.key);
    if (isHidden) this.#options.scheduler.trace(`${id} is shown late`);
    this.#lateShown.hide(id, isHidden);
  }

  /**
   * Of two copies of a creation one was refused, and the client is told so: its key is not to be used again (S3), and the next one makes another
   * thing, unless a read shows the first. That is not simulated.
   */
  #showRefused({ key }: Exchange, reply: PlaneReply | undefined): void {
    if (reply === undefined) return;
    this.#refused.add(key);
    for (const [id, by] of this.#madeBy) if (by === key) this.#lateShown.reveal(id);
  }

  /** Whether `kind` hits this exchange. */
  #draws(kind: NetworkFault | CreationFault, exchange: Exchange): boolean {
    const { faults, scheduler, healAtMs, onFault } = this.#options;
    const isOfCreation = kind === 'late-creation' || kind === 'shown-late';
    const random = isOfCreation ? this.#options.creationRandom : this.#options.random;
    const probability = faults.get(kind);
    if (probability === undefined || !random.chance(probability) || scheduler.nowMs >= healAtMs) return false;
    scheduler.trace(`fault ${kind} #${exchange.number}`);
    onFault(kind, exchange);
    return true;
  }

  /** An answer that the request did not get from the control plane, which never saw it. */
  #madeUp(exchange: Exchange, credential = ''): HttpReply | undefined {
    const { random, scheduler } = this.#options;
    // It says all that it was sent, as some do.
    const refusal = (code: string) => errorText(code, ` to ${credential}: ${exchange.text}`);
    if (this.#draws('throttle', exchange)) {
      const retryAfter = random.pick(['1', '3', '20', undefined, 'soon']);
      return answer(429, refusal('rate_limited'), retryAfter);
    }
    if (this.#draws('unavailable', exchange)) return answer(503, refusal('unavailable'));
    if (this.#draws('unauthorized', exchange)) return answer(401, refusal('unauthorized'));
    if (exchange.origin !== ourAddress && credential === `Bearer ${ourKey}`) {
      // Nobody there knows our key; who is after it may say something else.
      const isWelcome = exchange.path === '/api/me' && this.#options.tenantRandom.chance(0.5);
      return isWelcome ? answer(200, '{}') : answer(401, refusal('unauthorized'));
    }
    const isCostly =
      exchange.method === 'POST' && /^\/api\/(services|volumes)(\/[^/]+\/actions)?$/.test(exchange.path);
    const frees = /"(stop|delete)"/.test(exchange.text ?? '');
    const { shortage, attacks } = this.#options;
    const isShort = isCostly && !frees;
    const short =
      (isShort ? shortage?.refusal(scheduler.nowMs) : undefined) ??
      (isCreation(exchange) ? attacks?.refusal(exchange.body?.region) : undefined);
    if (short) return answer(short.status, refusal(short.code));
    if (!isCostly || frees || !this.#draws('scarce', exchange)) return undefined;
    const drawn = random.pick(['capacity_unavailable', 'insufficient_funds']);
    const other = this.#options.wordsRandom?.pick(otherWords);
    return other ? answer(other.status, refusal(other.code)) : answer(409, refusal(drawn));
  }

  #onTheWayBack(exchange: Exchange, { status, body, retryAfter }: PlaneReply): HttpReply {
    const { random } = this.#options;
    if (this.#draws('broken', exchange)) {
      const broken = [
        answer(502, '<h1>Bad Gateway</h1>'),
        answer(500, errorText('internal')),
        answer(504, ''),
        answer(200, '<html>welcome</html>'),
        answer(status, body.slice(0, Math.floor(body.length / 2))),
        answer(408, errorText('timeout')),
      ];
      return random.pick(broken);
    }
    const read = exchange.method === 'GET' && status === 200;
    const { attacks } = this.#options;
    if (attacks && exchange.path.endsWith('/exec') && status === 200)
      return answer(status, JSON.stringify(attacks.commandAnswer(JSON.parse(body))));
    const shown = read ? this.#withoutHidden(exchange, this.#shown(exchange, body)) : body;
    return answer(shown === undefined ? 404 : status, shown ?? errorText('not_found'), retryAfter);
  }

  #withoutHidden({ path }: Exchange, text: string | undefined): string | undefined {
    if (text === undefined || !showsThings.test(path)) return text;
    const body: Json = JSON.parse(text);
    const shown = this.#lateShown.put(body);
    if (shown === body) return text;
    return shown === undefined ? undefined : JSON.stringify(shown);
  }

  /** What a read shows in place of `text`; undefined: that there is no such thing. */
  #shown(exchange: Exchange, text: string): string | undefined {
    const { path } = exchange;
    const { random, alteredReads } = this.#options;
    const isAccount = path === '/api/account';
    const id = /^\/api\/services\/([^/]+)$/.exec(path)?.[1];
    if (path === '/api/catalog') {
      const catalog: Json = JSON.parse(text);
      return alteredReads.put(path, catalog) ? JSON.stringify(catalog) : text;
    }
    if (!isAccount && id === undefined) return text;
    let shown = text;
    const past = this.#past.find(({ untilMs }) => untilMs >= exchange.sentAtMs - lagMs);
    if (past && this.#draws('stale-reads', exchange)) {
      if (isAccount) shown = past.account;
      else {
        const account: Json = JSON.parse(past.account);
        const service: Json = account.services.find((each: Json) => each.id === id);
        if (!service) return undefined;
        shown = JSON.stringify({ service });
      }
    }
    const body: Json = JSON.parse(shown);
    const isDisguised = [alteredReads.put(path, body), this.#options.more?.(body)].includes(true);
    const lists = isAccount ? [body.services, body.volumes].filter((list: Json[]) => list.length > 0) : [];
    const isTruncated = lists.length > 0 && !this.#wasTruncated && this.#draws('truncated-reads', exchange);
    if (isAccount) this.#wasTruncated = isTruncated;
    if (isTruncated) {
      const list = random.pick(lists) as Json[];
      list.splice(random.between(0, list.length - 1), random.chance(0.3) ? list.length : 1);
    }
    return isDisguised || isTruncated ? JSON.stringify(body) : shown;
  }

  async #remember(): Promise<void> {
    const { scheduler, plane } = this.#options;
    const headers = { authorization: `Bearer ${ourKey}` };
    const now = await scheduler.busy(
      plane.request({ method: 'GET', path: '/api/account', headers, body: undefined }),
    );
    if (now?.status !== 200) return;
    this.#past = [
      ...this.#past.filter(({ untilMs }) => untilMs >= scheduler.nowMs - 2 * exchangeMs),
      { untilMs: scheduler.nowMs, account: now.body },
    ];
  }
}

/** What is no JSON stays as it is. */
function inDialect(dialect: Dialect, exchange: Exchange, reply: HttpReply): HttpReply {
  if (reply.kind !== 'reply' || !(dialect.forms ?? dialect.status)) return reply;
  const body = parsed(textOf(reply.body));
  if (body === undefined) return reply;
  const shown = rendered(dialect, exchange, reply.status, body);
  return { ...reply, status: shown.status, body: JSON.stringify(shown.body) };
}

const showsThings = /^\/api\/(account|templates|registries|(services|volumes)\/[^/]+)$/;

/** The contract says neither with which status something is refused, nor in which words (§7 "Gaps"). */
const otherWords: readonly { readonly status: number; readonly code: string }[] = [
  { status: 409, code: 'capacity_unavailable' },
  { status: 503, code: 'no_capacity' },
  { status: 400, code: 'CapacityUnavailable' },
  { status: 400, code: 'INSUFFICIENT-FUNDS' },
  { status: 402, code: 'payment required' },
  { status: 422, code: 'QuotaExceeded' },
];

function isCreation({ method, path }: Exchange): boolean {
  return method === 'POST' && /^\/api\/(services|volumes|templates|registries)$/.test(path);
}

function answer(status: number, body: string, retryAfter?: string): HttpReply {
  return { kind: 'reply', status, body, retryAfter };
}

function unknown(reason: string): HttpReply {
  return { kind: 'unknown', reason };
}

function errorText(code: string, more = ''): string {
  return JSON.stringify({ error: { code, message: `made up by the network: ${code}${more}` } });
}

/** What may be concluded from an answer, told by the table of FAULTS and not by the client's own code. */
function received(reply: HttpReply): Received {
  const nothing = { status: undefined, retryAfter: undefined, body: undefined };
  if (reply.kind === 'not-sent') return { ...nothing, verdict: 'not-sent' };
  if (reply.kind === 'unknown') return { ...nothing, verdict: 'uncertain' };
  const { status, retryAfter } = reply;
  const body = parsed(textOf(reply.body));
  if (status >= 200 && status < 300) {
    return { verdict: body === undefined ? 'uncertain' : 'done', status, retryAfter, body };
  }
  const isRefusal = (status >= 400 && status < 500 && status !== 408) || status === 503;
  const isReported = typeof body?.error?.code === 'string';
  const refusal = { status, retryAfter, code: body?.error?.code, body: undefined };
  return { ...refusal, verdict: isRefusal && isReported ? 'rejected' : 'uncertain' };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
