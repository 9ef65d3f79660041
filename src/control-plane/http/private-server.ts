/**
 * Listeners for the operator and for tests. They have no authentication of their own, so each is off unless asked for:
 *
 * - `metrics`: metrics;
 * - `test`: faults and the journal of requests. Who reaches it can make every request of every account fail;
 * - `admin`: accounts and credits, a page (overview/routes.ts), and for compatibility all that the other two have.
 *
 * `test` and `admin` are for this machine only, unless the operator insists; then a browser that was led to a name for
 * this machine is refused, too (DNS rebinding).
 */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { UserError } from '../../base/user-error.ts';
import { credit, type Credits } from '../domain/credits.ts';
import { invalidRequest } from '../domain/errors.ts';
import { faultList, type Faults } from './faults.ts';
import { createListener, pathOf, sendJson, type App, type HttpLimits, type Listener } from './http.ts';
import type { Journal } from './journal.ts';
import { guardPage, isOfPage, pageRoutes, type PageFiles } from './overview/routes.ts';
import type { Platform } from '../domain/platform.ts';

export type PrivateRole = 'admin' | 'test' | 'metrics';

export interface PrivateServerParts {
  readonly platform: Platform;
  readonly credits: Credits;
  readonly faults: Faults;
  readonly journal: Journal | undefined;
  readonly metrics: Registry | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  /** Of the page, which `admin` has; undefined: there is none. */
  readonly page: PageFiles | undefined;
}

export function createPrivateServer(
  role: PrivateRole,
  isRemote: boolean,
  parts: PrivateServerParts,
): Listener {
  const { journal, metrics } = parts;
  const listener = createListener(parts.logger, parts.clock, parts.limits);
  const { app } = listener;
  app.addHook('onRequest', async (request, reply) => {
    if (role === 'admin' && isOfPage(pathOf(request))) guardPage(request, reply, isHostOfMachine(request));
    else if (role !== 'metrics' && !isRemote && !isHostOfMachine(request)) throw wrongHost;
  });
  app.get('/healthz', (_request, reply) => sendJson(reply, 200, '{"status":"ok"}'));
  if (role !== 'test' && metrics) {
    app.get('/metrics', async (_request, reply) =>
      reply.header('content-type', metrics.contentType).send(await metrics.metrics()),
    );
  }
  if (role !== 'metrics' && journal) testRoutes(app, parts.faults, journal);
  if (role === 'admin') accountRoutes(app, parts.credits);
  if (role === 'admin') pageRoutes(app, parts, parts.page);
  return listener;
}

/** Throws a `UserError` for an address that others reach. */
export function requireLoopback(role: PrivateRole, { host }: { readonly host: string }): void {
  if (role === 'metrics' || isLoopback(host)) return;
  throw new UserError(
    `--${role}-listen ${host}: others would reach it, and it asks for no password`,
    'listen on 127.0.0.1 or ::1, or add --allow-remote-admin where nobody else gets there',
  );
}

function testRoutes(app: App, faults: Faults, journal: Journal): void {
  app.get('/faults', (_request, reply) => sendJson(reply, 200, JSON.stringify(faults.list())));
  app.put('/faults', { schema: { body: faultList } }, (request, reply) => {
    faults.replace(request.body);
    return sendJson(reply, 200, JSON.stringify(faults.list()));
  });
  app.get('/requests', (_request, reply) =>
    sendJson(reply, 200, JSON.stringify({ requests: journal.list() })),
  );
  app.delete('/requests', (_request, reply) => {
    journal.clear();
    return sendJson(reply, 200, '{"requests":[]}');
  });
}

function accountRoutes(app: App, credits: Credits): void {
  app.get('/accounts', (_request, reply) =>
    sendJson(reply, 200, JSON.stringify({ accounts: credits.accounts() })),
  );
  const schema = { params: z.object({ name: z.string() }), body: credit };
  app.post('/accounts/:name/credits', { schema }, (request, reply) => {
    const { isNew, balanceMicros } = credits.bookFor(request.params.name, request.body);
    return sendJson(reply, isNew ? 201 : 200, JSON.stringify({ ...request.body, balanceMicros }));
  });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Only names can be given to this machine by somebody else. */
function isHostOfMachine({ hostname }: FastifyRequest): boolean {
  const name = hostname.replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isIP(name) !== 0;
}

const wrongHost = invalidRequest('this listener is asked by the address of this machine, or as localhost');
