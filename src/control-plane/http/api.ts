/** The API: the public listener with its routes, on top of a domain that runs. */
import type { Accounts } from '../identity/accounts.ts';
import { Containers } from '../domain/containers.ts';
import type { Listener } from './http.ts';
import type { BrowserSessions } from '../domain/browser-sessions.ts';
import type { Idempotency } from './idempotency.ts';
import { ListView } from './list-view.ts';
import { documentApi } from './openapi.ts';
import type { Platform } from '../domain/platform.ts';
import { createPublicServer, type PublicServerParts } from './public-server.ts';
import { accountRoutes } from './routes/account.ts';
import { containerRoutes } from './routes/containers.ts';
import { mutator, outsideMutator } from './routes/mutation.ts';
import { registryRoutes } from './routes/registries.ts';
import { serviceRoutes } from './routes/services.ts';
import { templateRoutes } from './routes/templates.ts';
import { volumeRoutes } from './routes/volumes.ts';
import type { Services } from '../domain/services.ts';
import { Templates } from '../domain/templates.ts';
import { serviceJson, templateJson, volumeJson } from './views.ts';
import type { Volumes } from '../domain/volumes.ts';

export interface Domain {
  readonly platform: Platform;
  readonly accounts: Accounts;
  readonly idempotency: Idempotency;
  readonly volumes: Volumes;
  readonly services: Services;
  readonly sessions: BrowserSessions;
  onFailure(this: void, error: unknown): void;
}

export async function createApi(domain: Domain, parts: PublicServerParts): Promise<Listener> {
  const { platform, idempotency, volumes, services, sessions, onFailure } = domain;
  const { store } = platform;
  const listener = createPublicServer(parts);
  const { app } = listener;
  await documentApi(app, platform.config.identity);
  const mutate = mutator(store, idempotency);
  const views = {
    services: new ListView(store.services, serviceJson),
    volumes: new ListView(store.volumes, volumeJson),
    templates: new ListView(store.templates, templateJson),
  };
  accountRoutes(app, platform, views, parts.traffic);
  serviceRoutes(app, platform, services, mutate);
  volumeRoutes(app, platform.quotas, volumes, views.volumes, mutate);
  templateRoutes(app, platform.quotas, new Templates(platform), views.templates, mutate);
  registryRoutes(app, platform.quotas, platform.registries, mutate);
  const containers = new Containers(platform, services, sessions);
  containerRoutes(app, containers, outsideMutator(store, idempotency, onFailure));
  return listener;
}
