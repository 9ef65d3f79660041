/**
 * A plan as a comment on a change: GitHub-flavoured Markdown within a bound. Pure.
 *
 * | part                                       | too long                                            |
 * |--------------------------------------------|-----------------------------------------------------|
 * | marker, counts, cost                       | never: 1,000 characters are enough for them         |
 * | budgets, errors, held, interruptions, unclear, duplicates, what is beside the documents | a share of what is left; the number of others |
 * | each object, the greatest risk first       | whole objects are left out from the end, and counted |
 *
 * The marker is the first line, so that whoever posts the comment finds the last one and replaces it.
 */
import { InvalidArgumentError } from 'commander';
import type { Change, FleetPlan, Held, PlanBudget } from '../../manager/index.ts';
import {
  adoptedLines,
  sameNameLines,
  uncomparedLines,
  undeclaredLines,
  type BesideLine,
} from './beside-text.ts';
import { code, htmlCode } from './markdown-text.ts';
import {
  afterText,
  costLine,
  costText,
  differenceLines,
  identity,
  overlayText,
  renderSummary,
  usd,
  waitingText,
} from './render.ts';

export interface MarkdownOptions {
  /** Of the result, in UTF-16 units: at least as many as characters. */
  readonly maxChars: number;
  /** Distinguishes the comments of several fleets. */
  readonly name: string;
}

export const markdownBounds = { least: 1000, standard: 60_000, most: 65_000 } as const;
export const standardName = 'fleet';

export function parseMaxChars(text: string): number {
  const count = Number(text);
  const { least, most } = markdownBounds;
  if (/^\d+$/.test(text) && count >= least && count <= most) return count;
  throw new InvalidArgumentError(`expected a number from ${least} to ${most}`);
}

/** It stands in an HTML comment. */
export function parseMarkdownName(text: string): string {
  if (/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text) && !text.includes('--')) return text;
  throw new InvalidArgumentError('expected 1 to 63 letters, digits, dots and single hyphens');
}

/** For the line that states how many objects are left out. */
const reserve = 100;
/** Of what is left, for each list before the objects. */
const listShare = 0.4;

export function renderMarkdown(plan: FleetPlan, { maxChars, name }: MarkdownOptions): string {
  const head = [
    `<!-- fleetkeeper-plan:${name} -->`,
    `### Plan of \`${name}\``,
    '',
    renderSummary(plan),
    ...costLine(plan.cost).flatMap((line) => ['', code(line, 300)]),
  ];
  const { unreadAccounts, problems, held, unclear, duplicates, cost } = plan;
  const lists: string[] = [];
  const room = () => maxChars - lengthOf(head) - lengthOf(lists) - reserve;
  const add = (title: string, items: readonly string[]) => {
    lists.push(...list(title, items, room() * listShare));
  };
  add('Documents', plan.overlay ? [`- ${code(overlayText(plan.overlay), 500)}`] : []);
  add('Part of the fleet', partOf(plan));
  add('Budgets', (cost.budgets ?? []).map(budgetLine));
  add('Errors', [
    ...unreadAccounts.map(({ account, message }) => `- ${code(account ?? 'account')} ${code(message, 500)}`),
    ...problems.map(
      ({ file, line, path, message, remedy }) =>
        `- ${code(`${file}${line === null ? '' : `:${line}`}`)} ${code(`${path === null ? '' : `${path}: `}${message}; ${remedy}`, 500)}`,
    ),
  ]);
  add('Held', held.map(heldLine));
  add(
    'Warnings of the policy',
    (plan.warnings ?? []).map(
      (one) => `- ${code(identity(one))} ${code(`${one.rule}: ${one.message}`, 600)}`,
    ),
  );
  add('Interrupts what runs', plan.changes.filter(interrupts).map(interruptionLine));
  add(
    'Not known yet',
    unclear.map((one) => `- ${code(identity(one))} ${one.reason}: ${code(one.message, 500)}`),
  );
  add(
    'Duplicated',
    duplicates.map(
      ({ kind, namespace, object, message }) =>
        `- ${code(identity({ kind, namespace, name: object }))}: ${code(message, 500)}`,
    ),
  );
  add('Taken over', adoptedLines(plan).map(besideItem));
  add('Beside a thing of the same name', sameNameLines(plan).map(besideItem));
  add("With this fleet's mark and no document", undeclaredLines(plan).map(besideItem));
  add('Not compared', uncomparedLines(plan).map(besideItem));
  return [...head, ...lists, ...objectParts(plan, room())].join('\n');
}

