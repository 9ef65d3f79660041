/**
 * Lets nothing pass that is not in a plan file: no other step of an object, no step before an earlier one, none twice, and no other
 * change of a roster. The engine asks it before a step is recorded, and again just before its request leaves.
 *
 *     step 1 ── applied ──> step 2 ── applied ──> … ──> nothing left
 *
 * Where an object stands follows from the journal: each applied request passes its step, and those before it. So a process that
 * continues after kill -9 stands where the one before it stood, and what somebody else has undone meanwhile is not done twice.
 */
import type { GuardedStep, PassResult, StepGuard } from '../engine/index.ts';
import type { RosterPlan, Step } from '../engine/plan/index.ts';
import { referredKeys } from '../desired/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { Intent, StateStore } from '../state/index.ts';
import { rosterFingerprint, stepFingerprint } from './fingerprint.ts';
import type { PlanFile, PlannedObject, PlannedStep } from './format.ts';
import { beforeOf, explains, fieldsOf, ownerIn } from './planned-objects.ts';
import { refusedMove, rosterSteps, type RosterSteps } from './rosters.ts';
import { staleStepTexts } from './stale.ts';
import type { HiddenValues } from './values.ts';

export interface GuardOptions {
  readonly file: PlanFile;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly store: Pick<StateStore, 'lastIntent' | 'record' | 'recordOf'>;
  readonly hasDocument: (key: ObjectKey) => boolean;
  /** All intents of an object that the state knows, the newest first. */
  readonly journal: (key: ObjectKey) => readonly Intent[];
  readonly hiddenOf: (key: ObjectKey) => HiddenValues | undefined;
  readonly nowMs: () => number;
}

interface Standing {
  readonly object: PlannedObject;
  readonly steps: readonly PlannedStep[];
  readonly roster: RosterSteps | undefined;
  /** The index of the first step that is not done. */
  next: number;
  /** The keys of the requests that were counted. */
  readonly counted: Set<string>;
  /** That of the newest request when this process began. */
  readonly earlier: string | undefined;
  /** Of a fleet: how many replicas are left to be added, updated, repaired and drained, as its last pass found. */
  left: number | undefined;
  /** Of a fleet: its last pass was refused, only because it would let replicas be corrected that are not in the file. */
  onlyCorrects: boolean;
  /** Its last pass. */
  result: PassResult | undefined;
}

export interface Remaining {
  readonly done: number;
  readonly left: number;
  /** Objects with steps that are left. */
  readonly objects: readonly ObjectKey[];
}

export class PlanGuard implements StepGuard {
  readonly #options: GuardOptions;
  readonly #standings: ReadonlyMap<ObjectKey, Standing>;
  #hasExpired = false;

