/** The read API as an OpenAPI 3.1 document, made of the table of routes (routes.ts). */
import { z } from 'zod';
import { viewNames } from './live/views.ts';
import { routes, type Route } from './routes.ts';
import * as parts from './schemas/parts.ts';
import { accountFacts, budget, treeNode } from './schemas/answers.ts';

type Json = Record<string, unknown>;

const named = { Object: parts.row, Mutation: parts.intent, Problem: parts.problem, Error: parts.errorAnswer };
const schemas = { ...named, AccountFacts: accountFacts, BudgetFacts: budget, TreeNode: treeNode };

/** References to named schemas lead to the components of the document. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const registry = z.registry<{ id?: string }>();
  for (const [id, each] of Object.entries(schemas)) if (each !== schema) registry.add(each, { id });
  const made = z.toJSONSchema(schema, { io, metadata: registry, unrepresentable: 'any' });
  const own = Object.entries(made).filter(([field]) => field !== '$schema' && field !== '$defs');
  return withReferences(Object.fromEntries(own)) as Json;
}

function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      name === '$ref' && typeof each === 'string'
        ? each.replace('#/$defs/', '#/components/schemas/')
        : withReferences(each),
    ]),
  );
}

const refusals: readonly (readonly [status: number, meaning: string])[] = [
  [400, 'A parameter is unknown, or its value is not valid.'],
  [401, 'A token is needed, or the one that was sent is not valid.'],
  [404, 'It is not there, or not for this reader.'],
  [410, 'The cursor has expired: start over without it.'],
  [421, 'The host is not one of this server.'],
  [429, 'Too many requests from this address.'],
  [503, 'Too many requests or streams at once, or the answer took longer than 10 s.'],
];

function responses(success: Json): Json {
  const refused = refusals.map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
  ]);
  return {
    200: success,
    304: { description: 'As the ETag in If-None-Match.' },
    ...Object.fromEntries(refused),
  };
}

function pathParameters(path: string): Json[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: z.ZodType): Json[] {
  const { properties = {} } = jsonSchema(query, 'input') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, ...schema }]) =>
    Object.assign({ name, in: 'query', schema }, description === undefined ? {} : { description }),
  );
}

function operation({ id, path, summary, query, answer }: Route): Json {
  const schema = jsonSchema(answer, 'output');
  return {
    operationId: id,
    summary,
    parameters: [...pathParameters(path), ...queryParameters(query)],
    responses: responses({ description: 'The answer.', content: { 'application/json': { schema } } }),
  };
}

const stream: Json = {
  operationId: 'stream',
  summary:
    'Server-sent events of one view. Beside `view`, it takes the parameters of the list of that name; `object` and `fleet` name one. ' +
    'Event `state`: {at, head, items: [{id, value}]}; event `change`: {at, head?, changed?, removed?, order?}.',
  parameters: [
    { name: 'view', in: 'query', required: true, schema: { type: 'string', enum: viewNames } },
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'Continues after this event, if it is one of the last 10,000; else `state` is sent.',
      schema: { type: 'string' },
    },
  ],
  responses: responses({
    description: 'Events.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  }),
};

export function openApi(version: string): Json {
  const paths = routes.map((route) => [route.path, { get: operation(route) }]);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fleetkeeper read API',
      version,
      description:
        'Read-only: GET and HEAD. Fields may be added. Amounts are micro-USD, times RFC 3339 in UTC.',
    },
    paths: { ...Object.fromEntries(paths), '/api/v1/stream': { get: stream } },
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, jsonSchema(schema, 'output')]),
      ),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{}, { token: [] }],
  };
}
