/** Plans and statuses as text. Colour only where the stream is a terminal that wants it. */
import { Ansis } from 'ansis';
import stringWidth from 'fast-string-width';
import {
  additionText,
  differenceText,
  shortened,
  usdOf,
  type VariableChanges,
} from '../../engine/plan/index.ts';
import type {
  Change,
  ChangeAction,
  ChangeCost,
  FleetPlan,
  Held,
  PlanCost,
  PlanOverlay,
  PolicyWarning,
  ShownDifference,
  ShownDuplicate,
  Unclear,
} from '../../manager/index.ts';
import { entryOf, isBlocking, isReason } from '../../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { besideCounts, besideLines, type BesideLine } from './beside-text.ts';
import { longestLine, oneLine } from './terminal-text.ts';

export interface Palette {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly busy: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly strong: (text: string) => string;
}

export function palette(
  stream: { isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Palette {
  const wanted = stream.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const colours = new Ansis(wanted ? 2 : 0);
  return {
    good: (text) => colours.green(text),
    bad: (text) => colours.red(text),
    busy: (text) => colours.yellow(text),
    dim: (text) => colours.dim(text),
    strong: (text) => colours.bold(text),
  };
}

/** All others change what is there. */
const signs: Partial<Record<ChangeAction, string>> = {
  create: '+',
  protect: '+',
  replace: '-/+',
  delete: '-',
  leave: '-',
};

/** `isDetailed`: with the replicas of ServiceFleets. */
export function renderPlan(plan: FleetPlan, colours: Palette, isDetailed = false): string {
  const lines = [
    ...plan.changes.flatMap((change) => [
      ...renderChange(change, colours),
      ...(isDetailed ? renderReplicas(change, colours) : []),
    ]),
    ...plan.held.flatMap((held) => renderHeld(held, colours)),
    ...plan.unclear.flatMap((unclear) => renderUnclear(unclear, colours)),
    ...(plan.warnings ?? []).flatMap((warning) => renderWarning(warning, colours)),
    ...plan.duplicates.flatMap((duplicate) => renderDuplicate(duplicate, colours)),
    ...besideLines(plan).flatMap((line) => renderBeside(line, colours)),
  ];
  return [
    ...lines,
    ...(lines.length > 0 ? [''] : []),
    renderSummary(plan),
    ...costLine(plan.cost),
    ...budgetLines(plan.cost),
  ].join('\n');
}

/** For people, before a plan. */
export function overlayText({ source, documents, dryRun, builtIn, unchanged }: PlanOverlay): string {
  const parts = [
    ...(unchanged > 0 ? [`${unchanged} as they are in the cluster`] : []),
    ...(dryRun > 0 ? [`${dryRun} checked by a dry run at the API server`] : []),
    ...(builtIn > 0 ? [`${builtIn} checked by the built-in schemas, without a right to patch`] : []),
  ];
  return `With ${documents} document(s) of ${oneLine(source)} on top: ${parts.join(', ') || 'none is valid'}.`;
}

function renderChange(change: Change, { good, bad, busy, dim, strong }: Palette): string[] {
  const sign = signs[change.action] ?? '~';
  const paint = sign === '+' ? good : sign === '~' ? busy : bad;
  const drift = change.drift ? busy(' (drift)') : '';
  const cost = change.cost ? `  ${costText(change.cost)}` : '';
  return [
    `${paint(sign.padStart(3))} ${strong(identity(change))}  ${paint(change.action)}${drift}  ${dim(change.reason)}${cost}`,
    ...conditionLines(change).map((text) => `      ${oneLine(text)}`),
    ...renderDifferences(change, change.action),
  ];
}

/** What the change waits for, and what it does not wait for. */
function conditionLines({ after, overrides }: Change): string[] {
  return [
    ...(after === undefined ? [] : [afterText(after)]),
    ...(overrides === undefined ? [] : [`although protected by ${overrides}`]),
  ];
}

export function afterText(after: readonly ObjectKey[]): string {
  const names = after.slice(0, mostNamed).map((key) => identity(parseObjectKey(key)));
  const more = after.length > mostNamed ? `, and ${after.length - mostNamed} more` : '';
  return `once ${names.join(', ')}${more} ${after.length === 1 ? 'is' : 'are'} released`;
}

function renderReplicas({ replicas = [] }: Change, colours: Palette): string[] {
  return replicas.map(({ name, action }) => {
    const sign = signs[action] ?? '~';
    return `      ${sign.padStart(3)} ${name}  ${colours.dim(action)}`;
  });
}

export function costText({ deltaMicros, basis }: ChangeCost): string {
  return basis === 'unknown' ? 'price unknown' : `${signedUsd(deltaMicros)}/h (${basis})`;
}

/** As clouds bill it. */
const hoursPerMonth = 730;

export function costLine({
  nowHourlyMicros,
  thenHourlyMicros,
  deltaHourlyMicros,
  unpriced,
  changes,
}: PlanCost): string[] {
  if (changes === 0) return [];
  const month = `about ${signedUsd(deltaHourlyMicros * hoursPerMonth)} a month of ${hoursPerMonth} h`;
  const unpricedNote = unpriced === 0 ? '' : `; ${unpriced} of ${changes} changes have no known price`;
  return [
    `Cost: ${usd(nowHourlyMicros)}/h → ${usd(thenHourlyMicros)}/h (${signedUsd(deltaHourlyMicros)}/h, ${month})${unpricedNote}`,
  ];
}

/** Of those that change, that are near their limit, or for which something waits. */
function budgetLines({ budgets = [] }: PlanCost): string[] {
  const shown = budgets.filter(
    ({ nowMicros, thenMicros, verdict, waiting }) =>
      nowMicros !== thenMicros || verdict !== 'ok' || waiting.length > 0,
  );
  return shown.map(({ namespace, name, limit, limitMicros, nowMicros, thenMicros, waiting }) => {
    const amounts = `${usd(nowMicros)} → ${usd(thenMicros)} of ${usd(limitMicros)}`;
    return oneLine(
      `Budget ${namespace}/${name}: ${amounts}${limitUnits[limit] ?? ''}${waitingText(waiting)}`,
    );
  });
}

const limitUnits: Readonly<Record<string, string>> = {
  hourlyMicros: '/h',
  monthlyMicros: ' at the end of this month',
  perObjectHourlyMicros: '/h for each, of the most expensive',
  runwayHours: ' of the balance, for the hours of runwayHours',
};
const mostNamed = 3;

/** Which changes will wait for a budget. */
export function waitingText(waiting: readonly ObjectKey[]): string {
  if (waiting.length === 0) return '';
  const names = waiting.slice(0, mostNamed).map((key) => identity(parseObjectKey(key)));
  const more = waiting.length > mostNamed ? ', …' : '';
  return `: ${waiting.length} change${waiting.length === 1 ? '' : 's'} will wait (${names.join(', ')}${more})`;
}

function signedUsd(micros: number): string {
  return `${micros < 0 ? '-' : '+'}${usd(Math.abs(micros))}`;
}

export function usd(micros: number): string {
  return usdOf(BigInt(Math.round(micros)));
}

function renderHeld(held: Held, { bad, strong, dim }: Palette): string[] {
  const would = held.actions.length > 0 ? dim(`  would ${held.actions.join(', ')}`) : '';
  return [
    `${bad('  !')} ${strong(identity(held))}  ${bad(held.reason)}${would}`,
    `      ${oneLine(held.message)}`,
    ...renderDifferences(held, held.actions[0] ?? 'update'),
  ];
}

function renderUnclear(unclear: Unclear, { busy, strong }: Palette): string[] {
  return [
    `${busy('  ?')} ${strong(identity(unclear))}  ${busy(unclear.reason)}`,
    `      ${oneLine(unclear.message)}`,
  ];
}

function renderWarning(warning: PolicyWarning, { busy, strong }: Palette): string[] {
  const { rule, message } = warning;
  return [
    `${busy('  !')} ${strong(identity(warning))}  ${busy('PolicyWarning')}`,
    `      ${oneLine(`${rule}: ${message}`)}`,
  ];
}

function renderDuplicate(duplicate: ShownDuplicate, { bad, strong }: Palette): string[] {
  const { kind, namespace, object, message } = duplicate;
  const name = strong(oneLine(`${kind} ${namespace}/${object}`));
  return [`${bad('  !')} ${name}  ${bad('Duplicated')}`, `      ${oneLine(message)}`];
}

function renderBeside({ name, label, text }: BesideLine, { busy, strong }: Palette): string[] {
  return [`${busy('  !')} ${strong(oneLine(name))}  ${busy(label)}`, `      ${oneLine(text)}`];
}

function renderDifferences(
  change: Pick<Change, 'differences' | 'variables'>,
  action: ChangeAction,
): string[] {
  return differenceLines(change, action, longestLine).map((text) => `      ${oneLine(text)}`);
}

/**
 * As others wrote them, in lines of at most `longest` characters. A longer difference is cut where both values are equal. An environment is in as
 * few lines as have room for all names: `environment: + NEW_FLAG, ~ LOG_LEVEL, - OLD`.
 */
export function differenceLines(
  { differences, variables }: Pick<Change, 'differences' | 'variables'>,
  action: ChangeAction,
  longest: number,
): string[] {
  const isNamed = differences.some(({ path }) => path === 'storage.volumeRef');
  const hasNames = variables !== undefined && variables.changed.length > 0;
  const others = differences.filter(
    ({ path }) =>
      !(variables && isOfVariable(path)) &&
      !(hasNames && path === 'env') &&
      !(isNamed && path === 'storage.volumeId'),
  );
  return [
    ...others.map((difference) => renderDifference(difference, action, longest)),
    ...(variables ? renderVariables(variables, differences, longest) : []),
  ];
}

const isOfVariable = (path: string) => path.startsWith('env.');

function renderVariables(
  { added, removed, changed }: VariableChanges,
  differences: readonly ShownDifference[],
  longest: number,
): string[] {
  const origins = new Map(differences.map(({ path, from }) => [path, from]));
  const withOrigin = (name: string) => {
    const from = origins.get(`env.${name}`);
    return from === undefined ? name : `${name} (${from})`;
  };
  const parts = [
    ...added.map((name) => `+ ${withOrigin(name)}`),
    ...changed.map((name) => `~ ${name}`),
    ...removed.map((name) => `- ${name}`),
  ];
  const ofVariables = differences.filter(({ path }) => isOfVariable(path));
  const causes = [...new Set(ofVariables.flatMap(({ cause }) => cause ?? []))];
  const why = noteText(causes, longest);
  const lines: string[] = [];
  let line = '';
  for (const part of parts) {
    const shown = shortened(part, longest / 2);
    if (line !== '' && line.length + shown.length > longest - variablesStart.length - 2 - why.length) {
      lines.push(`${variablesStart}${line}`);
      line = '';
    }
    line += line === '' ? shown : `, ${shown}`;
  }
  return [...lines, `${variablesStart}${line}${why}`];
}

const variablesStart = 'environment: ';

function renderDifference(difference: ShownDifference, action: ChangeAction, longest: number): string {
  const { from, cause } = difference;
  const why = noteText(
    [from, cause].filter((note) => note !== undefined),
    longest,
  );
  const room = longest - why.length;
  return `${action === 'create' ? additionText(difference, room) : differenceText(difference, room)}${why}`;
}

function noteText(notes: readonly string[], longest: number): string {
  return notes.length === 0 ? '' : `  (${shortened(notes.join('; '), longest / 4 - 4)})`;
}

/** Of what waits: whose account can't be read. */
function unread(unclear: FleetPlan['unclear']): number {
  return unclear.filter(
    ({ reason }) => isReason(reason) && isBlocking(reason) && entryOf(reason).accountUnread,
  ).length;
}

export function renderSummary(plan: FleetPlan): string {
  return [countsText(plan), ...besideCounts(plan)].join(' ');
}

function countsText({ summary, unclear }: FleetPlan): string {
  const { create, update, replace, leave, held, drift, duplicates, unchanged, waiting, problems } = summary;
  const { unseen = 0, replicas } = summary;
  const found = create + update + replace + summary.delete + leave + held + duplicates + problems;
  if (found + unseen === 0) {
    const way = waiting > 0 ? `, ${waiting} on their way` : '';
    const known = unclear.length > 0 ? 'Nothing to do that is known yet' : 'Nothing to do';
    return `${known}: ${unchanged} object(s) are as desired${way}.`;
  }
  const onTheirWay = Math.max(0, waiting - unread(unclear));
  const notSeen = `${unseen} not observed: their account can't be read`;
  if (found + unchanged + onTheirWay === 0) return `Nothing is known: ${notSeen}.`;
  const parts = [
    `${create} to create`,
    `${update} to change`,
    `${replace} to replace`,
    `${summary.delete} to delete`,
    ...(leave > 0 ? [`${leave} to leave at the provider`] : []),
    `${unchanged} unchanged`,
    ...(onTheirWay > 0 ? [`${onTheirWay} on their way`] : []),
    ...(held > 0 ? [`${held} held`] : []),
    ...(duplicates > 0 ? [`${duplicates} duplicated`] : []),
    ...(drift > 0 ? [`${drift} drifted`] : []),
    ...(problems > 0 ? [`${problems} problem(s) in the source`] : []),
    ...(unseen > 0 ? [notSeen] : []),
  ];
  return `Plan: ${parts.join(', ')}${replicas ? `; replicas: ${replicaText(replicas)}` : ''}.`;
}

function replicaText(counts: NonNullable<FleetPlan['summary']['replicas']>): string {
  const parts = [
    [counts.create, 'to create'],
    [counts.update, 'to change'],
    [counts.replace, 'to replace'],
    [counts.delete, 'to delete'],
  ] as const;
  return parts.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : [])).join(', ');
}

export function identity({
  kind,
  namespace,
  name,
}: {
  kind: string;
  namespace: string;
  name: string;
}): string {
  return `${kind} ${namespace}/${name}`;
}

/** Columns aligned with spaces, as kubectl prints them. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, stringWidth(cells[column] ?? '')), 0),
  );
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell));
  return lines.map((cells) => cells.map(padded).join('   ').trimEnd()).join('\n');
}
