/**
 * One run: the whole manager, unmodified, and the whole control plane behind its HTTP application, on one simulated clock.
 * The manager gets a clock, randomness, a network and a place for its state that are all made from the seed: a folder
 * (folder-place.ts), or a cluster with two replicas of the operator (cluster/place.ts).
 *
 *     turmoil ── healAtMs ──> healing: no faults, nobody wants anything new ── all as wanted ──> quiet: nothing is sent
 *             ── edits, taken back ──> quiet, and as before ──> as in a world where nothing ever happened
 */
import type { HttpRequest } from '../../src/api/index.ts';
import { stillShed } from './invariants/shedding.ts';
import { rfc3339 } from '../../src/base/index.ts';
import { annotations, objectKey, parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Intent, ObjectRecord } from '../../src/state/index.ts';
import { admissionMistake, indexMistake } from '../support/full-count.ts';
import { Checker } from './checker.ts';
import { ClusterPlace, type ReplicaSabotage } from './cluster/place.ts';
import { settleMs, type FaultKind } from './faults.ts';
import { dialectNamed } from '../dialects/index.ts';
import {
  Attacks,
  attackDeeds,
  attackedRegions,
  roamedRegions,
  roamingDeeds,
  type AttackDeed,
} from './attacks.ts';
import { AlteredReads } from './altered-reads.ts';
import type { Document } from './documents.ts';
import { FolderPlace, type Sabotage } from './folder-place.ts';
import { ForeignHands, type ForeignDeed } from './foreign.ts';
import { ownerOf } from './fleets.ts';
import { heldForData, keptUnseen, mended } from './healing.ts';
import { HostileEdits } from './hostile-edits.ts';
import { JournalCoverage } from './journal-coverage.ts';
import { stuck, unsettled } from './liveness.ts';
import { Neighbours, neighbourDeeds, type NeighbourDeed } from './neighbours.ts';
import { Network } from './network.ts';
import { epochMs, type Place } from './place.ts';
import { differenceBetween, finalStateOf, type FinalState } from './final-state.ts';
import { Person } from './person.ts';
import { Plane, ourAddress, ourKey } from './plane.ts';
import { stream } from './random-port.ts';
import { Shortage } from './shortage.ts';
import { Scheduler } from './scheduler.ts';
import { secretIn } from './secrets.ts';
import type { Action, BudgetEdit, Deed, Script } from './script.ts';
import { hasOpenOutcome } from './state.ts';
import { marked } from './truth.ts';
import { Users } from './users.ts';
import { isActivity, isMutation, type Exchange, type Json, type Verdict } from './watch.ts';

export interface Result {
  readonly violation:
    | { readonly invariant: string; readonly message: string; readonly atMs: number }
    | undefined;
  readonly traceHash: string;
  readonly lives: number;
  readonly simulatedMs: number;
  readonly mutations: number;
  /** Kinds of faults, each with the request that it hit. */
  readonly coverage: ReadonlySet<string>;
  /** Kinds of faults, each with the state of the journal that it met. */
  readonly journalCoverage: ReadonlySet<string>;
}

export interface RunOptions {
  readonly sabotage?: Sabotage;
  readonly replicaSabotage?: ReplicaSabotage;
  /** In a folder: the keys of creations are derived, as with a digest key that other states have, too. */
  readonly sharedKey?: boolean;
  readonly onTrace?: (line: string) => void;
}

const requests = { perSecond: 20, burst: 20, concurrency: 8 };
const minimumBalanceMicros = 5_000_000;
/** Until all is as wanted: the longest pauses are half an hour. */
const longestHealingMs = 65 * 60_000;
const quietMs = 60_000;
const attackWords: ReadonlySet<string> = new Set([...attackDeeds, ...roamingDeeds]);
/** Of a request that did not happen. */
const undone: ReadonlySet<string> = new Set(['refused', 'not-sent', 'not-applied']);
/** Between an edit and the end of the first pass that knows of it (L7). */
const longestUnnoticedMs = 70_000;
/** A document with a mistake is held for as long as it has it. */
const longestBrokenMs = 600_000;
/** After the folder can be read again, all of it is taken in. */
const longestTakenInMs = 60_000;

