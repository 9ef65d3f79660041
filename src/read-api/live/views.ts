/** What streams may show: each view takes the parameters of the list of the same name. */
import { z } from 'zod';
import { absent, shownRow, type AnswerContext } from '../answers/context.ts';
import { fleetAnswer, fleetKey } from '../answers/fleets.ts';
import { moneyOf } from '../answers/money.ts';
import { objectAnswer } from '../answers/object.ts';
import { selects } from '../answers/objects.ts';
import { openProblems, suspendedBy } from '../answers/problems.ts';
import { summaryOf } from '../answers/summary.ts';
import { timelinePage } from '../answers/timeline.ts';
import { treeOf } from '../answers/tree.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { Position } from '../fleet/sorted-rows.ts';
import { costByOf, objectsQueryOf, treeQueryOf } from '../routes.ts';
import * as queries from '../schemas/queries.ts';
import type { Item, Shown } from './live-view.ts';

export const streamQueries = {
  summary: queries.noQuery,
  objects: queries.objectsQuery,
  object: z.strictObject({ object: queries.key }),
  problems: queries.problemsQuery.omit({ cursor: true }),
  tree: queries.treeQuery,
  timeline: queries.timelineQuery.omit({ cursor: true }),
  money: queries.moneyQuery,
  fleet: z.strictObject({
    fleet: z
      .string()
      .max(512)
      .regex(/^[^/]+\/[^/]+$/, 'expected NAMESPACE/NAME'),
  }),
} as const;
export type ViewName = keyof typeof streamQueries;
export const viewNames = Object.keys(streamQueries) as [ViewName, ...ViewName[]];

/** A view that can be computed again and again. */
export interface OpenView {
  /** Between two times, at least. */
  readonly everyMs: number;
  /** Whether it may show something else than the last time, `sinceMs` ago. */
  isDue(sinceMs: number): boolean;
  render(): Shown | undefined;
  close(): void;
}

/** `now`: the context at the time of the call. */
type Now = () => AnswerContext;
type QueryOf<Name extends ViewName> = z.output<(typeof streamQueries)[Name]>;

const often = 500;
const sometimes = 2000;
const seldom = 10_000;

/** What depends on time alone, such as the age of a wait, is computed as often as this. */
const patientMs = 5000;

interface Watched {
  readonly now: Now;
  readonly everyMs: number;
  /** Whether a change of this row may be one of the view; default: each. */
  readonly concerns?: (indexed: IndexedRow) => boolean;
  readonly render: () => Shown | undefined;
}

function watched({ now, everyMs, concerns = () => true, render }: Watched): OpenView {
  let isMoved = true;
  const close = now().index.subscribe((before, after) => {
    isMoved ||= (before !== undefined && concerns(before)) || (after !== undefined && concerns(after));
  });
  return {
    everyMs,
    isDue: (sinceMs) => isMoved || sinceMs >= patientMs,
    render() {
      isMoved = false;
      return render();
    },
    close,
  };
}

const keyed = <Value extends object>(items: readonly Value[], id: (value: Value) => string): Item[] =>
  items.map((value) => ({ id: id(value), value }));

const opened: {
  readonly [Name in ViewName]: (now: Now, query: QueryOf<Name>, after: Position | undefined) => OpenView;
} = {
  summary: (now) => ({
    ...watched({ now, everyMs: 2 * often, render: () => ({ head: summaryOf(now()), items: [] }) }),
    isDue: () => true,
  }),
  objects: openObjects,
  object: (now, { object }) =>
    watched({
      now,
      everyMs: often,
      concerns: ({ row, parent }) => row.key === object || parent === object,
      render: () => {
        const answer = objectAnswer(now(), object);
        return answer === absent ? undefined : { head: answer, items: [] };
      },
    }),
  problems: (now, { limit }) =>
    watched({
      now,
      everyMs: often,
      render: () => {
        const { problems, objects } = openProblems(now());
        const head = { total: problems.length, objects, suspended: suspendedBy(now()) };
        return { head, items: keyed(problems.slice(0, limit), ({ id }) => id) };
      },
    }),
  tree: (now, query) =>
    watched({
      now,
      everyMs: sometimes,
      render: () => {
        const answer = treeOf(now(), treeQueryOf(query));
        if (answer === absent) return undefined;
        return { head: { omitted: answer.omitted }, items: keyed(answer.nodes, ({ id }) => id) };
      },
    }),
  timeline: (now, query) =>
    watched({
      now,
      everyMs: sometimes,
      render: () => {
        const { items, before } = timelinePage(now(), query, undefined);
        const head = { limits: now().source.timelineLimits, hasMore: before !== undefined };
        return { head, items: keyed(items, ({ idempotencyKey }) => idempotencyKey) };
      },
    }),
  money: (now, query) =>
    watched({ now, everyMs: seldom, render: () => ({ head: moneyOf(now(), costByOf(query)), items: [] }) }),
  fleet: openFleet,
};

function openFleet(now: Now, { fleet }: QueryOf<'fleet'>): OpenView {
  const [namespace = '', name = ''] = fleet.split('/');
  const key = fleetKey(namespace, name);
  const render = () => {
    const answer = fleetAnswer(now(), key);
    if (answer === absent) return undefined;
    const { slots, ...head } = answer;
    return { head, items: keyed(slots, ({ slot }) => String(slot)) };
  };
  return watched({
    now,
    everyMs: often,
    concerns: ({ row }) => row.key === key || row.fleet === key,
    render,
  });
}

/** The rows that match are kept in their order, so it costs what has changed. */
function openObjects(now: Now, query: QueryOf<'objects'>, after: Position | undefined): OpenView {
  const { filter, sort, limit } = objectsQueryOf(query);
  const { index, reader } = now();
  const isSelected = selects(filter, reader);
  const rows = index.order(sort).select(isSelected);
  let isMoved = true;
  const close = index.subscribe((before, changed) => {
    const isBefore = before !== undefined && isSelected(before);
    const isAfter = changed !== undefined && isSelected(changed);
    if (!isBefore && !isAfter) return;
    isMoved = true;
    rows.change(isBefore ? before : undefined, isAfter ? changed : undefined);
  });
  const render = () => {
    isMoved = false;
    const context = now();
    const items = rows
      .window(after, limit)
      .map((indexed) => ({ id: indexed.row.key, value: shownRow(context, indexed) }));
    return { head: { total: rows.size }, items };
  };
  return { everyMs: often, isDue: () => isMoved, render, close };
}

export function openView<Name extends ViewName>(
  name: Name,
  now: Now,
  query: QueryOf<Name>,
  after: Position | undefined,
): OpenView {
  return opened[name](now, query, after);
}
