/**
 * What must be so, judged from the requests and answers alone. The invariants of the reference control plane:
 *
 * R1 a repeated key and body gives the same answer       R5 the ledger sums to the balance
 * R2 a repeated key with another body is refused         R6 20 registries, 50 templates, 50 volumes at most
 * R3 revisions grow by one per accepted change           R7 nothing of another account is ever seen
 * R4 what was answered 2xx is there after a kill -9      R8 no secret is in any answer
 *
 * A request that was sent before an answer came may be decided before or after it. So a read is held only to
 * what had been answered when it was sent (its `floor`), and a field may have the value of the latest accepted
 * write, or of one whose answer has not come yet.
 */
import { ActivityBook } from './activity-book.ts';
import { canary, requireThat, type Json, type Kind, type Reply, type SentRequest } from './requests.ts';

/** What is known of one object. */
interface Known {
  readonly id: string;
  readonly kind: Kind;
  readonly account: string;
  /** As it was seen latest. */
  latest: Json;
  /** The highest revision that was seen. */
  revision: number;
  readonly textByRevision: Map<number, string>;
  /** The fields that accepted writes have set, by the revision that they led to. */
  readonly writes: Map<number, Readonly<Record<string, Json>>>;
  /** Requests about it whose answers have not come. */
  readonly pending: Set<SentRequest>;
  /** Requests to remove it that were accepted, or whose answers have not come. */
  readonly removals: Set<SentRequest>;
  isGone: boolean;
}

/** What was known when a request was sent. */
export interface Floor {
  readonly request: SentRequest;
  readonly revisions: ReadonlyMap<string, number>;
  readonly gone: ReadonlySet<string>;
  readonly activities: ReturnType<ActivityBook['floor']>;
}

const limits = { registries: 20, templates: 50, volumes: 50 };
const ledgerEntriesShown = 100;
/** Every request is well formed and authenticated, and nothing fails. */
const answersThatMayBe = new Set([200, 201, 403, 404, 409]);

export class Oracle {
  readonly #known = new Map<string, Known>();
  readonly #activities = new ActivityBook();
  #recovered = 0;
  readonly #answers = new Map<string, { request: SentRequest; reply: Reply }>();

  /** Call it before a request is sent. */
  begin(request: SentRequest): Floor {
    const object = this.#known.get(request.about ?? '');
    object?.pending.add(request);
    if (request.removes) object?.removals.add(request);
    this.#activities.begin(request);
    const own = [...this.#known.values()].filter(({ account }) => account === request.account);
    return {
      request,
      revisions: new Map(own.filter(({ isGone }) => !isGone).map(({ id, revision }) => [id, revision])),
      gone: new Set(own.filter(({ isGone }) => isGone).map(({ id }) => id)),
      activities: this.#activities.floor(request.about),
    };
  }

  /** Call it with the answer, once there is one. Throws a `Violation`. */
  end(floor: Floor, reply: Reply): void {
    const { request } = floor;
    const shown = `${reply.status} ${reply.text.slice(0, 2000)}`;
    requireThat(!reply.text.includes(canary), () => `R8: a secret was answered: ${shown}`);
    requireThat(answersThatMayBe.has(reply.status), () => `an answer that must not be: ${shown}`);
    const isAccepted = reply.status < 300;
    requireThat(!(request.isForeign && isAccepted), () => `R7: another account's object: ${shown}`);
    if (isAccepted) {
      this.#checkRepetition(request, reply);
      this.#checkAnswer(floor, reply);
    } else if (reply.status === 404 && request.about !== undefined && !request.isForeign) {
      this.#absent(request.about, floor);
    }
    const object = this.#known.get(request.about ?? '');
    object?.pending.delete(request);
    if (!isAccepted) object?.removals.delete(request);
    this.#activities.end(request, isAccepted);
  }

  /** Of the account, with the revision that was seen latest. */
  present(account: string, kind: Kind): readonly Json[] {
    return [...this.#known.values()]
      .filter((object) => object.account === account && object.kind === kind && !object.isGone)
      .map(({ latest }) => latest);
  }

  idsOfOthers(account: string, kind: Kind): string[] {
    return [...this.#known.values()]
      .filter((object) => object.account !== account && object.kind === kind)
      .map(({ id }) => id);
  }

  activitiesOf(serviceId: string): string[] {
    return this.#activities.unreleased(serviceId);
  }

  /** Accepted mutations of an account, for sending them again. */
  acceptedBy(account: string): { request: SentRequest; reply: Reply }[] {
    return [...this.#answers.values()].filter(({ request }) => request.account === account);
  }

  get countOfAccepted(): number {
    return this.#answers.size;
  }

  /** Whose first answer was lost. */
  get countOfRecovered(): number {
    return this.#recovered;
  }

  #checkRepetition(request: SentRequest, reply: Reply): void {
    if (request.key === undefined) return;
    const before = this.#answers.get(request.key);
    if (!before) {
      this.#answers.set(request.key, { request, reply });
      if (reply.isReplay) this.#recovered += 1;
      return;
    }
    requireThat(
      before.reply.status === reply.status && before.reply.text === reply.text && reply.isReplay,
      () => `R1: a repetition was answered\n${reply.text}\nand not\n${before.reply.text}`,
    );
  }

  #checkAnswer(floor: Floor, { body, isReplay }: Reply): void {
    const { request } = floor;
    const see = (kind: Kind, item: Json) => this.#see(kind, item, floor, isReplay);
    switch (request.answers) {
      case 'service':
      case 'volume':
      case 'template':
      case 'registry':
        return see(request.answers, body.service ?? body.volume ?? body);
      case 'account':
        for (const service of body.services) see('service', service);
        for (const volume of body.volumes) see('volume', volume);
        this.#checkComplete('service', body.services, floor);
        this.#checkComplete('volume', body.volumes, floor);
        requireThat(body.volumes.length <= limits.volumes, () => 'R6: more than 50 volumes');
        return checkMoney(body);
      case 'volumes':
      case 'templates':
      case 'registries':
        return this.#checkList(request.answers, body[request.answers], floor);
      case 'activities':
        return this.#activities.check(request, floor.activities, body.activities);
      case 'deletion':
        if (request.about !== undefined && request.method === 'DELETE' && body.deleted === true) {
          this.#absent(request.about, floor);
        }
        return;
      case undefined:
        return;
    }
  }

  #checkList(name: 'volumes' | 'templates' | 'registries', list: readonly Json[], floor: Floor): void {
    const kind = ({ volumes: 'volume', templates: 'template', registries: 'registry' } as const)[name];
    const own = list.filter((item) => item.builtIn !== true);
    for (const item of own) this.#see(kind, item, floor, false);
    this.#checkComplete(kind, own, floor);
    requireThat(own.length <= limits[name], () => `R6: ${own.length} ${name}`);
  }

  /** What had been answered before the list was asked for is in it, unless its removal was asked for. */
  #checkComplete(kind: Kind, list: readonly Json[], floor: Floor): void {
    const ids = new Set(list.map(({ id }) => id));
    for (const id of floor.revisions.keys()) {
      if (this.#known.get(id)?.kind === kind && !ids.has(id)) this.#absent(id, floor);
    }
  }

  #absent(id: string, { request, revisions }: Floor): void {
    const object = this.#known.get(id);
    if (!object || !revisions.has(id)) return;
    requireThat(
      this.#mayBeGone(object),
      () => `R4: ${object.kind} ${id} is lost: it was at revision ${object.revision} (${request.path})`,
    );
    object.isGone = true;
  }