function besideItem({ name, text }: BesideLine): string {
  return `- ${code(name)}: ${code(text, 500)}`;
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function partOf({ partial }: FleetPlan): string[] {
  if (!partial) return [];
  const { selected, included, omitted } = partial;
  return [
    `- ${selected.length} object(s) are selected, with ${included.length} that they need; ${omitted} other(s) stay as they are`,
  ];
}

/** A heading, and as many items as there is room for. Nothing at all where there is not even room for that. */
function list(title: string, items: readonly string[], room: number): string[] {
  if (items.length === 0) return [];
  const heading = ['', `**${title}**`, ''];
  let left = room - lengthOf([...heading, moreLine(items.length)]);
  if (left < 0) return [];
  const shown = takeWhile(items, (item) => (left -= item.length + 1) >= 0);
  const rest = items.length - shown.length;
  return [...heading, ...shown, ...(rest > 0 ? [moreLine(rest)] : [])];
}

function moreLine(count: number): string {
  return `- … and ${count} more`;
}

function takeWhile<Item>(items: readonly Item[], isTaken: (item: Item) => boolean): Item[] {
  const end = items.findIndex((item) => !isTaken(item));
  return items.slice(0, end === -1 ? items.length : end);
}

function budgetLine({
  namespace,
  name,
  limit,
  limitMicros,
  nowMicros,
  thenMicros,
  verdict,
  waiting,
}: PlanBudget): string {
  const amounts = `${usd(nowMicros)} → ${usd(thenMicros)} of ${usd(limitMicros)} (${limit})`;
  return `- ${code(`${namespace}/${name}`)} ${verdict === 'ok' ? 'ok' : `**${verdict}**`}: ${code(`${amounts}${waitingText(waiting)}`)}`;
}

function heldLine(held: Held): string {
  const would = held.actions.length === 0 ? '' : `, would ${held.actions.join(', ')}`;
  return `- ${code(identity(held))} **${held.reason}**${would}: ${code(held.message, 500)}`;
}

function interrupts({ disruptive, replicas = [] }: Change): boolean {
  return disruptive === true || replicas.some(({ action }) => action !== 'create' && action !== 'leave');
}

function interruptionLine(change: Change): string {
  const { action, after, overrides, destroysData, replicas = [] } = change;
  const touched = replicas.filter((replica) => replica.action !== 'create' && replica.action !== 'leave');
  const names = touched.slice(0, 10).map((replica) => `${replica.action} ${replica.name}`);
  const more = touched.length > names.length ? `, and ${touched.length - names.length} more` : '';
  const notes = [
    ...(names.length > 0 ? [code(`${names.join(', ')}${more}`, 500)] : []),
    ...(destroysData ? ['with its data'] : []),
    ...(after === undefined ? [] : [code(afterText(after), 500)]),
    ...(overrides === undefined ? [] : [`although protected by ${code(overrides, 500)}`]),
  ];
  return `- ${code(identity(change))} **${action}**${notes.length > 0 ? `: ${notes.join(', ')}` : ''}`;
}

// ---- objects -----------------------------------------------------------------------------------------

interface ShownObject {
  readonly risk: number;
  readonly lines: readonly string[];
}

/** The smallest is shown first. */
function riskOf(change: Change): number {
  const { action, destroysData, replicas = [] } = change;
  const removes =
    action === 'delete' ||
    action === 'replace' ||
    replicas.some((replica) => replica.action === 'delete' || replica.action === 'replace');
  if (removes) return destroysData ? 0 : 1;
  if (interrupts(change)) return 2;
  return action === 'create' ? 3 : 4;
}

const ofHeld = 5;

function objectParts({ changes, held }: FleetPlan, room: number): string[] {
  const changed = [...Map.groupBy(changes, identity).values()].map((own): ShownObject => ({
    risk: Math.min(...own.map(riskOf)),
    lines: detailsOf(own.map(titleOf).join('; '), own[0], own.flatMap(changeLines)),
  }));
  const kept = held
    .filter(({ differences }) => differences.length > 0)
    .map((one): ShownObject => ({
      risk: ofHeld,
      lines: detailsOf('held', one, changeLines({ ...one, action: one.actions[0] ?? 'update' })),
    }));
  const objects = [...changed, ...kept].sort((left, right) => left.risk - right.risk);
  let left = room;
  const shown = takeWhile(objects, ({ lines }) => (left -= lengthOf(lines)) >= 0);
  const omitted = objects.length - shown.length;
  return [
    ...shown.flatMap(({ lines }) => lines),
    ...(omitted > 0
      ? ['', `${omitted} of ${objects.length} object(s) are left out here: there is no room.`]
      : []),
  ];
}

function titleOf(change: Change): string {
  const { action, drift, cost } = change;
  const price = cost ? ` ${htmlCode(costText(cost))}` : '';
  return `${action}${drift ? ' (drift)' : ''}${price}`;
}

function detailsOf(
  title: string,
  object: Parameters<typeof identity>[0] | undefined,
  lines: readonly string[],
): string[] {
  const name = object ? htmlCode(identity(object)) : '';
  return ['', `<details><summary>${name} ${title}</summary>`, '', ...bounded(lines), '', '</details>'];
}

const linesShown = 40;
/** Of a line with one difference. What is left out of it is equal, or counted. */
const longestChange = 600;

function bounded(lines: readonly string[]): string[] {
  const more = lines.length - linesShown;
  if (lines.length === 0) return ['- no field differs'];
  return more > 0 ? [...lines.slice(0, linesShown), moreLine(more)] : [...lines];
}

function changeLines(change: Pick<Change, 'action' | 'differences' | 'variables'>): string[] {
  return differenceLines(change, change.action, longestChange).map(
    (text) => `- ${code(text, longestChange)}`,
  );
}
