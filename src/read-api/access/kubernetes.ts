/**
 * `--page-kubernetes-auth`: who may list a namespace's objects with kubectl sees that namespace here.
 *
 *     token ── TokenReview: not valid ──> denied (`invalid`)
 *           └─ a user ── SubjectAccessReview: `list` of every kind in all namespaces ── yes ──> sees all
 *                                    └─ no ── the same for each namespace that has objects ──> sees those where every answer is yes
 *
 * | question                          | answer                                                                             |
 * |-----------------------------------|------------------------------------------------------------------------------------|
 * | `list` of some kinds only         | the namespace is not seen: its counts and its tree are of all kinds                |
 * | Events                            | asked for by themselves, since roles for fleets need not allow them                |
 * | a review fails, or takes too long | denied (`unavailable`), for the next 5 s too                                       |
 * | a right was given or taken        | seen within 60 s: so long an answer counts. Streams are checked again each minute  |
 * | many tokens                       | 1000 valid and 1000 other ones are remembered, by their digests; 8 reviews at once |
 * | more than 1000 namespaces         | the others are not seen                                                            |
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/index.ts';
import { readsAll, type Reader } from '../fleet/reader.ts';
import { Denied, invalid, missing, tokenIn, unavailable, type Access } from './access.ts';

/** The API server, as far as it is asked. Both reject if it does not answer. */
export interface Reviews<User, Resource> {
  /** Undefined: the token is not valid. */
  userOf(token: string): Promise<User | undefined>;
  /** `namespace` undefined: in all of them. */
  mayList(user: User, resource: Resource, namespace: string | undefined): Promise<boolean>;
}

export interface KubernetesAccessOptions<User, Resource> {
  readonly reviews: Reviews<User, Resource>;
  /** All of them have to be allowed. */
  readonly kinds: readonly Resource[];
  readonly events: Resource;
  /** Those that have objects. */
  readonly namespaces: () => Iterable<string>;
  readonly clock: Clock;
}

const keptMs = 60_000;
const failedMs = 5000;
const mostTokens = 1000;
const mostNamespaces = 1000;
const atOnce = 8;
const longestToken = 16_384;

interface Known {
  readonly untilMs: number;
  readonly reader: Promise<Reader>;
}

export class KubernetesAccess<User, Resource> implements Access {
  readonly kinds = ['kubernetes'] as const;
  readonly #options: KubernetesAccessOptions<User, Resource>;
  /** By the digest of the token, the one that was asked for first before the others. */
  readonly #valid = new Map<string, Known>();
  readonly #others = new Map<string, Known>();
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(options: KubernetesAccessOptions<User, Resource>) {
    this.#options = options;
  }

  async reader(request: Parameters<Access['reader']>[0]): Promise<Reader> {
    const token = tokenIn(request);
    if (token === undefined) throw missing();
    return this.#readerOf(token);
  }

  async accepts(token: string): Promise<boolean> {
    try {
      await this.#readerOf(token);
      return true;
    } catch (error) {
      if (error instanceof Denied && error.reason === 'invalid') return false;
      throw error;
    }
  }

  #readerOf(token: string): Promise<Reader> {
    if (token === '' || token.length > longestToken) throw invalid();
    const digest = createHash('sha256').update(token).digest('base64url');
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#valid.get(digest) ?? this.#others.get(digest);
    if (known && nowMs < known.untilMs) return known.reader;
    this.#valid.delete(digest);
    const reader = this.#ask(token);
    // Until it is known whose it is, it takes no room of those that are valid.
    keep(this.#others, digest, { untilMs: nowMs + keptMs, reader });
    void this.#remember(digest, reader, nowMs + keptMs);
    return reader;
  }

  async #remember(digest: string, reader: Promise<Reader>, untilMs: number): Promise<void> {
    try {
      await reader;
      this.#others.delete(digest);
      keep(this.#valid, digest, { untilMs, reader });
    } catch (error) {
      const isInvalid = error instanceof Denied && error.reason === 'invalid';
      const failedUntilMs = this.#options.clock.monotonicMs() + failedMs;
      keep(this.#others, digest, { untilMs: isInvalid ? untilMs : failedUntilMs, reader });
    }
  }

  async #ask(token: string): Promise<Reader> {
    const { reviews, kinds, events } = this.#options;
    let user: User | undefined;
    try {
      user = await this.#inTurn(() => reviews.userOf(token));
      if (user !== undefined) {
        const [namespaces, eventsIn] = await Promise.all([
          this.#allowed(user, kinds),
          this.#allowed(user, [events]),
        ]);
        return namespaces === undefined && eventsIn === undefined ? readsAll : { namespaces, eventsIn };
      }
    } catch {
      throw unavailable('the Kubernetes API can not be asked who you are and what you may list; try again');
    }
    throw invalid();
  }

  /** The namespaces in which all of the resources may be listed. Undefined: all. */
  async #allowed(user: User, resources: readonly Resource[]): Promise<ReadonlySet<string> | undefined> {
    const { reviews, namespaces } = this.#options;
    const everywhere = await Promise.all(
      resources.map((resource) => this.#inTurn(() => reviews.mayList(user, resource, undefined))),
    );
    const left = resources.filter((_, index) => everywhere[index] !== true);
    if (left.length === 0) return undefined;
    const asked = [...namespaces()].sort().slice(0, mostNamespaces);
    const areAllowed = await Promise.all(asked.map((namespace) => this.#allIn(user, left, namespace)));
    return new Set(asked.filter((_, index) => areAllowed[index]));
  }

  async #allIn(user: User, resources: readonly Resource[], namespace: string): Promise<boolean> {
    for (const resource of resources) {
      // oxlint-disable-next-line no-await-in-loop -- the first one that is denied decides
      const isAllowed = await this.#inTurn(() => this.#options.reviews.mayList(user, resource, namespace));
      if (!isAllowed) return false;
    }
    return true;
  }

  async #inTurn<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    if (this.#underWay >= atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay += 1;
    try {
      return await ask();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay -= 1;
    }
  }
}

function keep(tokens: Map<string, Known>, digest: string, known: Known): void {
  tokens.delete(digest);
  tokens.set(digest, known);
  const [oldest] = tokens.keys();
  if (tokens.size > mostTokens && oldest !== undefined) tokens.delete(oldest);
}
