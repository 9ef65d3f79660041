/**
 * The paths of the read API, each with its parameters and its answer. The router asks this table, and OpenAPI is made of it.
 * Each answer is a function of the context and the query.
 */
import type { z } from 'zod';
import { endpointsOf, prometheusTargets } from '../kinds/index.ts';
import { accountKey, kindCalled, objectKey } from '../resources/index.ts';
import type { CostBy } from '../shown/cost.ts';
import { absent, type Absent, type AnswerContext } from './answers/context.ts';
import { fleetAnswer, fleetKey, revisionsAnswer } from './answers/fleets.ts';
import { moneyOf } from './answers/money.ts';
import { objectAnswer } from './answers/object.ts';
import { objectsPage, type ObjectsQuery } from './answers/objects.ts';
import { openProblems, suspendedBy } from './answers/problems.ts';
import { summaryOf } from './answers/summary.ts';
import { timelinePage } from './answers/timeline.ts';
import { treeOf, type TreeQuery } from './answers/tree.ts';
import { seesKey } from './fleet/reader.ts';
import type { Position } from './fleet/sorted-rows.ts';
import * as answers from './schemas/answers.ts';
import * as queries from './schemas/queries.ts';

/** What a route may use beside the context. */
export interface Paging {
  /** Of the cursor in the query. */
  readonly position: readonly (string | number)[] | undefined;
  readonly cursor: (position: readonly (string | number)[]) => string;
}

export interface Route {
  /** With `{name}` for a segment. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly query: z.ZodType;
  readonly answer: z.ZodType;
  respond(
    context: AnswerContext,
    parameters: Readonly<Record<string, string>>,
    query: never,
    paging: Paging,
  ): object | Absent;
}

function route<Query extends z.ZodType>(
  declared: Omit<Route, 'query' | 'respond'> & {
    readonly query: Query;
    respond(
      context: AnswerContext,
      parameters: Readonly<Record<string, string>>,
      query: z.output<Query>,
      paging: Paging,
    ): object | Absent;
  },
): Route {
  return declared;
}

/** As the list of objects takes them. */
export function objectsQueryOf(query: z.output<typeof queries.objectsQuery>): ObjectsQuery {
  const { kind, namespace, reason, health, account, fleet, label, q, sort, limit } = query;
  const searched = q?.toLowerCase();
  const filter = { kinds: kind, namespace, reason, health, account, fleet, label, searched };
  return { filter, sort, limit };
}

export function treeQueryOf({ account, fleet, depth }: z.output<typeof queries.treeQuery>): TreeQuery {
  if (fleet === undefined) return { root: account === undefined ? undefined : accountKey(account), depth };
  const [namespace = '', name = ''] = fleet.split('/');
  return { root: fleetKey(namespace, name), depth };
}

export function costByOf({ by }: z.output<typeof queries.moneyQuery>): CostBy {
  if (by === 'namespace' || by === 'account' || by === 'fleet') return { by };
  return { by: 'label', key: by.slice('label='.length) };
}

export const routes: readonly Route[] = [
  route({
    path: '/api/v1/summary',
    id: 'summary',
    summary: 'Counts, problems, accounts and budgets.',
    query: queries.noQuery,
    answer: answers.summary,
    respond: (context) => summaryOf(context),
  }),
  route({
    path: '/api/v1/objects',
    id: 'objects',
    summary: 'Objects, filtered and sorted.',
    query: queries.objectsQuery,
    answer: answers.objects,
    respond(context, _parameters, query, { position, cursor }) {
      const page = objectsPage(context, objectsQueryOf(query), positionIn(position));
      return { items: page.items, total: page.total, next: page.last ? cursor(page.last) : null };
    },
  }),
  route({
    path: '/api/v1/objects/{kind}/{namespace}/{name}',
    id: 'object',
    summary: 'One object, with all that is known of it.',
    query: queries.noQuery,
    answer: answers.object,
    respond(context, { kind: called = '', namespace = '', name = '' }) {
      const kind = kindCalled(called);
      return kind ? objectAnswer(context, objectKey(kind, namespace, name)) : absent;
    },
  }),
  route({
    path: '/api/v1/tree',
    id: 'tree',
    summary: 'Accounts, fleets, replicas, volumes and tasks, with the worst state below each.',
    query: queries.treeQuery,
    answer: answers.tree,
    respond: (context, _parameters, query) => treeOf(context, treeQueryOf(query)),
  }),
  route({
    path: '/api/v1/timeline',
    id: 'timeline',
    summary:
      'Mutations of all objects, newest first. A page may be short; `next` decides whether there are more.',
    query: queries.timelineQuery,
    answer: answers.timeline,
    respond(context, _parameters, query, { position, cursor }) {
      const [before] = position ?? [];
      const { items, before: next } = timelinePage(
        context,
        query,
        typeof before === 'number' ? before : undefined,
      );
      return {
        items,
        next: next === undefined ? null : cursor([next]),
        limits: context.source.timelineLimits,
      };
    },
  }),
  route({
    path: '/api/v1/money',
    id: 'money',
    summary: 'What everything costs now, and by whom.',
    query: queries.moneyQuery,
    answer: answers.money,
    respond: (context, _parameters, query) => moneyOf(context, costByOf(query)),
  }),
  route({
    path: '/api/v1/fleets/{namespace}/{name}',
    id: 'fleet',
    summary: 'A ServiceFleet with its replicas, rollout and revisions.',
    query: queries.noQuery,
    answer: answers.fleet,
    respond: (context, { namespace = '', name = '' }) => fleetAnswer(context, fleetKey(namespace, name)),
  }),
  route({
    path: '/api/v1/fleets/{namespace}/{name}/endpoints',
    id: 'endpoints',
    summary: 'Where its replicas can be reached; with format=prometheus for service discovery.',
    query: queries.endpointsQuery,
    answer: answers.endpoints,
    respond(context, { namespace = '', name = '' }, { format }) {
      const key = fleetKey(namespace, name);
      if (!seesKey(context.reader, key)) return absent;
      const endpoints = endpointsOf(context.source.store, key, context.nowMs);
      if (!endpoints) return absent;
      return format === 'json' ? { namespace, name, endpoints } : prometheusTargets(key, endpoints);
    },
  }),
  route({
    path: '/api/v1/fleets/{namespace}/{name}/revisions',
    id: 'revisions',
    summary: 'The revisions of a ServiceFleet that are kept.',
    query: queries.noQuery,
    answer: answers.revisions,
    respond: (context, { namespace = '', name = '' }) => revisionsAnswer(context, fleetKey(namespace, name)),
  }),
  route({
    path: '/api/v1/problems',
    id: 'problems',
    summary: 'What needs a person or lasts too long, by reason and account, worst first.',
    query: queries.problemsQuery,
    answer: answers.problems,
    respond(context, _parameters, { limit }, { position, cursor }) {
      const { problems, objects } = openProblems(context);
      const [before] = position ?? [];
      const from = typeof before === 'number' ? before : 0;
      const items = problems.slice(from, from + limit);
      const next = from + limit < problems.length ? cursor([from + limit]) : null;
      return { items, next, total: problems.length, objects, suspended: suspendedBy(context) };
    },
  }),
];

export function positionIn(position: readonly (string | number)[] | undefined): Position | undefined {
  const [first, key] = position ?? [];
  return first === undefined || typeof key !== 'string' ? undefined : [first, key];
}
