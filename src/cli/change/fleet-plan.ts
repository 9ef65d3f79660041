/** One observation of a fleet without any change: what `plan` prints, and what `apply` asks consent for. */
import { UserError } from '../../base/index.ts';
import { formatProblem, referredKeys, referringTo, type DesiredSnapshot } from '../../desired/index.ts';
import { Manager, summarise, type FleetPlan } from '../../manager/index.ts';
import { burnMicrosPerHour } from '../../engine/plan/index.ts';
import { oneShotGrace, type PassResult } from '../../engine/index.ts';
import { entryOf, isBlocking } from '../../reasons/index.ts';
import { HiddenValues, valuesPurpose } from '../../plan-file/index.ts';
import { accountNamed, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { firstOfBalance } from '../../shown/shared-things.ts';
import type { StateStore } from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { openLog } from '../log.ts';
import { untilStopped, type Context } from '../context.ts';
import type { FleetAccess } from '../fleet-access.ts';
import { acceptance, sameFleetFlags, type FleetFlags } from '../options.ts';
import { Outstanding } from '../output/outstanding.ts';
import { isCluster } from '../cluster.ts';
import { besideDocuments, knownBefore, type ReadContents } from './beside-documents.ts';
import { contentsOf } from './read-contents.ts';
import { countingGuard, isCounted } from './counted.ts';
import { partOfFleet, partialOf, recordsIn, type PartOfFleet, type Records } from './part-of-fleet.ts';
import { UnreadYet } from './unread.ts';
import { isBlind, unreadAccounts } from './unread-accounts.ts';
import type { SelectionFlags } from '../selection.ts';
import { environmentAccount, type GivenAccount } from '../source.ts';
import type { PolicyPlan, Rule } from '../../policy/index.ts';
import { judgedResults } from './judged.ts';
import { Recalled } from './recalled.ts';
import { withReleases } from './releases.ts';
import { managedThings, vanishedIn, withVanished, type Vanished } from './vanished.ts';
import { withProgress } from '../output/progress.ts';

export interface ObservedFleet {
  readonly plan: FleetPlan;
  /** Without the problems of objects that are not planned. */
  readonly snapshot: DesiredSnapshot;
  /** The objects that are planned. Undefined: all. */
  readonly part: PartOfFleet | undefined;
  /** Without the objects of accounts that could not be read, but for their number. */
  readonly readable: FleetPlan;
  /** Accounts that could not be read, each in a sentence. */
  readonly unreadable: readonly string[];
  readonly vanished: Vanished;
  /** The state had objects before. */
  readonly isKept: boolean;
  /** What the rules of the policy were given of the plan as a whole. Undefined: there are none. */
  readonly judgedBy: { readonly rules: readonly Rule[]; readonly plan: PolicyPlan } | undefined;
  /** Of all objects that are planned. */
  readonly results: ReadonlyMap<ObjectKey, PassResult>;
  /** With the documents of what others own. */
  readonly objects: DesiredSnapshot['objects'];
  /** By `namespace/name`. */
  readonly accounts: ReadonlyMap<string, ObservedAccount>;
}

export interface ObservedAccount {
  /** As the API shows it. */
  readonly identityId: string | null;
  readonly hidden: HiddenValues | undefined;
}

/** A policy denies something of it. */
export function isDenied({ held }: FleetPlan): boolean {
  return held.some(({ reason }) => reason === 'PolicyDenied');
}

type ObserveFlags = FleetFlags &
  SelectionFlags & {
    readonly allowMassChange?: boolean;
    readonly timeout: number;
    /** Of `--policy`. */
    readonly rules?: readonly Rule[] | undefined;
    /** The plan will be recorded: what follows the first step of each object is needed. */
    readonly foresees?: boolean;
  };

export async function observeFleet(
  context: Context,
  flags: ObserveFlags,
  access: Pick<FleetAccess, 'source' | 'store'>,
  removed?: PartOfFleet,
): Promise<ObservedFleet> {
  const managed = managedThings(access.store);
  const before = knownBefore(access.store);
  const { contents, whole, ...observed } = await observe(context, flags, access, removed);
  const vanished = vanishedIn(observed.plan, managed, access.store);
  const { plan, readable } = observed;
  const isReported = !removed && !isCluster(flags.source);
  const given = { snapshot: whole, store: access.store, accounts: contents, before };
  const beside = isReported ? besideDocuments(plan, given) : {};
  const complete = { ...withVanished(readable, vanished), ...beside };
  const found = { ...withVanished(plan, vanished), ...beside };
  return { ...observed, plan: found, readable: complete, vanished, isKept: before.isKept };
}

async function observe(
  context: Context,
  flags: ObserveFlags,
  { source, store }: Pick<FleetAccess, 'source' | 'store'>,
  removed?: PartOfFleet,
): Promise<Read> {
  const { clock } = context;
  const results = new Map<ObjectKey, PassResult>();
  const finished = new AbortController();
  const finish = () => finished.abort();
  let part: PartOfFleet | undefined;
  const select = (next: DesiredSnapshot | undefined) => {
    if (next) part = removed ?? partOfFleet(flags, next, store);
  };
  const records: Records = {
    record: (key) => recordsIn(part, store).record(key),
    records: () => recordsIn(part, store).records(),
  };
  const counted = () => part?.counted ?? new Set();
  const count = () => [...records.records()].length;
  const outstanding = new Outstanding(withCounted(records, counted, store), ({ key }) => results.has(key));
  const endMs = clock.monotonicMs() + flags.timeout;
  const recalled = new Recalled(store, () => manager, select);
  const unread = new UnreadYet({ manager: () => manager, store, leftMs: () => endMs - clock.monotonicMs() });
  const manager: Manager = new Manager({
    ...previewOptions(context, flags),
    source,
    store,
    onSource: select,
    isSelected: (key) => !part || part.has(key) || part.counted.has(key),
    guard: countingGuard(counted, store),
    ...(removed ? { allowRemovals: true } : {}),
    onPass: (key, result) => {
      // The observation is over. Requests that are still under way find the API closed, and change nothing of the
      // result.
      if (finished.signal.aborted) return;
      if (!recalled.takes(key, result) && !results.has(key) && !unread.awaits(key, result))
        results.set(key, recalled.noted(key, result));
      // What came of these rests on what was not known of this one yet.
      const others = [...(result.wakes ?? []), ...recalled.ownersOf(key)];
      for (const other of others) results.delete(other);
      for (const one of [key, ...others]) outstanding.check(one);
      if (outstanding.isEmpty) finish();
    },
  });
  const deadline = clock.after(flags.timeout, finish);
  let seen: ReturnType<typeof seenBy> | undefined;
  try {
    await manager.start();
    if (outstanding.isEmpty) finish();
    const describe = () => `observing the fleet: ${results.size} of ${count()} objects`;
    await withProgress(context, describe, () =>
      Promise.race([untilStopped({ stopped: finished.signal }), untilStopped(context)]),
    );
    // A stopped manager has no accounts.
    seen = seenBy(manager, store);
  } finally {
    deadline.cancel();
    await manager.stop();
  }
  for (const [key, result] of context.stopped.aborted ? [] : unread.results) {
    results.set(key, result);
    outstanding.check(key);
  }
  const { snapshot: whole } = manager;
  if (!whole || !seen || !outstanding.isEmpty) throw incomplete(context, flags.timeout);
  const own = new Map([...results].filter(([key]) => !isCounted(key, counted(), store)));
  const { money, ...rest } = seen;
  const concluded = await concludedFrom(context, flags, own, { whole, part, store, money });
  return { ...concluded, objects: whole.objects, whole, ...rest };
}

function seenBy(manager: Manager, store: StateStore) {
  const money: Money = { burn: burnOf(manager, store), budgets: manager.budgets() };
  return { money, accounts: observedAccounts(manager), contents: contentsOf(manager) };
}

/** What was found, with what it was found in. */
type Read = Omit<ObservedFleet, 'vanished' | 'isKept'> & {
  readonly contents: readonly ReadContents[];
  readonly whole: DesiredSnapshot;
};

function previewOptions(context: Context, flags: ObserveFlags) {
  const { clock, random, ports } = context;
  return {
    ...ports?.network,
    environment: environmentAccount(context),
    clock,
    random,
    logger: openLog(context, flags),
    metrics: createMetrics(),
    settleMs: 0,
    grace: oneShotGrace,
    allowMassChange: flags.allowMassChange ?? false,
    ...acceptance(flags),
    mode: 'preview' as const,
    foresees: flags.foresees === true || flags.rules !== undefined,
    commandFlags: sameFleetFlags(flags),
  };
}

interface Found {
  readonly whole: DesiredSnapshot;
  readonly part: PartOfFleet | undefined;
  readonly store: StateStore;
  readonly money: Money;
}

function concludedFrom(
  context: Context,
  flags: ObserveFlags,
  own: Results,
  { whole, part, store, money }: Found,
): Promise<Omit<ObservedFleet, Later>> {
  const stuck = part ? waitingOutside(own, whole, part, store) : new Map<ObjectKey, PassResult>();
  const shown = withReleases(new Map([...own, ...stuck]), store);
  const conclusion = (found: Results) =>
    conclude(found, whole, part, new Set(stuck.keys()), money, environmentAccount(context));
  return judged(shown, conclusion, flags, store, context.clock.wallMs());
}

function withCounted(own: Records, counted: () => ReadonlySet<ObjectKey>, store: StateStore): Records {
  const isOnlyCounted = (key: ObjectKey) => isCounted(key, counted(), store);
  return {
    record: (key) => own.record(key) ?? (isOnlyCounted(key) ? store.record(key) : undefined),
    records: () => [...own.records(), ...[...store.records()].filter(({ key }) => isOnlyCounted(key))],
  };
}

interface Money {
  readonly burn: bigint;
  readonly budgets: ReturnType<Manager['budgets']>;
}

type Results = ReadonlyMap<ObjectKey, PassResult>;
type Later = 'vanished' | 'isKept' | 'objects' | 'accounts';
type Concluded = Omit<ObservedFleet, Later | 'judgedBy' | 'results'>;

/** Rules see the plan as it would be without them. */
async function judged(
  results: Results,
  conclusion: (found: Results) => Concluded,
  { rules }: ObserveFlags,
  store: StateStore,
  nowMs: number,
): Promise<Omit<ObservedFleet, Later>> {
  const unjudged = conclusion(results);
  if (!rules) return { ...unjudged, results, judgedBy: undefined };
  const { summary, cost } = unjudged.plan;
  const judgedBy = { rules, plan: { summary, cost } };
  const { createPolicy } = await import('../../policy/index.ts');
  const policy = createPolicy({ rules: () => rules, plan: judgedBy.plan, nowMs: () => nowMs });
  const { results: after, warnings } = judgedResults(results, policy, store);
  const { plan, readable, ...rest } = conclusion(after);
  return {
    ...rest,
    results: after,
    judgedBy,
    plan: { ...plan, warnings },
    readable: { ...readable, warnings },
  };
}

function observedAccounts({ accounts, store }: Manager): Map<string, ObservedAccount> {
  return new Map(
    Array.from(accounts.handles(), ({ name, derivedKey }) => {
      const key = derivedKey(valuesPurpose);
      const hidden = key && new HiddenValues(key);
      return [name, { identityId: store.identityPin(name)?.id ?? null, hidden }] as const;
    }),
  );
}

function incomplete({ stopped }: Context, timeoutMs: number): UserError {
  if (stopped.aborted) return new UserError('stopped before the plan was complete: nothing is changed');
  return new UserError(
    `no complete answer within ${timeoutMs / 1000} s`,
    'check that the API can be reached, or give it more time with --timeout',
  );
}

function conclude(
  all: ReadonlyMap<ObjectKey, PassResult>,
  whole: DesiredSnapshot,
  part: PartOfFleet | undefined,
  stuck: ReadonlySet<ObjectKey>,
  { burn, budgets }: Money,
  environment: GivenAccount,
): Concluded {
  const snapshot = part ? { ...whole, problems: whole.problems.filter(part.concerns) } : whole;
  // Accounts are reported by what failed in them.
  const results = new Map([...all].filter(([key]) => accountNamed(key) === undefined));
  const known = new Map([...results].filter(([, { plan }]) => !isBlind(plan)));
  const unread = unreadAccounts(results, snapshot, environment);
  const blind = results.size - known.size;
  const planOf = (some: typeof results) => ({
    ...(part?.isWhole === false ? { partial: partialOf(part) } : {}),
    ...summarise(some, snapshot, burn, stuck, budgets),
  });
  return {
    plan: { ...unseen(planOf(results), blind), unreadAccounts: unread.map(({ account }) => account) },
    snapshot,
    part,
    readable: unseen(planOf(known), blind),
    unreadable: unread.map(({ line }) => line),
  };
}

/** What waits for objects that are not selected, with what to add. */
function waitingOutside(
  results: ReadonlyMap<ObjectKey, PassResult>,
  { objects }: DesiredSnapshot,
  part: PartOfFleet,
  store: StateStore,
): Map<ObjectKey, PassResult> {
  const stuck = new Map<ObjectKey, PassResult>();
  for (const [key, result] of results) {
    const { plan } = result;
    if (plan.kind !== 'wait' || entryOf(plan.reason).inPlan !== 'change') continue;
    const object = plan.reason === 'VolumeNotReady' ? objects.get(key) : undefined;
    // Its volume may be attached to another service.
    const linked = [key, ...(object ? referredKeys(object) : [])].flatMap((each) => {
      return store.record(each)?.report?.linked ?? [];
    });
    const related = [
      ...referringTo(objects, key).map((other) => other.key),
      ...linked.flatMap((id) => store.recordOf(id)?.key ?? []),
    ];
    const outside = [...new Set(related)].filter((other) => !part.has(other)).map(parseObjectKey);
    if (outside.length === 0) continue;
    const flags = outside.map(({ kind, name }) => `--target ${kind}/${name}`).join(' ');
    const message = `${plan.message}. That is not selected; to change it as well, add ${flags}`;
    stuck.set(key, { ...result, plan: { ...plan, message } });
  }
  return stuck;
}

/** What could not be observed must not count as being in order. */
function unseen(plan: FleetPlan, count: number): FleetPlan {
  return count === 0 ? plan : { ...plan, summary: { ...plan.summary, unseen: count } };
}

/** Of all accounts that were read, each balance once. */
function burnOf({ accounts }: Manager, store: Pick<StateStore, 'identityPin'>): bigint {
  const reads = new Map(
    [...accounts.handles()].flatMap(({ name, informer: { current } }) => (current ? [[name, current]] : [])),
  );
  const first = new Set(firstOfBalance([...reads.keys()], store).values());
  return [...first].reduce((sum, name) => {
    const read = reads.get(name);
    return read ? sum + burnMicrosPerHour(read) : sum;
  }, 0n);
}

export function problemLines(snapshot: DesiredSnapshot): string[] {
  return snapshot.problems.map(formatProblem);
}

/** Holds that come from what was written in the documents, not from the state of the fleet. */
export function hasInputErrors({ plan, snapshot }: ObservedFleet): boolean {
  return (
    snapshot.problems.length > 0 ||
    plan.held.some(({ reason }) => isBlocking(reason) && entryOf(reason).fromDocuments)
  );
}
