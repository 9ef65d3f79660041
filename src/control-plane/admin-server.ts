/**
 * The administrative listener, for tests: faults and the journal of requests. It has no authentication of its
 * own, so it is off unless asked for, and belongs on a loopback address.
 */
import type { Logger } from 'pino';
import { faultList, type Faults } from './faults.ts';
import { createApp, sendJson, type App } from './http.ts';
import type { Journal } from './journal.ts';

export function createAdminServer(faults: Faults, journal: Journal, logger: Logger): App {
  const app = createApp(logger);
  app.get('/healthz', (_request, reply) => sendJson(reply, 200, '{"status":"ok"}'));
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
  return app;
}
