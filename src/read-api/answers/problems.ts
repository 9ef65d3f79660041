/**
 * `/api/v1/problems`: what needs a person, or lasts too long (engine/problems/trouble.ts). Pure.
 *
 * Objects of one account with the same reason are one problem. What is only information is never one. What only a person can end is shown while
 * it is Pending, too: who has just made a mistake does not wait for five minutes.
 *
 * Documents that can't be used, and are none of a known object, are one problem together. Only who may read all namespaces sees it, because
 * nobody knows which one a broken document is about. The same holds for what impairs the manager itself; that concerns all namespaces.
 */
import { rfc3339 } from '../../base/index.ts';
import { afterMs, mistakesOfNobody } from '../../engine/index.ts';
import { isReason, reasons, sectionOf } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { showCommand } from '../fleet/commands.ts';
import { sees } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { FleetSource } from '../fleet/source.ts';
import type { Problem } from '../schemas/parts.ts';
import { shownRow, type AnswerContext } from './context.ts';

const namesShown = 5;
const mistakesShown = 10;

export interface Problems {
  /** Worst first: critical ones, and among each severity those that only a person can end. */
  readonly problems: readonly Problem[];
  /** Objects that have one. */
  readonly objects: number;
  /** When the next one opens by itself, in Unix milliseconds. */
  readonly nextAt: number | undefined;
}

export function openProblems(context: AnswerContext): Problems {
  const { index, source, reader, nowMs } = context;
  const groups = new Groups();
  let objects = 0;
  let nextAt: number | undefined;
  for (const indexed of index.trouble.values()) {
    const { namespace, reason, account, severity } = indexed.row;
    if (!sees(reader, namespace)) continue;
    const opensAt = indexed.sinceMs + afterMs[severity];
    const isPending = opensAt > nowMs;
    if (isPending) nextAt = Math.min(nextAt ?? opensAt, opensAt);
    if (isPending && whoseTurn(reason) !== 'user') continue;
    objects += 1;
    groups.add(indexed, reason, account ?? '', isPending);
  }
  const problems = groups.all.map(({ id, rows }) => problemOf(id, rows, context));
  if (reader.namespaces === undefined) problems.push(...documentProblem(source), ...managerProblems(source));
  return { problems: problems.sort(worstFirst), objects, nextAt };
}

interface Group {
  readonly id: string;
  readonly rows: IndexedRow[];
}

/** Thousands of rows, again and again. So a text is made for each group, and not for each row. */
class Groups {
  readonly all: Group[] = [];
  readonly #open = new Map<string, Map<string, Group>>();
  readonly #pending = new Map<string, Map<string, Group>>();

  add(row: IndexedRow, reason: string, account: string, isPending: boolean): void {
    const byReason = isPending ? this.#pending : this.#open;
    const byAccount = byReason.get(reason) ?? new Map<string, Group>();
    if (byAccount.size === 0) byReason.set(reason, byAccount);
    const known = byAccount.get(account);
    if (known) return void known.rows.push(row);
    const made = { id: `${reason} ${account}${isPending ? ' pending' : ''}`, rows: [row] };
    byAccount.set(account, made);
    this.all.push(made);
  }
}

function whoseTurn(reason: string): Problem['turn'] {
  return isReason(reason) ? reasons[reason].whose : 'user';
}

const unusableReason = 'InvalidSpec';

function documentProblem(source: FleetSource): Problem[] {
  const found = mistakesOfNobody(source.documentProblems(), (key) => source.store.record(key) !== undefined);
  const [first] = found;
  if (!first) return [];
  const mistakes = found.slice(0, mistakesShown).map((each) => ({
    place: each.line === undefined ? each.file : `${each.file}:${each.line}`,
    message: [...(each.path === undefined ? [] : [each.path]), each.message].join(': '),
    remedy: each.remedy,
  }));
  const problem: Problem = {
    id: 'documents',
    reason: unusableReason,
    severity: 'warning',
    account: null,
    state: 'Open',
    count: found.length,
    since: null,
    objects: [],
    answer: null,
    message: `${mistakes[0]?.place}: ${mistakes[0]?.message}`,
    health: 'Held',
    mistakes,
    meaning: reasons[unusableReason].meaning,
    remedy: first.remedy,
    turn: 'user',
    docs: sectionOf(reasons[unusableReason]),
    command: `fleetkeeper plan ${source.commandFlags}`.trim(),
  };
  return [problem];
}

function managerProblems({ impairments, commandFlags }: FleetSource): Problem[] {
  return impairments().map(({ cause, message, remedy, since }) => ({
    id: `manager ${cause}`,
    reason: cause,
    severity: 'critical',
    account: null,
    state: 'Open',
    count: 1,
    since: rfc3339(since),
    objects: [],
    answer: null,
    message,
    health: 'Held',
    mistakes: [],
    meaning: 'The manager runs, and can not work on all of its fleet. Heartbeats continue.',
    remedy,
    turn: 'user',
    docs: 'docs/reference/commands.md',
    command: `fleetkeeper status ${commandFlags}`.trim(),
  }));
}

function problemOf(id: string, group: IndexedRow[], context: AnswerContext): Problem {
  const { source, nowMs } = context;
  const firsts = firstOf(group, namesShown);
  const [first] = firsts;
  if (!first) throw new Error('a group has a member');
  const row = shownRow(context, first);
  const entry = isReason(row.reason) ? reasons[row.reason] : undefined;
  return {
    id,
    reason: row.reason,
    severity: row.severity === 'critical' ? 'critical' : 'warning',
    account: row.account,
    state: first.sinceMs + afterMs[row.severity] > nowMs ? 'Pending' : 'Open',
    count: group.length,
    since: row.since,
    objects: firsts.map((each) => each.row.key),
    health: row.health,
    message: row.sentence.text,
    mistakes: [],
    answer: row.sentence.answer,
    meaning: entry?.meaning ?? '',
    remedy: entry?.remedy ?? '',
    turn: whoseTurn(row.reason),
    docs: entry ? sectionOf(entry) : '',
    command: showCommand(row.key as ObjectKey, source.commandFlags),
  };
}

/** Those that have had it longest, without a sort of all. */
function firstOf(group: readonly IndexedRow[], count: number): IndexedRow[] {
  const firsts: IndexedRow[] = [];
  for (const each of group) {
    const last = firsts.at(-1);
    if (firsts.length >= count && last && longestFirst(last, each) < 0) continue;
    firsts.push(each);
    firsts.sort(longestFirst);
    firsts.length = Math.min(firsts.length, count);
  }
  return firsts;
}

function longestFirst(left: IndexedRow, right: IndexedRow): number {
  return left.sinceMs - right.sinceMs || (left.row.key < right.row.key ? -1 : 1);
}

function rankOf({ severity, turn }: Problem): number {
  return (severity === 'critical' ? 0 : 2) + (turn === 'user' ? 0 : 1);
}

function worstFirst(left: Problem, right: Problem): number {
  return (
    rankOf(left) - rankOf(right) ||
    right.count - left.count ||
    compareTexts(left.since ?? '', right.since ?? '') ||
    compareTexts(left.id, right.id)
  );
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** Objects that a person, a window or a brake keeps, by reason. */
export function suspendedBy({ index, reader }: AnswerContext): { reason: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { health, reason, count } of index.counts.of(reader)) {
    if (health === 'Suspended') counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return Array.from(counts, ([reason, count]) => ({ reason, count })).sort(
    (left, right) => right.count - left.count || (left.reason < right.reason ? -1 : 1),
  );
}