  /** Storage that a service owns goes with the service. */
  #mayBeGone({ removals, kind, latest }: Known): boolean {
    if (removals.size > 0) return true;
    if (kind !== 'volume' || latest.mode !== 'service') return false;
    return this.#known.get(latest.serviceId)?.removals.size !== 0;
  }

  #see(kind: Kind, item: Json, floor: Floor, isReplay: boolean): void {
    const { request } = floor;
    const object = this.#objectOf(kind, item, request.account);
    const { id, revision } = item;
    requireThat(object.account === request.account, () => `R7: ${kind} ${id} belongs to ${object.account}`);
    this.#checkRevision(object, item, floor, isReplay);
    // What services a registry is linked to is told with it, and changes without it.
    const text = kind === 'registry' ? item.repository : JSON.stringify(item);
    const before = object.textByRevision.get(revision);
    requireThat(
      before === undefined || before === text,
      () => `R3: two states of ${kind} ${id} at revision ${revision}:\n${before}\n${text}`,
    );
    object.textByRevision.set(revision, text);
    if (request.sets && request.key !== undefined) object.writes.set(revision, request.sets);
    if (revision >= object.revision) Object.assign(object, { revision, latest: item });
    if (!isReplay) checkFields(object, item);
  }

  #objectOf(kind: Kind, item: Json, account: string): Known {
    const known = this.#known.get(item.id);
    if (known) return known;
    const made: Known = {
      id: item.id,
      kind,
      account,
      latest: item,
      revision: 0,
      textByRevision: new Map(),
      writes: new Map(),
      pending: new Set(),
      removals: new Set(),
      isGone: false,
    };
    this.#known.set(item.id, made);
    return made;
  }

  #checkRevision(object: Known, { revision }: Json, { request, revisions, gone }: Floor, isReplay: boolean) {
    const { id, kind } = object;
    const sent = request.about === id ? request.body?.revision : undefined;
    requireThat(
      sent === undefined || revision === sent + 1,
      () => `R3: a change of revision ${sent} led ${kind} ${id} to revision ${revision}`,
    );
    if (isReplay) return;
    requireThat(!gone.has(id), () => `R4: ${kind} ${id} was gone, and is back`);
    const isChange = request.key !== undefined && request.about === id;
    const lowest = (revisions.get(id) ?? 0) + (isChange ? 1 : 0);
    requireThat(
      revision >= lowest,
      () => `R3: ${kind} ${id} is at revision ${revision}, and not at least at ${lowest}`,
    );
  }
}

/** Each field has the value of the latest accepted write, or of one that is still under way. */
function checkFields(object: Known, item: Json): void {
  const expected = new Map<string, Json>();
  const earlier = [...object.writes].filter(([revision]) => revision <= item.revision);
  for (const [, sets] of earlier.sort(([left], [right]) => left - right)) {
    for (const [field, value] of Object.entries(sets)) expected.set(field, value);
  }
  for (const [field, value] of expected) {
    const allowed = [value, ...[...object.pending].map(({ sets }) => sets?.[field])].map((one) =>
      JSON.stringify(one),
    );
    requireThat(
      allowed.includes(JSON.stringify(item[field])),
      () =>
        `R4: ${field} of ${object.kind} ${object.id} is ${JSON.stringify(item[field])} at revision ${item.revision}, and not ${allowed.join(' or ')}`,
    );
  }
}

function checkMoney({ balanceMicros, ledger }: Json): void {
  if (ledger.length >= ledgerEntriesShown) return;
  const sumMicros = ledger.reduce((sum: number, entry: Json) => sum + entry.amountMicros, 0);
  requireThat(
    sumMicros === balanceMicros,
    () => `R5: the ledger sums to ${sumMicros}, and the balance is ${balanceMicros}`,
  );
}
