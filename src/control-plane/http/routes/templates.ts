/** Templates (§4). */
import { z } from 'zod';
import { deletion } from '../../../api/wire.ts';
import { sendPieces, type App } from '../http.ts';
import type { ListView } from '../list-view.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { callerOf } from '../public-server.ts';
import type { TemplateRecord } from '../../store/records.ts';
import { templateSpec, templateUpdate } from '../../domain/requests.ts';
import type { Templates } from '../../domain/templates.ts';
import { templateJson } from '../views.ts';
import type { Mutate } from './mutation.ts';

const params = z.object({ id: z.string() });

export function templateRoutes(
  app: App,
  quotas: Quotas,
  templates: Templates,
  own: ListView<TemplateRecord>,
  mutate: Mutate,
): void {
  const builtIn = templates.builtIn.map(templateJson).join(',');

  // The built-in ones first, then the account's, oldest first.
  app.get('/api/templates', (request, reply) => {
    const pieces = own.of(callerOf(request).id).buffers.slice(1, -1);
    const comma = builtIn && pieces.length > 0 ? ',' : '';
    return sendPieces(reply, 200, [
      Buffer.from(`{"templates":[${builtIn}${comma}`),
      ...pieces,
      Buffer.from(']}'),
    ]);
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
