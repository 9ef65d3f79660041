/** Catalog, identity and the account read (§4). */
import { sendJson, type App } from '../http.ts';
import type { Platform } from '../platform.ts';
import { callerOf } from '../public-server.ts';
import { builtInTemplates } from '../templates.ts';
import { catalogJson, identityJson, type ListView } from '../views.ts';
import type { ServiceRecord, VolumeRecord } from '../records.ts';
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
    const bytes = views.services.bytesOf(account.id).length + views.volumes.bytesOf(account.id).length;
    traffic.requireTaken(account.id, bytes);
    const { balanceMicros, entries } = platform.ledger.read(account);
    const body = Buffer.concat([
      Buffer.from(`{"balanceMicros":${balanceMicros},"currency":"USD","services":`),
      views.services.bytesOf(account.id),
      Buffer.from(',"volumes":'),
      views.volumes.bytesOf(account.id),
      Buffer.from(',"ledger":['),
      ...entries,
      Buffer.from(']}'),
    ]);
    return sendJson(reply, 200, body);
  });
}
