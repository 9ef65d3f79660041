/** Image registries (§4). */
import { z } from 'zod';
import { deletion, registryCreate, registryRotation } from '../../../api/wire.ts';
import { sendJson, type App } from '../http.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { callerOf } from '../public-server.ts';
import type { RegistryRecord } from '../../store/records.ts';
import type { Registries } from '../../domain/registries.ts';
import { registryJson } from '../views.ts';
import type { Mutate } from './mutation.ts';

const params = z.object({ id: z.string() });

export function registryRoutes(app: App, quotas: Quotas, registries: Registries, mutate: Mutate): void {
  const metadata = (registry: RegistryRecord) => registryJson(registry, registries.linkedTo(registry));

  app.get('/api/registries', (request, reply) => {
    const list = registries.list(callerOf(request)).map(metadata);
    return sendJson(reply, 200, `{"registries":[${list.join(',')}]}`);
  });

  app.post('/api/registries', { schema: { body: registryCreate } }, (request, reply) =>
    mutate(request, reply, 201, (account) =>
      metadata(quotas.within(account, () => registries.create(account, request.body))),
    ),
  );

  app.put('/api/registries/:id', { schema: { params, body: registryRotation } }, (request, reply) =>
    mutate(request, reply, 200, (account) => {
      const { revision, spec } = request.body;
      return metadata(
        quotas.within(account, () => registries.rotate(account, request.params.id, revision, spec)),
      );
    }),
  );

  app.delete('/api/registries/:id', { schema: { params, body: deletion } }, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      JSON.stringify(registries.delete(account, request.params.id, request.body.revision)),
    ),
  );
}
