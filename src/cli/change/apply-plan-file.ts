/**
 * `apply PLANFILE`: carries out a plan that was reviewed, and nothing else.
 *
 *     read the file -> observe -> compare (plan-file/compare.ts) -> record that it began -> converge under its guard -> record how it ended
 *
 * Nobody is asked: the file is what somebody agreed to. Until it is recorded, nothing is sent that changes anything.
 *
 * | how it ended                                                     | exit code |
 * |------------------------------------------------------------------|-----------|
 * | all steps are done, and the objects are Ready                    | 0         |
 * | all steps are done, and an object is not Ready; a document of the file can't be used | 1 |
 * | steps are left, and the API refuses one as invalid: so it would again | 1    |
 * | refused, before or meanwhile                                     | 3         |
 * | the policy denies an object of the file: nothing is sent         | 4         |
 * | steps are left: the time is over, or a person has to do something first | 5  |
 */
import { UserError } from '../../base/index.ts';
import { isBlocking, entryOf } from '../../reasons/index.ts';
import {
  PlanGuard,
  compare,
  documentDigest,
  readPlan,
  refusalText,
  type PlanFile,
  type PlannedNow,
  type PresentAccount,
  type Refusal,
  type Remaining,
  type Verdict,
} from '../../plan-file/index.ts';
import {
  accountKey,
  accountNamed,
  objectKey,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import {
  readJournalSince,
  type ObjectRecord,
  type PlanFileOutcome,
  type StateStore,
} from '../../state/index.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import type { OutputFormat } from '../output/output.ts';
import { isReady } from '../output/settled.ts';
import { identity } from '../progress/view.ts';
import { converge } from './converge.ts';
import { policyOf } from './judged.ts';
import { complainOfBeside, refuseOtherOwner } from './other-owner.ts';
import { observeFleet, problemLines, type ObservedFleet } from './fleet-plan.ts';
import { readingMs, withOpenState, type LockedFolder, type OneShotFlags } from './one-shot.ts';
import { recordsIn, type PartOfFleet } from './part-of-fleet.ts';
import { partOfFile } from './part-of-file.ts';
import { accountOf, plannedIn, readPlanText } from './plan-file.ts';

export interface PlanFileApplyFlags extends OneShotFlags {
  readonly planDigest?: string;
  readonly strict?: boolean;
  readonly stable: number;
}

/** Shows the objects of the file as they are then. */
type ShowRecords = (context: Context, format: OutputFormat, records: Iterable<ObjectRecord>) => void;

export async function applyPlanFile(
  folder: LockedFolder,
  flags: PlanFileApplyFlags,
  place: string,
  show: ShowRecords,
): Promise<number> {
  const { context, preview, snapshot } = folder;
  const read = readPlan(readPlanText(place));
  if (read.kind === 'refused') return refuse(context, place, [{ message: read.message }]);
  const { file } = read;
  if (flags.allowMassChange === true && !file.allow.massChange) {
    throw new UserError(
      'the plan was made without --allow-mass-change',
      'nothing was applied: make it with that flag, so that it is reviewed with what the flag allows',
    );
  }
  const limited = {
    ...flags,
    timeout: Math.min(flags.timeout, readingMs),
    allowMassChange: file.allow.massChange,
    foresees: true,
  };
  const begun = {
    ms: context.clock.wallMs(),
    remembered: new Set(file.objects.flatMap(({ key }) => (preview.record(key) ? [key] : []))),
  };
  const observed = await observeFleet(context, limited, { source: folder.source(snapshot), store: preview });
  for (const line of problemLines(observed.snapshot)) complain(context, line);
  const unread = unreadOf(file, observed);
  if (unread.length > 0) return refuse(context, place, unread);
  if (observed.unreadable.length > 0) {
    const remedy = 'nothing was applied: correct that first';
    throw new UserError(observed.unreadable.join('\n'), remedy);
  }
  const denied = deniedOf(file, observed);
  if (denied.length > 0) {
    complain(context, `the policy denies objects of the plan file ${place}, and nothing was applied:`);
    for (const line of denied) complain(context, `  ${line}`);
    return exitCodes.denied;
  }
  const before = new Map(file.objects.map(({ key, before: { externalId } }) => [key, externalId]));
  const planned = plannedIn(observed, preview, before);
  const verdict = compared(folder, flags, { file, observed, planned }, begun);
  if (verdict.refusals.length > 0) return refuse(context, place, verdict.refusals);
  refuseOtherOwner(observed, flags);
  report(context, flags, verdict);
  complainOfBeside(context, observed.plan);
  return withOpenState(folder, 'apply', (store) =>
    carryOut(folder, flags, { file, observed, planned, store, show }),
  );
}

interface Known {
  readonly file: PlanFile;
  readonly observed: ObservedFleet;
  readonly planned: PlannedNow;
}

function refuse(context: Context, place: string, refusals: readonly Refusal[]): number {
  complain(context, `the plan file ${place} is refused, and nothing was applied:`);
  for (const refusal of refusals) complain(context, `  ${refusalText(refusal)}`);
  complain(context, '  make a new plan with `fleetkeeper plan --out`, and review it');
  return exitCodes.refused;
}

/** What the present policy denies of the file, each in a line. It may be another one than when the file was made. */
function deniedOf(file: PlanFile, { plan }: ObservedFleet): string[] {
  const keys = new Set<ObjectKey>(file.objects.map(({ key }) => key));
  return plan.held.flatMap((held) => {
    const key = objectKey(held.kind as ManagedKind, held.namespace, held.name);
    return held.reason === 'PolicyDenied' && keys.has(key) ? [`${identity(key)}: ${held.message}`] : [];
  });
}

/** The key of an account of the file belongs to somebody else now, and nothing was read with it. */
function unreadOf(file: PlanFile, { plan, unreadable }: ObservedFleet): Refusal[] {
  const keys = new Set<ObjectKey>(file.accounts.map(({ key }) => key));
  return plan.unreadAccounts.flatMap(({ account, reason }, index): Refusal[] => {
    const names = [...keys].filter((key) => account === null || accountNamed(key)?.endsWith(`/${account}`));
    return reason === 'IdentityChanged' && names.length > 0 ? [{ message: unreadable[index] ?? reason }] : [];
  });
}

function compared(
  { context, preview }: LockedFolder,
  { planDigest, strict = false }: PlanFileApplyFlags,
  { file, observed, planned }: Known,
  begun: { readonly ms: number; readonly remembered: ReadonlySet<ObjectKey> },
): Verdict {
  const accounts = new Map<ObjectKey, PresentAccount>();
  for (const [name, { identityId, hidden }] of observed.accounts) {
    if (hidden) accounts.set(accountKey(name), { identityId, keyCheck: hidden.checkAnyway });
  }
  const present = {
    planned,
    documentDigest: (key: ObjectKey) => {
      const hidden = accountOf(observed, preview, key)?.hidden;
      return hidden ? documentDigest(observed.objects.get(key), hidden) : null;
    },
    remembers: (key: ObjectKey) => begun.remembered.has(key),
    accounts,
    since: (key: ObjectKey) => {
      const since = preview.record(key)?.report?.drift?.[0]?.since;
      // What this observation found first is not known since then.
      return since !== undefined && since < begun.ms ? since : undefined;
    },
    known: preview.planFiles().find(({ digest }) => digest === file.digest),
    nowMs: context.clock.wallMs(),
  };
  return compare(file, present, { digest: planDigest, strict });
}

/** What is not as it was, and is no reason to refuse. */
function report(context: Context, { output }: OneShotFlags, verdict: Verdict): void {
  const say = (text: string) => (output === 'text' ? print(context, text) : complain(context, text));
  for (const { key, left, of } of verdict.fewer) {
    say(`${identity(key)}: ${left} of ${of} steps are left; the others are not needed any more`);
  }
  const changed = verdict.documents.map(identity).join(', ');
  if (changed) say(`documents that have changed since, without another step: ${changed}`);
  const unknown = verdict.unknown.map(identity).join(', ');
  if (unknown) say(`compared once more is known of them: ${unknown}`);
  const unpriced = verdict.unpriced.map(identity).join(', ');
  if (unpriced) say(`their cost was known when the plan was made, and is not now: ${unpriced}`);
  const { outside } = verdict;
  if (outside.length > 0) {
    say(
      `${outside.length} object(s) outside the plan file need something, and stay as they are: ${outside.map(identity).join(', ')}`,
    );
  }
}

async function carryOut(
  folder: LockedFolder,
  flags: PlanFileApplyFlags,
  {
    file,
    observed,
    planned,
    store,
    show,
  }: Known & { readonly store: StateStore; readonly show: ShowRecords },
): Promise<number> {
  const { context, snapshot } = folder;
  const { digest } = file;
  const earlier = store.planFiles().find((record) => record.digest === digest);
  const startedAt = earlier?.startedAt ?? context.clock.wallMs();
  const journal = earlier ? readJournalSince(folder.file, startedAt) : new Map<ObjectKey, never[]>();
  const guard = new PlanGuard({
    file,
    startedAt,
    store,
    journal: (key) => journal.get(key) ?? [],
    hasDocument: (key) => observed.objects.has(key),
    hiddenOf: (key) => accountOf(observed, store, key)?.hidden,
    nowMs: () => context.clock.wallMs(),
  });
  const record = { digest, startedAt };
  const { done, left } = guard.remaining();
  const begun = { ...record, ...(earlier ? { outcome: 'continued' as const } : {}) };
  await store.savePlanFile({ ...begun, done, left });
  const part = partOfFile(file, { observed, planned, store });
  const noteProgress = progressNotes(context, () => {
    const now = guard.remaining();
    return store.savePlanFile({ ...begun, done: now.done, left: now.left });
  });
  let concluded: readonly ObjectRecord[] | undefined;
  const missing = await converge(context, flags, {
    command: 'apply',
    source: folder.source(snapshot),
    policy: await policyOf(context, observed),
    store,
    part,
    allowMassChange: file.allow.massChange,
    stableMs: flags.stable,
    guard,
    onFinished: (records) => {
      concluded = records;
    },
    onPass: (key, result) => {
      guard.passed(key, result);
      noteProgress();
    },
  });
  const isReadyAsFar = [...recordsIn(part, store).records()].every(isReadyOrLeft);
  const ended = endOf(guard, isUnusable(file, observed, part), isReadyAsFar);
  const rest = guard.remaining();
  const completedAt = rest.left === 0 && ended.outcome === 'completed' ? context.clock.wallMs() : undefined;
  await store.savePlanFile({
    ...record,
    done: rest.done,
    left: rest.left,
    outcome: ended.outcome,
    ...(completedAt === undefined ? {} : { completedAt }),
  });
  show(context, flags.output, concluded ?? recordsIn(part, store).records());
  for (const line of [...linesOf(guard, rest, file), ...(missing === undefined ? [] : [missing])]) {
    complain(context, line);
  }
  return ended.code;
}

/** How often others see how far it is. */
const noteEveryMs = 1000;

function progressNotes({ clock }: Context, save: () => Promise<void>): () => void {
  let lastMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - lastMs < noteEveryMs) return;
    lastMs = clock.monotonicMs();
    // A disk that is full is reported by the pass whose record can't be saved.
    void save().catch(() => undefined);
  };
}

