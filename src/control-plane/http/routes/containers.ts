/** Logs, commands, metrics and browser sessions of services (§4). */
import { z } from 'zod';
import { execRequest, metricsQuery } from '../../../api/wire.ts';
import { addressRetentionMs, outputRetentionMs } from '../../domain/config.ts';
import type { Containers } from '../../domain/containers.ts';
import { sendJson, type App } from '../http.ts';
import { callerOf } from '../public-server.ts';
import type { MutateOutside } from './mutation.ts';

const params = z.object({ id: z.string() });

export function containerRoutes(app: App, containers: Containers, mutateOutside: MutateOutside): void {
  app.get('/api/services/:id/logs', { schema: { params } }, async (request, reply) => {
    const text = await containers.logs(callerOf(request), request.params.id);
    return reply.header('content-type', 'text/plain; charset=utf-8').send(text);
  });

  const metricsSchema = { params, querystring: metricsQuery };
  app.get('/api/services/:id/metrics', { schema: metricsSchema }, async (request, reply) => {
    const minutes = Number(request.query.minutes);
    const metrics = await containers.metrics(callerOf(request), request.params.id, minutes);
    return sendJson(reply, 200, JSON.stringify(metrics));
  });

  app.post('/api/services/:id/exec', { schema: { params, body: execRequest } }, (request, reply) =>
    mutateOutside(request, reply, outputRetentionMs, (account) => {
      const run = containers.admit(account, request.params.id, request.body);
      return async () => JSON.stringify(await run());
    }),
  );

  app.post('/api/services/:id/browser-session', { schema: { params } }, (request, reply) =>
    mutateOutside(request, reply, addressRetentionMs, (account) => {
      const session = JSON.stringify(containers.openBrowser(account, request.params.id));
      return () => session;
    }),
  );
}
