/** Catalog, identity and the account read (§4). */
import { sendJson, sendPieces, type App } from '../http.ts';
import type { ListView } from '../list-view.ts';
import type { Platform } from '../../domain/platform.ts';
import { callerOf } from '../public-server.ts';
import { builtInTemplates } from '../../domain/templates.ts';
import { catalogJson, identityJson } from '../views.ts';
import type { ServiceRecord, VolumeRecord } from '../../store/records.ts';
import type { Traffic } from '../traffic.ts';

export interface AccountViews {
  readonly services: ListView<ServiceRecord>;
  readonly volumes: ListView<VolumeRecord>;
}

export function accountRoutes(app: App, platform: Platform, views: AccountViews, traffic: Traffic): void {
  const catalog = catalogJson(platform.config, builtInTemplates(platform.config));
  app.get('/api/catalog', { config: { isPublic: true } }, (_request, reply) => sendJson(reply, 200, catalog));
  app.get('/api/me', (request, reply) => sendJson(reply, 200, identityJson(callerOf(request))));
  app.get('/api/account', (request, reply) => {
    const account = callerOf(request);
    const services = views.services.of(account.id);
    const volumes = views.volumes.of(account.id);
    traffic.requireTaken(account.id, services.bytes + volumes.bytes);
    const { balanceMicros, entries } = platform.ledger.read(account);
    return sendPieces(reply, 200, [
      Buffer.from(`{"balanceMicros":${balanceMicros},"currency":"USD","services":`),
      ...services.buffers,
      Buffer.from(',"volumes":'),
      ...volumes.buffers,
      // Released when the ledger continues.
      Buffer.concat([Buffer.from(',"ledger":['), ...entries, Buffer.from(']}')]),
    ]);
  });
}
