/** Volumes (§4). */
import { z } from 'zod';
import { volumeUpdate } from '../../../api/wire.ts';
import { sendJson, sendPieces, type App } from '../http.ts';
import type { ListView } from '../list-view.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { callerOf } from '../public-server.ts';
import type { VolumeRecord } from '../../store/records.ts';
import { volumeCreate } from '../../domain/requests.ts';
import { volumeJson } from '../views.ts';
import type { Volumes } from '../../domain/volumes.ts';
import type { Mutate } from './mutation.ts';

const params = z.object({ id: z.string() });

export function volumeRoutes(
  app: App,
  quotas: Quotas,
  volumes: Volumes,
  list: ListView<VolumeRecord>,
  mutate: Mutate,
): void {
  app.post('/api/volumes', { schema: { body: volumeCreate } }, (request, reply) =>
    mutate(request, reply, 201, (account) =>
      volumeJson(quotas.within(account, () => volumes.create(account, request.body))),
    ),
  );

  app.get('/api/volumes', (request, reply) => {
    const { buffers } = list.of(callerOf(request).id);
    return sendPieces(reply, 200, [Buffer.from('{"volumes":'), ...buffers, Buffer.from('}')]);
  });

  app.get('/api/volumes/:id', { schema: { params } }, (request, reply) => {
    const volume = volumes.find(callerOf(request), request.params.id);
    return sendJson(reply, 200, `{"volume":${volumeJson(volume)}}`);
  });

  app.patch('/api/volumes/:id', { schema: { params, body: volumeUpdate } }, (request, reply) =>
    mutate(request, reply, 200, (account) =>
      volumeJson(volumes.update(account, request.params.id, request.body)),
    ),
  );

  app.delete('/api/volumes/:id', { schema: { params } }, (request, reply) =>
    mutate(request, reply, 200, (account) => JSON.stringify(volumes.delete(account, request.params.id))),
  );
}
