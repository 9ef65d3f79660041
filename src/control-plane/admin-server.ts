/**
 * The administrative listener: metrics, and for tests faults and the journal of requests. It has no
 * authentication of its own, so it is off unless asked for, and belongs on a private address.
 */
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { faultList, type Faults } from './faults.ts';
import { createListener, sendJson, type HttpLimits, type Listener } from './http.ts';
import type { Journal } from './journal.ts';

export interface AdminServerParts {
  readonly faults: Faults;
  readonly journal: Journal;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly metrics: Registry;
}

export function createAdminServer(parts: AdminServerParts): Listener {
  const { faults, journal, metrics } = parts;
  const listener = createListener(parts.logger, parts.clock, parts.limits);
  const { app } = listener;
  app.get('/healthz', (_request, reply) => sendJson(reply, 200, '{"status":"ok"}'));
  app.get('/metrics', async (_request, reply) =>
    reply.header('content-type', metrics.contentType).send(await metrics.metrics()),
  );
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
  return listener;
}