/** The lowest price list of a contested world, of the usual one (attacks.ts). */
const cheapestList = 0.25;

function cheapestOf({ isContested, priceRises }: Script): number {
  const falls = priceRises.filter(({ percent }) => percent < 100);
  return falls.reduce((part, { percent }) => (part * percent) / 100, isContested ? cheapestList : 1);
}

export async function run(script: Script, options: RunOptions = {}): Promise<Result> {
  const world = new World(script, options);
  try {
    return await world.run();
  } finally {
    await world.close();
  }
}

class World {
  readonly #script: Script;
  readonly #options: RunOptions;
  readonly #scheduler: Scheduler;
  readonly #place: Place;
  readonly #users: Users;
  readonly #plane: Plane;
  readonly #network: Network;
  readonly #foreign: ForeignHands;
  readonly #hostileEdits: HostileEdits;
  readonly #neighbours: Neighbours | undefined;
  readonly #attacks: Attacks | undefined;
  readonly #checker: Checker;
  readonly #person: Person | undefined;
  readonly #alteredReads: AlteredReads;
  readonly #planeRandom: SeededRandom;
  readonly #coverage = new Set<string>();
  readonly #journalCoverage: JournalCoverage;
  #exchanges = 0;
  #mutations = 0;
  #lastMutation: { method: string; path: string; key: string; body: Json } | undefined;
  #massChangeAllowed = false;
  #violation: Result['violation'];

