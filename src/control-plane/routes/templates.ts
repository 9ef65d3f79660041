/** Templates (§4). */
import { z } from 'zod';
import { deletion } from '../../api/wire.ts';
import { sendJson, type App } from '../http.ts';
import type { Quotas } from '../quotas.ts';
import { callerOf } from '../public-server.ts';
import { templateSpec, templateUpdate } from '../requests.ts';
import type { Templates } from '../templates.ts';
import { templateJson } from '../views.ts';
import type { Mutate } from './mutation.ts';

const params = z.object({ id: z.string() });

export function templateRoutes(app: App, quotas: Quotas, templates: Templates, mutate: Mutate): void {
  app.get('/api/templates', (request, reply) => {
    const list = templates.list(callerOf(request)).map(templateJson);
    return sendJson(reply, 200, `{"templates":[${list.join(',')}]}`);
  });

  app.post('/api/templates', { schema: { body: templateSpec } }, (request, reply) =>
    mutate(request, reply, 201, (account) =>
      templateJson(quotas.within(account, () => templates.create(account, request.body))),
    ),
  );

  app.put('/api/templates/:id', { schema: { params, body: templateUpdate } }, (request, reply) =>
    mutate(request, reply, 200, (account) => {
      const { revision, spec } = request.body;
      return templateJson(
        quotas.within(account, () => templates.replace(account, request.params.id, revision, spec)),
      );
    }),
  );

  app.delete('/api/templates/:id', { schema: { params, body: deletion } }, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      JSON.stringify(templates.delete(account, request.params.id, request.body.revision)),
    ),
  );
}