/** A document of the file can't be used, or does not match what it refers to. */
function isUnusable(file: PlanFile, { snapshot, plan }: ObservedFleet, part: PartOfFleet): boolean {
  const keys = new Set<string>(file.objects.map(({ key }) => key));
  const isHeld = plan.held.some(
    ({ kind, namespace, name, reason }) =>
      keys.has(`${kind}/${namespace}/${name}`) && isBlocking(reason) && entryOf(reason).fromDocuments,
  );
  return isHeld || snapshot.problems.some((problem) => problem.key !== undefined && part.concerns(problem));
}

/** What needs something that is not in the file stays as it is. */
function isReadyOrLeft(record: ObjectRecord): boolean {
  return isReady(record) || record.report?.pending?.reason === 'NotInPlan';
}

function endOf(
  guard: PlanGuard,
  isInputError: boolean,
  isReadyAsFar: boolean,
): { readonly code: number; readonly outcome: PlanFileOutcome } {
  const { left } = guard.remaining();
  if (isInputError) return { code: exitCodes.failed, outcome: left === 0 ? 'completed' : 'timeout' };
  if (guard.refused.length > 0 && !guard.hasExpired) return { code: exitCodes.refused, outcome: 'refused' };
  if (guard.invalid.length > 0) return { code: exitCodes.failed, outcome: 'timeout' };
  if (left > 0 || guard.hasExpired) return { code: exitCodes.unfinished, outcome: 'timeout' };
  return { code: isReadyAsFar ? exitCodes.ok : exitCodes.failed, outcome: 'completed' };
}

function linesOf(guard: PlanGuard, { done, left, objects }: Remaining, file: PlanFile): string[] {
  const { refused, invalid } = guard;
  const isFinal = invalid.length > 0;
  const changed = refused.map(identity).join(', ');
  const names = objects.map(identity).join(', ');
  return [
    ...(refused.length > 0 && !guard.hasExpired
      ? [`not in the plan file, and not done: ${changed}; make a new plan for the rest, and review it`]
      : []),
    ...(left > 0
      ? [
          `${left} of ${done + left} steps are left (${names})${isFinal ? '' : `; the same file continues until ${file.expiresAt}`}`,
        ]
      : []),
    ...invalid.map(
      (key) =>
        `${identity(key)}: the API has refused the request as invalid, and would again; change the document, make a new plan, and review it`,
    ),
  ];
}