  constructor(script: Script, options: RunOptions) {
    const { seed, slots, faults, pollSeconds, rateLimitPerSecond } = script;
    this.#script = script;
    this.#options = options;
    this.#scheduler = new Scheduler(stream(seed, 'scheduler'), options.onTrace);
    this.#planeRandom = stream(seed, 'restarts of the plane');
    const scheduler = this.#scheduler;
    const { money } = script;
    this.#alteredReads = new AlteredReads(
      () => scheduler.nowMs,
      minimumBalanceMicros,
      money?.hidesPrices ?? false,
    );
    if (money) this.#alteredReads.poor(money.poorMs, money.aboveFloorMicros);
    const accountSpec = {
      url: ourAddress,
      credentialsSecretRef: { name: 'compute', key: 'apiKey' },
      requests,
      pollSeconds,
      minimumBalanceMicros,
      apiKey: ourKey,
    };
    const crashes = faults.has('crash-plane');
    const wallMs = () => epochMs + scheduler.nowMs;
    this.#plane = new Plane({
      scheduler,
      random: stream(seed, 'plane'),
      wallMs,
      rateLimitPerSecond,
      crashes,
      regions: this.#regions(),
    });
    this.#attacks = script.isContested ? this.#createAttacks() : undefined;
    this.#network = new Network({
      scheduler,
      attacks: this.#attacks,
      random: stream(seed, 'network'),
      creationRandom: stream(seed, 'creations'),
      tenantRandom: stream(seed, 'answers of the tenant'),
      plane: this.#plane,
      faults,
      healAtMs: script.healAtMs,
      onSent: (request, life) => this.#sent(request, life),
      onReceived: (exchange, answer) => {
        if (
          answer.verdict === ('done' satisfies Verdict) &&
          exchange.key !== undefined &&
          !isActivity(exchange)
        ) {
          const { method, path, key, body } = exchange;
          this.#lastMutation = { method, path, key, body };
        }
        if (answer.verdict === 'done' && exchange.path === '/api/account')
          this.#neighbours?.shown(answer.body);
        this.#checker.received(exchange, answer);
      },
      watcher: () => ({
        arriving: (request) => this.#checker.arriving(request),
        delivered: (delivery) => {
          this.#person?.delivered(delivery);
          this.#checker.delivered(delivery);
        },
      }),
      onFault: (kind, exchange) => {
        const { method, path } = exchange;
        this.#coverage.add(`${kind} ${method} ${path.replaceAll(/[0-9a-f-]{36}/g, 'id')}`);
        this.#journalCoverage.hit(kind, exchange);
      },
      alteredReads: this.#alteredReads,
      dialect: dialectNamed(script.dialect),
      more: (body) => this.#neighbours?.put(body) ?? false,
      wordsRandom: script.hasNeighbours ? stream(seed, 'words of refusals') : undefined,
      shortage: script.hasShortages ? new Shortage(stream(seed, 'shortage'), script.healAtMs) : undefined,
    });
    this.#place = this.#createPlace();
    this.#person = dialectNamed(script.dialect).asksPeople && this.#createPerson();
    const { documentStore, state } = this.#place;
    this.#journalCoverage = new JournalCoverage(state);
    this.#users = new Users({
      documentStore,
      slots,
      accountSpec,
      nowMs: () => scheduler.nowMs,
      isInTheWay: (key) => this.#neighbours?.isInTheWay(key) ?? false,
      isUnfound: (key) => this.#place.isUnfound(key),
      mayHaveSchedules: !faults.has('jump-clock'),
      mayHaveTemplates: script.hasTemplates,
      contested: script.isContested ? this.#regions() : undefined,
      hasTeams: script.hasTeams,
    });
    this.#neighbours = script.hasNeighbours ? this.#createNeighbours() : undefined;
    this.#hostileEdits = new HostileEdits(this.#users, documentStore, scheduler);
    this.#checker = new Checker(this.#view());
    this.#plane.onCrash = () => this.#restartPlane();
    this.#foreign = new ForeignHands({
      network: this.#network,
      plane: this.#plane,
      watcher: () => this.#checker,
      after: (delayMs, then) => void scheduler.after(delayMs, then),
      violated: (invariant, message) => this.#violated(invariant, message),
      isRecorded: (id) =>
        this.#place.state
          .records()
          .some(({ externalId, key }) => externalId === id && !this.#place.isWiped(key)),
      showsEnvironment: (id) => !this.#hides('environment') || this.#hasBaseline(id),
      showsFields: (id) => !this.#hides('fields') || this.#hasBaseline(id),
      lastMutation: () => this.#lastMutation,
    });
  }

  async run(): Promise<Result> {
    const failed = () => this.#violation !== undefined;
    await this.#start();
    await this.#live(failed);
    await this.#watchChangesOfMind(failed);
    await this.#compareWithNewcomer(failed);
    if (!failed()) this.#countIndexes();
    if (failed()) return this.#result();
    this.#checker.finished();
    const secret = secretIn(await this.#place.metrics());
    if (secret !== undefined) this.#violated('S10', `a secret is in the metrics: ${secret}`);
    return this.#result();
  }

  async #start(): Promise<void> {
    await this.#plane.start();
    this.#place.start();
  }

  /** Until all is as wanted. */
  async #live(failed: () => boolean): Promise<void> {
    const { actions, budgets, priceRises, healAtMs } = this.#script;
    const scheduler = this.#scheduler;
    for (const action of actions) scheduler.after(action.atMs, () => void scheduler.busy(this.#do(action)));
    for (const edit of budgets) scheduler.after(edit.atMs, () => this.#users.writeBudget(edit));
    for (const { atMs, percent } of priceRises) scheduler.after(atMs, () => this.#plane.raisePrices(percent));
    await scheduler.run(healAtMs, failed);
    if (failed()) return;
    await this.#heal();
    await this.#watchComeback(failed);
    if (this.#script.seed % 2 === 0 || this.#neighbours) await this.#watchUnmended(failed);
    await this.#neighbours?.tidyUp();
    this.#place.mend();
    for (const thing of keptUnseen(this.#view())) await this.#foreign.deleteForGood(thing);
    const hides = !this.#view().showsFields ? 'other fields' : this.#neighbours ? 'environments' : 'nothing';
    this.#users.tidyUp((document) => mended(document, this.#view(), hides));
    await this.#watchRecovery(failed);
  }

  /** EI1 and EI2, of what has come about in memory: the next process begins with a count. */
  #countIndexes(): void {
    for (const memory of this.#place.memories()) {
      const mistake = indexMistake(memory.store);
      if (mistake !== undefined) this.#violated('EI1', mistake);
      const missed = admissionMistake(memory);
      if (missed !== undefined) this.#violated('EI2', missed);
    }
  }

  #result(): Result {
    return {
      violation: this.#violation,
      traceHash: this.#scheduler.traceHash(),
      lives: this.#users.lives,
      simulatedMs: this.#scheduler.nowMs,
      mutations: this.#mutations,
      coverage: this.#coverage,
      journalCoverage: this.#journalCoverage.pairs,
    };
  }

  async close(): Promise<void> {
    this.#place.end();
    await this.#plane.stop();
    this.#scheduler.end();
  }

  /**
   * Nobody touches a document: each object comes to be as wanted all the same, or says what a person has to do, or waits for a task of people's
   * (L1). An object that only an edit would free looks well when everything is edited at the end.
   */
  async #watchUnmended(failed: () => boolean): Promise<void> {
    const scheduler = this.#scheduler;
    const left = () => stuck(this.#view(), this.#users);
    const untilMs = scheduler.nowMs + longestHealingMs;
    while (!failed() && scheduler.nowMs < untilMs && left() !== undefined)
      await scheduler.run(scheduler.nowMs + 5000, failed);
    const { invariant, message } = failed() ? {} : (left() ?? {});
    if (invariant !== undefined) this.#violated(invariant, `nobody is told: ${message}`);
  }

  /** All is as wanted within a bounded time, and still is when another process has taken over, which then changes nothing. */
  async #watchRecovery(failed: () => boolean): Promise<void> {
    await this.#untilQuiet(failed);
    const before = this.#mutations;
    if (failed()) return;
    this.#countIndexes();
    await this.#place.handOver(failed);
    await this.#untilQuiet(failed);
    if (this.#mutations === before) return;
    const { method, path } = this.#lastMutation ?? {};
    this.#violated('L8', `all was as wanted, and the next process sent ${method} ${path}`);
  }

  /**
   * People change their minds, and change them back: what they write is acted on soon (L7), whatever failed before (L13), and then all is as
   * it was (L11).
   */
  async #watchChangesOfMind(failed: () => boolean): Promise<void> {
    if (failed()) return;
    const before = this.#finalState();
    let undo: ReadonlyMap<ObjectKey, Document> = new Map();
    await this.#actedOn(failed, () => {
      undo = this.#users.changeTheirMinds(stream(this.#script.seed, 'afterwards'));
      return undo.keys();
    });
    await this.#untilQuiet(failed);
    await this.#actedOn(failed, () => {
      this.#users.declare(undo);
      return undo.keys();
    });
    await this.#untilQuiet(failed);
    if (failed()) return;
    const difference = differenceBetween(before, this.#finalState());
    if (difference !== undefined) this.#violated('L11', `after an edit that was taken back, ${difference}`);
  }

  /** L7: what is edited is taken in, and has had a pass since. */
  async #actedOn(failed: () => boolean, edit: () => Iterable<ObjectKey>): Promise<void> {
    const scheduler = this.#scheduler;
    const before = new Map(this.#place.state.records().map(({ key, generation }) => [key, generation]));
    const edited = [...edit()];
    const waiting = () =>
      edited.find((key) => {
        const { generation, status } = this.#place.state.record(key) ?? {};
        return generation === before.get(key) || status?.observedGeneration !== generation;
      });
    await scheduler.run(scheduler.nowMs + longestUnnoticedMs, () => failed() || waiting() === undefined);
    if (!failed() && waiting()) this.#violated('L7', `${waiting()} was edited ${longestUnnoticedMs} ms ago`);
  }

  /** Another world in which nothing ever happened, and the same is wanted, is the same in the end (L10, L12). */
  async #compareWithNewcomer(failed: () => boolean): Promise<void> {
    if (failed()) return;
    const script = {
      ...this.#script,
      faults: new Map(),
      actions: [],
      healAtMs: 0,
      money: undefined,
      hasNeighbours: false,
      hasShortages: false,
      budgets: [],
      priceRises: [],
    };
    const newcomer = new World(script, {});
    newcomer.#users.declare(this.#users.documents());
    try {
      await newcomer.#start();
      await newcomer.#untilQuiet(() => newcomer.#violation !== undefined);
      const { invariant, message } = newcomer.#violation ?? {};
      if (invariant !== undefined) this.#violated(invariant, `without faults: ${message}`);
      const difference = differenceBetween(this.#finalState(), newcomer.#finalState());
      if (difference !== undefined)
        this.#violated('L10', `without faults it would be otherwise: ${difference}`);
    } finally {
      await newcomer.close();
    }
  }

  #finalState(): FinalState {
    return finalStateOf(this.#view(), this.#users.documents());
  }

  /** All is as wanted within a bounded time (L1 to L3, L6), and stays so, with nothing sent and written for a while (L8). */
  async #untilQuiet(failed: () => boolean): Promise<void> {
    const scheduler = this.#scheduler;
    const view = this.#view();
    const left = () => unsettled(view, this.#users);
    const untilMs = scheduler.nowMs + longestHealingMs;
    const changes = () => this.#mutations + this.#place.writes;
    let isQuiet = false;
    while (!failed() && !isQuiet && scheduler.nowMs < untilMs) {
      this.#person?.look();
      for (const thing of heldForData(view)) await this.#foreign.deleteForGood(thing);
      const before = changes();
      const isAsWanted = left() === undefined;
      await scheduler.run(scheduler.nowMs + (isAsWanted ? quietMs : 5000), failed);
      isQuiet = isAsWanted && left() === undefined && changes() === before;
    }
    if (failed() || isQuiet) return;
    const { method, path } = this.#lastMutation ?? {};
    const { invariant, message } = left() ?? {
      invariant: 'L8',
      message: `still at work; the last change: ${method} ${path}`,
    };
    this.#violated(invariant, message);
  }

  #regions(): readonly string[] {
    const { hasFleets, isRoaming } = this.#script;
    if (isRoaming) return roamedRegions;
    return hasFleets ? attackedRegions : attackedRegions.slice(0, 1);
  }

  /** Undefined: each request may find another capacity than the one before. */
  #changedAtMs(): number | undefined {
    const { hasShortages, faults } = this.#script;
    return hasShortages || faults.has('scarce') ? undefined : this.#attacks?.changedAtMs();
  }

  #createAttacks(): Attacks {
    const scheduler = this.#scheduler;
    return new Attacks({
      regions: this.#regions(),
      plane: this.#plane,
      random: stream(this.#script.seed, 'words of attacks'),
      nowMs: () => scheduler.nowMs,
      after: (delayMs, then) => void scheduler.after(delayMs, then),
      scale: (slot, replicas) => this.#users.scale(slot, replicas),
      trace: (line) => scheduler.trace(line),
    });
  }

  #createNeighbours(): Neighbours {
    const scheduler = this.#scheduler;
    return new Neighbours({
      network: this.#network,
      plane: this.#plane,
      state: this.#place.state,
      users: this.#users,
      watcher: () => this.#checker,
      nowMs: () => scheduler.nowMs,
      after: (delayMs, then) => void scheduler.after(delayMs, then),
    });
  }

  #createPerson(): Person {
    return new Person({
      state: () => this.#place.state,
      plane: this.#plane,
      network: () => this.#network,
      say: (key, resolution) => {
        this.#scheduler.trace(`somebody says of ${key} ${JSON.stringify(resolution)}`);
        this.#place.resolve(key, resolution);
      },
    });
  }

  /** It is there, and no mark leads to it: somebody has removed that, or the dialect does not show it. */
  #isUnmarked(key: ObjectKey): boolean {
    const id = this.#place.state.record(key)?.externalId ?? '';
    const { store } = this.#plane;
    const isService = store?.services.get(id) !== undefined;
    if (!isService && store?.volumes.get(id) === undefined) return false;
    const isHidden = dialectNamed(this.#script.dialect).hidesMarks === true;
    return isHidden || (isService && !marked(this.#view(), key, 'any').includes(id));
  }

  #createPlace(): Place {
    const { sabotage, replicaSabotage, sharedKey = false } = this.#options;
    const parts = {
      script: this.#script,
      scheduler: this.#scheduler,
      network: this.#network,
      attacks: this.#attacks,
      checker: () => this.#checker,
      violated: (invariant: string, message: string) => this.#violated(invariant, message),
      isUnmarked: (key: ObjectKey) => this.#isUnmarked(key),
      onFault: (kind: string, request: string) => {
        this.#coverage.add(`${kind} ${request}`);
        this.#journalCoverage.hit(kind);
      },
    };
    return this.#script.place === 'cluster'
      ? new ClusterPlace(parts, replicaSabotage)
      : new FolderPlace(parts, sabotage, sharedKey);
  }

  #restartPlane(): void {
    const scheduler = this.#scheduler;
    scheduler.trace('control plane is killed');
    const restarted = () => this.#plane.start().then(() => this.#checker.recovered());
    scheduler.after(this.#planeRandom.between(500, 20_000), () => void scheduler.busy(restarted()));
  }

  async #do(action: Action): Promise<unknown> {
    const { seed } = action;
    const scheduler = this.#scheduler;
    scheduler.trace(`action ${action.do} ${action.slot}`);
    if (this.#script.faults.has(action.do as FaultKind)) this.#journalCoverage.hit(action.do);
    const one = (count: number) => seed % count;
    const foreign = (deed: ForeignDeed) => () => this.#foreign.act(deed, seed);
    const deeds: Partial<Record<Deed, () => unknown>> = {
      write: () => this.#users.write(action),
      remove: () => this.#users.remove(action),
      'copy-object': () => {
        const copy = this.#users.copy(action);
        if (copy) this.#place.copied(copy.from, copy.to);
      },
      'forge-status': async () => {
        const victim = await this.#foreign.leave();
        if (victim !== undefined) this.#place.forge(victim, seed);
      },
      'hostile-edit': () => this.#hostileEdits.act(seed),
      'rename-fleet': () => this.#users.rename(action),
      'break-document': () => this.#breakDocument(action),
      'lose-state': () => this.#place.loseState(() => this.#mayLoseState()),
      'crash-plane': () => this.#plane.crashAtCommit(),
      'odd-state': () => {
        const services = [...(this.#plane.store?.services.all() ?? [])];
        this.#alteredReads.odd(services[one(Math.max(1, services.length))]?.id ?? '', one(120_000));
      },
      poor: () => this.#alteredReads.poor(one(180_000), this.#script.money?.aboveFloorMicros ?? -1),
      'foreign-change': foreign('foreign-change'),
      'foreign-delete': foreign('foreign-delete'),
      'foreign-create': foreign('foreign-create'),
      'foreign-activity': foreign('foreign-activity'),
      'foreign-probe': foreign('foreign-probe'),
    };
    const isNeighbours = neighbourDeeds.includes(action.do as NeighbourDeed);
    if (isNeighbours) return this.#neighbours?.act(action.do as NeighbourDeed, action);
    if (attackWords.has(action.do)) return this.#attacks?.act(action.do as AttackDeed, action);
    const deed = deeds[action.do] ?? (() => this.#place.do(action));
    return deed();
  }

  #breakDocument({ slot, seed }: Action): void {
    const { name = '' } = this.#script.slots[slot] ?? {};
    const mend = this.#place.documentStore.break(objectKey('ServiceFleet', 'default', name));
    this.#scheduler.after(1 + (seed % longestBrokenMs), mend);
  }

  /** Marks lead to all that there is: nothing else tells of a request under way, of what people removed, of a pause or a registration. */
  #mayLoseState(): boolean {
    const { state } = this.#place;
    const isFound = ({ key, deletionRequestedAt, creationInDoubt, kind }: ObjectRecord) => {
      const fleet = ownerOf(state, key);
      const isWanted =
        ['Account', 'Budget'].includes(parseObjectKey(key).kind) || this.#users.wanted.has(fleet ?? key);
      const isLeaving = deletionRequestedAt !== undefined && fleet === undefined;
      const { registration, pausedFor }: Json = kind;
      const isSettled =
        !isLeaving &&
        !creationInDoubt &&
        !registration &&
        (pausedFor === undefined || pausedFor === 'Budget');
      return isWanted && isSettled && !this.#isUnmarked(key);
    };
    return (
      !this.#network.mayShowMore() && !state.intents().some(hasOpenOutcome) && state.records().every(isFound)
    );
  }

  async #heal(): Promise<void> {
    const scheduler = this.#scheduler;
    scheduler.trace('healing');
    this.#alteredReads.end();
    this.#hostileEdits.end();
    this.#neighbours?.heal();
    this.#attacks?.end();
    this.#place.heal();
    this.#plane.spare();
    while (!this.#plane.isUp) await scheduler.run(scheduler.nowMs + 1000, () => false);
    this.#massChangeAllowed = true;
    const until = {
      [annotations.allowMassChangeUntil]: rfc3339(epochMs + scheduler.nowMs + 10 * 86_400_000),
      [annotations.acceptOrigin]: ourAddress,
    };
    this.#users.writeAccount(until);
    this.#endBudgets();
    this.#place.documentStore.heal();
    await this.#foreign.releaseAll();
    const isUnfound = () => [...this.#users.documents()].some(([key]) => this.#place.isUnfound(key));
    if (isUnfound()) await scheduler.run(scheduler.nowMs + longestTakenInMs, () => !isUnfound());
  }

  /** Those that there are. */
  #budgets(): BudgetEdit[] {
    const { budgetEdits } = this.#users;
    const latest = new Map(budgetEdits.map(({ name, edit }) => [name, edit]));
    return [...latest.values()].flatMap((edit) => edit ?? []);
  }

  /** There is none any more, or there is room for all: what is shed comes back by itself. */
  #endBudgets(): void {
    for (const { isRemoved: _, ...edit } of this.#budgets())
      this.#users.writeBudget(
        edit.mode === 'Shed' ? { ...edit, hourlyMicros: 10 ** 12 } : { ...edit, isRemoved: true },
      );
  }

  /** BI4: with room for all, what is shed comes back. Then the budgets go. */
  async #watchComeback(failed: () => boolean): Promise<void> {
    const budgets = this.#budgets();
    if (budgets.length === 0 || failed()) return;
    const scheduler = this.#scheduler;
    const left = () => (this.#script.seed % 2 === 1 ? stillShed(this.#view()) : undefined);
    const untilMs = scheduler.nowMs + longestHealingMs;
    while (!failed() && scheduler.nowMs < untilMs && left() !== undefined)
      await scheduler.run(scheduler.nowMs + 5000, failed);
    const forgotten = failed() ? undefined : left();
    if (forgotten !== undefined) this.#violated('BI4', forgotten);
    for (const edit of budgets) this.#users.writeBudget({ ...edit, isRemoved: true });
  }

  #hides(what: 'environment' | 'fields'): boolean {
    const { hides, silence } = dialectNamed(this.#script.dialect);
    return hides === true && (silence === 'names of environment variables') === (what === 'environment');
  }

  /** Where something is hidden only the revision tells of others, and that not before the service was seen as it should be. */
  #hasBaseline(id: string): boolean {
    const { baseline } = this.#place.state.records().find(({ externalId }) => externalId === id) ?? {};
    return baseline?.id === id && baseline.revision === this.#plane.store?.services.get(id)?.revision;
  }

  #sent(request: HttpRequest, life: number): Exchange {
    this.#exchanges += 1;
    const { method, url, headers, body: text } = request;
    const { origin, pathname } = new URL(url);
    // A dialect may write ids in upper case, and then hears them so.
    const path = pathname.replaceAll(/[0-9A-Fa-f-]{36}/g, (id) => id.toLowerCase());
    const key = headers['idempotency-key'];
    const object = this.#place.state.intents().find(({ idempotencyKey }) => idempotencyKey === key)?.object;
    const body: Json = text === undefined ? undefined : JSON.parse(text);
    const exchange = {
      number: this.#exchanges,
      life,
      method,
      origin,
      path,
      authorization: headers['authorization'],
      key,
      text,
      body,
      sentAtMs: this.#scheduler.nowMs,
      object,
    };
    if (isMutation(exchange)) this.#mutations += 1;
    this.#checker.sent(exchange);
    return exchange;
  }

  #violated(invariant: string, message: string): void {
    if (this.#violation) return;
    this.#violation = { invariant, message, atMs: this.#scheduler.nowMs };
    this.#scheduler.trace(`violated ${invariant}: ${message}`);
  }

  #view() {
    const scheduler = this.#scheduler;
    const users = this.#users;
    const place = this.#place;
    const massChangeAllowed = () => this.#massChangeAllowed;
    return {
      disk: place.state,
      plane: this.#plane,
      settleMs,
      requests,
      minimumBalanceMicros,
      jumpsClock: this.#script.faults.has('jump-clock'),
      isContested: this.#script.isContested,
      cheapest: cheapestOf(this.#script),
      changedAtMs: () => this.#changedAtMs(),
      soursSince: (check: string, wallMs: number) =>
        !this.#script.faults.has('jump-clock') && this.#attacks?.soursSince(check, wallMs - epochMs) === true,
      isPlain: dialectNamed(this.#script.dialect).forms === undefined,
      showsFields: !this.#hides('fields'),
      showsMarks: dialectNamed(this.#script.dialect).hidesMarks !== true,
      wanted: users.wanted,
      budgetEdits: users.budgetEdits,
      get nowMs() {
        return scheduler.nowMs;
      },
      get massChangeAllowed() {
        return massChangeAllowed();
      },
      epochMs,
      get wallMs() {
        return place.wallMs;
      },
      neighbours: this.#neighbours,
      history: (key: ObjectKey) => users.history(key),
      wasRemoved: (key: ObjectKey) => users.wasRemoved(key) || place.documentStore.isLeaving(key),
      isOpen: (intent: Intent) => place.isOpen(intent),
      knowsUndone: (object: ObjectKey, idempotencyKey: string) =>
        place.memories().some(({ store }) => {
          const intent = store.lastIntent(object);
          return intent?.idempotencyKey === idempotencyKey && undone.has(intent.outcome);
        }),
      knowsMade: (object: ObjectKey, idempotencyKey: string, id: string) =>
        place.memories().some(({ store }) => {
          const intent = store.lastIntent(object);
          const isApplied = intent?.idempotencyKey === idempotencyKey && intent.outcome === 'applied';
          return isApplied && store.record(object)?.externalId === id;
        }),
      inMemory: (key: ObjectKey) => place.inMemory(key),
      keepsEveryStatus: place.keepsEveryStatus,
      isCluster: this.#script.place === 'cluster',
      leads: (life: number) => place.leads(life),
      isOusted: (life: number) => place.isOusted(life),
      violated: (invariant: string, message: string) => this.#violated(invariant, message),
    };
  }
}
