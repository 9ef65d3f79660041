/**
 * Sessions of the form. Whoever enters a valid token gets a cookie with a random text, which stands for the token in this process. So the token
 * itself is kept in no browser.
 *
 *     (none) ── `POST /login` with a valid token ──> open ── 12 h, a restart of the process, or newer sessions ──> (none)
 *     open ── a request with its cookie ──> the token is checked as if it had been sent: it may have been taken out
 *
 * | bound                                                                          |
 * |--------------------------------------------------------------------------------|
 * | 20 sessions of one token, 1000 in all: the oldest one is closed                |
 * | a cookie that names no session is skipped: others of its name may be forged    |
 * | 10 sessions in one request                                                     |
 *
 * The cookie is `Secure` unless the request came from this machine for a name of this machine, and then has the prefix `__Host-`, so that no
 * other host of the domain can set it.
 */
import type { Clock, Random } from '../../base/index.ts';
import { Refused, type ApiRequest, type ApiResponse } from '../message.ts';
import { invalid, type Access } from './access.ts';
import { isLoopbackHeader } from './hosts.ts';

const validMs = 12 * 3_600_000;
const mostOfToken = 20;
const mostSessions = 1000;
const mostInRequest = 10;
const idBytes = 24;

interface Session {
  readonly token: string;
  readonly untilMs: number;
}

export class Sessions {
  readonly #clock: Clock;
  readonly #random: Random;
  /** The oldest one first. */
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Answers the form. Throws a `Refused`. */
  async login(request: ApiRequest, access: Access): Promise<ApiResponse> {
    const site = request.headers['sec-fetch-site'] ?? 'same-origin';
    if (site !== 'same-origin' && site !== 'none')
      throw new Refused(403, 'cross_site', 'a token is entered in the form of this page only');
    const token = new URLSearchParams(request.body ?? '').get('token') ?? '';
    if (!(await access.accepts?.(token))) throw invalid();
    const isOfMachine = isForThisMachine(request);
    const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${validMs / 1000}`;
    const cookie = `${cookieName(isOfMachine)}=${this.#open(token)}; ${attributes}`;
    return {
      status: 303,
      headers: {
        location: '/',
        'cache-control': 'no-store',
        'set-cookie': isOfMachine ? cookie : `${cookie}; Secure`,
      },
      body: '',
    };
  }

  /** Of the sessions that the cookies of the request name. */
  tokensOf(request: ApiRequest): string[] {
    const nowMs = this.#clock.monotonicMs();
    const name = cookieName(isForThisMachine(request));
    return (request.headers['cookie'] ?? '')
      .split(';')
      .flatMap((pair) => {
        const [own = '', id = ''] = pair.trim().split('=', 2);
        const session = own === name ? this.#sessions.get(id) : undefined;
        return session && session.untilMs > nowMs ? [session.token] : [];
      })
      .slice(0, mostInRequest);
  }

  #open(token: string): string {
    const nowMs = this.#clock.monotonicMs();
    const id = this.#random.bytes(idBytes).toString('base64url');
    for (const [other, { untilMs }] of this.#sessions) if (untilMs <= nowMs) this.#sessions.delete(other);
    const own = [...this.#sessions].filter(([, session]) => session.token === token);
    const oldest = own.length >= mostOfToken ? own[0]?.[0] : [...this.#sessions.keys()][0];
    const isFull = own.length >= mostOfToken || this.#sessions.size >= mostSessions;
    if (isFull && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(id, { token, untilMs: nowMs + validMs });
    return id;
  }
}

function cookieName(isOfMachine: boolean): string {
  return isOfMachine ? 'fleetkeeper-page' : '__Host-fleetkeeper-page';
}

/** A proxy on this machine also comes by loopback, but for another name, or it names its protocol. */
function isForThisMachine({ isLoopback, headers }: ApiRequest): boolean {
  return isLoopback && isLoopbackHeader(headers['host']) && headers['x-forwarded-proto'] !== 'https';
}
