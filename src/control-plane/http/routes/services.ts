/** Services, their actions, events and activities (§4). */
import { z } from 'zod';
import { activityRequest, sleepRequest } from '../../../api/wire.ts';
import { activityKeyRetentionMs } from '../../domain/config.ts';
import { sendJson, type App } from '../http.ts';
import type { Platform } from '../../domain/platform.ts';
import { callerOf } from '../public-server.ts';
import { serviceAction, serviceCreate, servicePatchRequest } from '../../domain/requests.ts';
import type { Services } from '../../domain/services.ts';
import { serviceJson } from '../views.ts';
import type { Mutate } from './mutation.ts';

const params = z.object({ id: z.string() });

export function serviceRoutes(app: App, platform: Platform, services: Services, mutate: Mutate): void {
  const { quotas } = platform;
  app.post('/api/services', { schema: { body: serviceCreate } }, (request, reply) =>
    mutate(request, reply, 201, (account) =>
      serviceJson(quotas.within(account, () => services.create(account, request.body))),
    ),
  );

  app.get('/api/services/:id', { schema: { params } }, (request, reply) => {
    const service = services.find(callerOf(request), request.params.id);
    return sendJson(reply, 200, `{"service":${serviceJson(service)}}`);
  });

  app.patch('/api/services/:id', { schema: { params, body: servicePatchRequest } }, (request, reply) =>
    mutate(request, reply, 200, (account) => {
      const { revision, patch } = request.body;
      return serviceJson(
        quotas.within(account, () => services.patch(account, request.params.id, revision, patch)),
      );
    }),
  );

  app.post('/api/services/:id/actions', { schema: { params, body: serviceAction } }, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      serviceJson(services.act(account, request.params.id, request.body)),
    ),
  );

  app.patch('/api/services/:id/sleep', { schema: { params, body: sleepRequest } }, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      serviceJson(services.setSleepPolicy(account, request.params.id, request.body.sleepAfterMinutes)),
    ),
  );

  app.get('/api/services/:id/events', { schema: { params } }, (request, reply) => {
    const service = services.find(callerOf(request), request.params.id);
    return sendJson(reply, 200, JSON.stringify({ events: platform.events.newest(service.id) }));
  });

  app.get('/api/services/:id/activity', { schema: { params } }, (request, reply) => {
    const service = services.find(callerOf(request), request.params.id);
    return sendJson(reply, 200, JSON.stringify({ activities: platform.activities.list(service.id) }));
  });

  const activityRoute = {
    schema: { params, body: activityRequest },
    config: { keyRetentionMs: activityKeyRetentionMs },
  };
  app.post('/api/services/:id/activity', activityRoute, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      JSON.stringify(services.recordActivity(account, request.params.id, request.body)),
    ),
  );
}
