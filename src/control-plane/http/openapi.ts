/**
 * The API as an OpenAPI 3.1 document, at `/openapi.json`. Parameters and bodies are the very schemas that the
 * routes validate with; the rest is in endpoints.ts, of which the routes know nothing: answers are sent as they
 * were serialised. What all endpoints have in common is added here: credentials, the Idempotency-Key of mutations,
 * and the refusals that §7 lists.
 */
import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorBody } from '../../api/wire.ts';
import { invariant } from '../../base/invariant.ts';
import * as answers from './answers.ts';
import type { IdentityConfig } from '../domain/config.ts';
import { endpoints, tags } from './endpoints.ts';
import { sendJson, type App } from './http.ts';

/** To be called before the routes are added. */
export async function documentApi(app: App, identity: IdentityConfig | null): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Container Compute Control API',
        version: 'developer-preview',
        description: 'As the reference control plane of Fleetkeeper serves it.',
      },
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    },
    convertConstToEnum: false,
    transform: describeRoute,
    transformObject: (document) => withCommonParts(withNamedSchemas(document) as Document, identity),
  });
  let text: string | undefined;
  app.get('/openapi.json', { config: { isPublic: true } }, (_request, reply) =>
    sendJson(reply, 200, (text ??= JSON.stringify(app.swagger()))),
  );
}

const { service, volume, template, registry, ledgerEntry, event, activity, region } = answers;
const named = { Service: service, Volume: volume, Template: template, ImageRegistry: registry };
const schemaRegistry = z.registry<{ id?: string }>();
for (const [id, schema] of Object.entries({
  ...named,
  LedgerEntry: ledgerEntry,
  Event: event,
  Activity: activity,
  Region: region,
  Error: errorBody,
})) {
  schemaRegistry.add(schema, { id });
}

const options = {
  schemaRegistry,
  zodToJsonConfig: {
    /** Descriptions are kept in a registry of their own. */
    override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }) => {
      Object.assign(jsonSchema, z.globalRegistry.get(zodSchema));
    },
  },
};
const toJsonSchemas = createJsonSchemaTransform(options);
const addNamedSchemas = createJsonSchemaTransformObject(options);

const describeRoute: SwaggerTransform = (document) => {
  const { route, url, schema } = document;
  const endpoint = endpoints[`${String(route.method)} ${url}`];
  invariant(
    endpoint || !url.startsWith('/api/'),
    `the endpoint ${String(route.method)} ${url} is not described`,
  );
  if (!endpoint) return { schema: { hide: true }, url };
  const { id, tag, summary, contract, status, answer, mediaType = 'application/json' } = endpoint;
  return toJsonSchemas({
    ...document,
    schema: {
      ...schema,
      operationId: id,
      tags: [tag],
      summary,
      description: `Contract: ${contract}.`,
      response: { [status]: { description: 'done', content: { [mediaType]: { schema: answer } } } },
    },
  });
};

/** The library names a schema twice: as what is received, and as what is answered. */
const withNamedSchemas: SwaggerTransformObject = (document) => {
  const full = addNamedSchemas(document) as Document;
  const used = Object.entries(full.components.schemas).filter(([name]) => !name.endsWith('Input'));
  return { ...full, components: { ...full.components, schemas: Object.fromEntries(used) } };
};

interface Operation {
  parameters?: object[];
  responses: Record<string, { headers?: object; [member: string]: unknown }>;
  security?: object[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; [member: string]: unknown };
}

const refusals = {
  400: ['BadRequest', 'the request is wrong in itself'],
  401: ['Unauthenticated', 'the credentials are missing or bad'],
  403: ['Forbidden', 'the rights are insufficient, or the email is not verified'],
  404: ['NotFound', 'there is no such thing in this account'],
  409: ['Conflict', 'the present state does not allow it'],
  429: ['RateLimited', 'too many requests'],
  503: ['Unavailable', 'not possible now; the request had no effect'],
} as const;
/** §7 rule 2. */
const neverOfCatalog = new Set(['401', '403']);

function withCommonParts(document: Document, identity: IdentityConfig | null): Document {
  const securitySchemes = securitySchemesFor(identity);
  const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const isCatalog = path === '/api/catalog';
      operation.security = isCatalog ? [] : security;
      if (method !== 'get') requireIdempotencyKey(operation);
      for (const [status, [name]] of Object.entries(refusals)) {
        if (isCatalog && neverOfCatalog.has(status)) continue;
        operation.responses[status] = { $ref: `#/components/responses/${name}` };
      }
    }
  }
  const components = { ...document.components, securitySchemes, parameters, headers, responses };
  return { ...document, components };
}

function requireIdempotencyKey(operation: Operation): void {
  operation.parameters = [
    ...(operation.parameters ?? []),
    { $ref: '#/components/parameters/IdempotencyKey' },
  ];
  for (const response of Object.values(operation.responses)) {
    response.headers = { 'Idempotency-Replayed': { $ref: '#/components/headers/IdempotencyReplayed' } };
  }
}

const parameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: 'one new value per intent; a repetition gets the first answer again',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
};

const headers = {
  IdempotencyReplayed: {
    description: 'the answer is that of an earlier request with this key',
    schema: { const: 'true' },
  },
  RetryAfter: {
    description: 'seconds to wait',
    required: true,
    schema: { type: 'string', pattern: '^\\d+$' },
  },
};

const responses = Object.fromEntries(
  Object.entries(refusals).map(([status, [name, description]]) => [
    name,
    {
      description,
      ...(status === '429' && { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } }),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]),
);

function securitySchemesFor(identity: IdentityConfig | null): Record<string, object> {
  const apiKey = { type: 'http', scheme: 'bearer', description: 'an API key' };
  if (!identity) return { apiKey };
  const description = `an ID token of ${identity.issuer}`;
  if (identity.header === 'authorization') {
    return { apiKey, idToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description } };
  }
  return { apiKey, idToken: { type: 'apiKey', in: 'header', name: identity.header, description } };
}
