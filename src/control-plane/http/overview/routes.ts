/**
 * The page of the administrative listener, and the read-only paths behind it:
 *
 * | path                                                       | answers                                                        |
 * |------------------------------------------------------------|----------------------------------------------------------------|
 * | `/`, `/page/…`                                             | the page and its files, which have no data                     |
 * | `/admin/v1/summary`                                        | counts, cost of all accounts, faults, capacity                 |
 * | `/admin/v1/accounts?q`                                     | balance, cost, how long the balance lasts, what is stored      |
 * | `/admin/v1/account?name`                                   | one account: quotas, and the first of its services and volumes |
 * | `/admin/v1/services?account&state&q`                       | state, place, price, endpoint, error, newest event             |
 * | `/admin/v1/service?id`                                     | one service: its events, and the tasks that protect it         |
 * | `/admin/v1/volumes?account&state&q`                        | state, size, place, price                                      |
 * | `/admin/v1/ledger?account`                                 | entries, the newest first                                      |
 * | `/admin/v1/faults`                                         | the faults that are set, with how often each has hit           |
 *
 * Lists take `limit` (1 to 200, default 50) and `offset`. Answers have an ETag. For all of these paths, known or not: other methods than GET and HEAD are
 * refused (405); a `Host` that is no address of a machine, nor localhost, is 421, because a browser can be led here by any other name; and every
 * response has the page's policy.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { etagOf, hasETag, pageHeaders } from '../../../base/page-responses.ts';
import { ApiError } from '../../domain/errors.ts';
import type { App } from '../http.ts';
import { Overview, type ListQuery, type OverviewParts } from './overview.ts';

export interface PageFile {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

/** By path; `/` is the page itself. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const longestText = 256;
const range = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  offset: z.coerce.number().int().min(0).max(1_000_000).default(0),
};
const text = z.string().min(1).max(longestText);
const accountName = z.string().min(1).max(4096);
const queries = {
  none: z.strictObject({}),
  range: z.strictObject(range),
  accounts: z.strictObject({ ...range, q: text.optional() }),
  account: z.strictObject({ name: accountName }),
  service: z.strictObject({ id: text }),
  things: z.strictObject({
    ...range,
    account: accountName.optional(),
    state: text.optional(),
    q: text.optional(),
  }),
  ledger: z.strictObject({ ...range, account: accountName }),
} as const;

/** Whether it belongs to the page, known or not. */
export function isOfPage(path: string): boolean {
  return path === '/' || path.startsWith('/page/') || path.startsWith('/admin/');
}

/** What holds for all paths of the page; throws an `ApiError`. */
export function guardPage({ method }: FastifyRequest, reply: FastifyReply, isHostKnown: boolean): void {
  reply.headers(pageHeaders);
  if (!isHostKnown)
    throw new ApiError(421, 'wrong_host', 'ask by the address of this machine, or as localhost');
  if (method === 'GET' || method === 'HEAD') return;
  reply.header('allow', 'GET, HEAD');
  throw new ApiError(405, 'method_not_allowed', 'what the page reads is read-only: GET and HEAD');
}

export function pageRoutes(app: App, parts: Omit<OverviewParts, 'page'>, files: PageFiles | undefined): void {
  const method = ['GET', 'HEAD'];
  for (const [url, { type, content, etag }] of files ?? []) {
    app.route({ method, url, handler: (request, reply) => send(request, reply, { type, content, etag }) });
  }
  const overview = new Overview({ ...parts, page: files ? tagOf(files) : null });
  const path = <Query extends z.ZodType>(
    name: string,
    schema: Query,
    answer: (query: z.output<Query>) => object | undefined,
  ) =>
    app.route({
      method,
      url: `/admin/v1/${name}`,
      handler: (request, reply) => {
        const found = answer(parsed(schema, request.query));
        if (!found) throw new ApiError(404, 'not_found', 'there is no such account or service');
        const content = JSON.stringify(found);
        return send(request, reply, { type: jsonType, content, etag: etagOf(content) });
      },
    });
  path('summary', queries.none, () => overview.summary());
  path('accounts', queries.accounts, (query) => overview.accounts(listOf(query)));
  path('account', queries.account, ({ name }) => overview.account(name));
  path('services', queries.things, (query) => overview.services(listOf(query)));
  path('service', queries.service, ({ id }) => overview.service(id));
  path('volumes', queries.things, (query) => overview.volumes(listOf(query)));
  path('ledger', queries.ledger, ({ account, ...query }) => overview.ledger(account, query));
  path('faults', queries.range, (query) => overview.faults(query));
}

function listOf({ q, ...query }: z.output<typeof queries.things>): ListQuery {
  return { ...query, searched: q?.toLowerCase() };
}

function parsed<Query extends z.ZodType>(schema: Query, query: unknown): z.output<Query> {
  const read = schema.safeParse(query);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.join('.') ?? '';
  const message = (issue?.message ?? 'it is not valid').slice(0, longestText);
  throw new ApiError(400, 'invalid_parameter', where === '' ? message : `${where}: ${message}`);
}

const jsonType = 'application/json; charset=utf-8';

interface Tagged {
  readonly type: string;
  readonly content: Buffer | string;
  readonly etag: string;
}

function send(request: FastifyRequest, reply: FastifyReply, { type, content, etag }: Tagged): FastifyReply {
  reply.header('etag', etag).header('cache-control', 'private, no-cache');
  if (hasETag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.code(200).header('content-type', type).send(content);
}

function tagOf(files: PageFiles): string {
  return etagOf(Array.from(files, ([path, { etag }]) => `${path} ${etag}`).join('\n'));
}