  constructor(options: GuardOptions) {
    this.#options = options;
    const { file, store } = options;
    this.#standings = new Map(
      file.objects.map((object) => [object.key, standingOf(object, store.lastIntent(object.key))]),
    );
    for (const [key, standing] of this.#standings) {
      for (const intent of options.journal(key).toReversed()) this.#count(standing, intent);
    }
  }

  get planFile(): string {
    return this.#options.file.digest;
  }

  refusesStep(guarded: GuardedStep): string | undefined {
    if (this.#isOver()) return `the plan file has expired at ${this.#options.file.expiresAt}`;
    const { key, step, record, object } = guarded;
    const standing = this.#standings.get(key);
    const next = standing && this.#nextOf(standing, step, object ? referredKeys(object) : []);
    if (next) return this.#staleText(next, standing.object, guarded);
    const owner = ownerIn(object, record);
    const roster = owner && this.#standings.get(owner)?.roster;
    if (roster && explains(changesOf(roster), step)) return undefined;
    return standing || roster
      ? `${step.action.do} (${step.reason}) is not the next step that the plan file has for it`
      : `${step.action.do} (${step.reason}) is not in the plan file`;
  }

  refusesRoster(key: ObjectKey, roster: RosterPlan | undefined): string | undefined {
    const hidden = this.#options.hiddenOf(key);
    if (!roster || !hidden) return undefined;
    const { replicas, content, command, moves, add, update, repair, drain } = roster;
    const standing = this.#standings.get(key);
    const goalOf = (of: RosterPlan['content']) => rosterFingerprint(replicas, of, hidden);
    const added = moves.added.map(goalOf);
    const updated = moves.updated.map(goalOf);
    if (standing) standing.left = add + update + drain + (standing.roster?.repair ? repair : 0);
    const changes = added.length + updated.length + moves.leaving.length + moves.corrected.length;
    if (changes > 0 && this.#isOver()) return `the plan file has expired at ${this.#options.file.expiresAt}`;
    const now = { replicas, goal: goalOf(content), command, moves, added, updated };
    const refused = refusedMove(standing?.roster, now);
    const others = moves.corrected.filter((name) => !this.#isPlanned(key, name));
    if (standing) standing.onlyCorrects = refused === undefined && others.length > 0;
    if (refused !== undefined || others.length === 0) return refused;
    return `${others.join(', ')} would be corrected, which is not in the plan file`;
  }

  /** An object beside this one is in the file. */
  #isPlanned(key: ObjectKey, name: string): boolean {
    const { namespace } = parseObjectKey(key);
    return [...this.#standings.keys()].some((other) => {
      const parsed = parseObjectKey(other);
      return parsed.namespace === namespace && parsed.name === name;
    });
  }

  has(key: ObjectKey): boolean {
    return this.#standings.has(key);
  }

  /** What came of a pass. */
  passed(key: ObjectKey, result: PassResult): void {
    const standing = this.#standings.get(key);
    if (standing) standing.result = result;
  }

  /** Something was not begun because the file has expired meanwhile. */
  get hasExpired(): boolean {
    return this.#hasExpired;
  }

  /** Objects of the file that need something else by now. */
  get refused(): ObjectKey[] {
    return [...this.#standings].flatMap(([key, standing]) => {
      const { result, onlyCorrects } = standing;
      const isRefused = result?.plan.kind === 'hold' && result.plan.reason === 'NotInPlan';
      // What others changed in a replica that is not in the file stays as it is.
      const isLeft = onlyCorrects && this.#leftOf(standing) === 0;
      return isRefused && !isLeft ? [key] : [];
    });
  }

  /** Objects with steps that are left, and the API refuses the next one as invalid: so it would again. What is tried again is none of them. */
  get invalid(): ObjectKey[] {
    return [...this.#standings].flatMap(([key, standing]) => {
      const plan = standing.result?.plan;
      const isInvalid =
        plan?.kind === 'hold' && plan.reason === 'Refused' && plan.recheckAfterMs === undefined;
      return isInvalid && this.#leftOf(standing) > 0 ? [key] : [];
    });
  }

  remaining(): Remaining {
    const objects: ObjectKey[] = [];
    let [done, left] = [0, 0];
    for (const [key, standing] of this.#standings) {
      this.#follow(key, standing);
      const all = sizeOf(standing);
      const open = this.#leftOf(standing);
      left += open;
      done += Math.max(0, all - open);
      if (open > 0) objects.push(key);
    }
    return { done, left, objects };
  }

  #leftOf(standing: Standing): number {
    const { object, roster, result, steps, next, left } = standing;
    const { store, hasDocument } = this.#options;
    // Whatever was to be done for what is gone: no pass will report it any more.
    const isGone = !hasDocument(object.key) && !store.record(object.key);
    if (isGone || result?.removed === true || result?.plan.kind === 'in-sync') return 0;
    return roster ? (left ?? sizeOf(standing)) : steps.length - next;
  }

  #isOver(): boolean {
    const isOver = this.#options.nowMs() >= Date.parse(this.#options.file.expiresAt);
    if (isOver) this.#hasExpired = true;
    return isOver;
  }

  /** The step of the file that it is. */
  #nextOf(standing: Standing, { action }: Step, referred: readonly ObjectKey[]): PlannedStep | undefined {
    const { key, before } = standing.object;
    const hidden = this.#options.hiddenOf(key);
    if (!hidden) return undefined;
    this.#follow(key, standing);
    const ownerOf = (id: string) => this.#options.store.recordOf(id)?.key;
    const context = { hidden, beforeId: before.externalId, referred, ownerOf };
    const fingerprint = stepFingerprint(action, context);
    return standing.steps.find((step, index) => index >= standing.next && step.fingerprint === fingerprint);
  }

  /** Undefined: what it changes is as it was when the plan was made. */
  #staleText(
    planned: PlannedStep,
    { key, before }: PlannedObject,
    { step, record, value }: GuardedStep,
  ): string | undefined {
    const hidden = this.#options.hiddenOf(key);
    if (!hidden) return undefined;
    const texts = staleStepTexts(planned, fieldsOf(step, hidden), before, beforeOf(record, { value }));
    return texts.length === 0 ? undefined : texts.join('; ');
  }

  /** Each request is preceded by a question here, so the newest intent is all that can be new. */
  #follow(key: ObjectKey, standing: Standing): void {
    const last = this.#options.store.lastIntent(key);
    if (last) this.#count(standing, last);
  }

  /** What this process has sent counts in any case, also if the clock was set back meanwhile. */
  #count(standing: Standing, { outcome, createdAt, idempotencyKey, action }: Intent): void {
    const isOfFile = createdAt >= this.#options.startedAt || idempotencyKey !== standing.earlier;
    if (outcome !== 'applied' || !isOfFile || standing.counted.has(idempotencyKey)) return;
    standing.counted.add(idempotencyKey);
    const { steps, next } = standing;
    const at = steps.findIndex((step, index) => index >= next && step.action === action);
    if (at !== -1) standing.next = at + 1;
  }
}

function standingOf(object: PlannedObject, last: Intent | undefined): Standing {
  return {
    object,
    steps: [...object.steps, ...object.later],
    roster: rosterSteps(object),
    next: 0,
    counted: new Set(),
    earlier: last?.idempotencyKey,
    left: undefined,
    onlyCorrects: false,
    result: undefined,
  };
}

function changesOf({ add, update, repair, drain, commands }: RosterSteps) {
  const isReplaced = commands.length + repair > 0;
  return { add: add > 0 || isReplaced, update: update > 0, drain: drain > 0 || isReplaced };
}

function sizeOf({ object, roster, steps }: Standing): number {
  if (!roster) return steps.length;
  return object.steps.reduce((sum, { count = 0 }) => sum + count, 0);
}
