/**
 * The reference control plane: a server for the Container Compute Control API. Requests go routes -> domain
 * (services, volumes, lifecycle, ledger) -> store; a runtime carries out what the domain decides, and reports
 * back. All state is in one SQLite database; after a kill -9 everything goes on from the last answer.
 */
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { Accounts, parseAccounts, type AccountsFile } from './accounts.ts';
import { Activities } from './activities.ts';
import { createAdminServer } from './admin-server.ts';
import { Capacity } from './capacity.ts';
import { chargeIntervalMs, defaultConfig, journalEntries, type ControlPlaneConfig } from './config.ts';
import { Containers } from './containers.ts';
import { EventLog } from './events.ts';
import { Faults } from './faults.ts';
import { listen, type App } from './http.ts';
import { Idempotency } from './idempotency.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { Lifecycle } from './lifecycle.ts';
import { platformClock, wholeMilliseconds } from './platform-clock.ts';
import type { Platform } from './platform.ts';
import { createPublicServer } from './public-server.ts';
import { RateLimiter } from './rate-limit.ts';
import { accountRoutes } from './routes/account.ts';
import { containerRoutes } from './routes/containers.ts';
import { mutator, outsideMutator } from './routes/mutation.ts';
import { registryRoutes } from './routes/registries.ts';
import { serviceRoutes } from './routes/services.ts';
import { templateRoutes } from './routes/templates.ts';
import { volumeRoutes } from './routes/volumes.ts';
import { Registries } from './registries.ts';
import type { Report } from './runtime.ts';
import { Services } from './services.ts';
import { SimulatedRuntime } from './simulated-runtime.ts';
import { Store } from './store.ts';
import { Templates } from './templates.ts';
import { ListView, serviceJson, volumeJson } from './views.ts';
import { Volumes } from './volumes.ts';

export { defaultConfig, parseAccounts, type AccountsFile };

interface ListenAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface ControlPlaneOptions {
  readonly listen: ListenAddress;
  /** Faults and the journal of requests, without authentication: for tests, on loopback. */
  readonly adminListen?: ListenAddress;
  /** A file, or `:memory:`. */
  readonly database: string;
  readonly accounts: AccountsFile;
  /** Requests per second and account; absent: unlimited. */
  readonly rateLimitPerSecond?: number;
  /** How many times faster lifecycle, idle sleep and charging go; default 1. */
  readonly timeScale?: number;
  readonly config?: ControlPlaneConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface ControlPlane {
  readonly url: string;
  readonly adminUrl?: string;
  /** Finishes the requests that are being answered, books what has accrued, and gives the database back. */
  close(): Promise<void>;
}

const purgeIntervalMs = 60 * 60 * 1000;

/** Resolves when both listeners answer. Throws a `UserError` when the database can't be had. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const store = new Store(options.database);
  const closing = new AbortController();
  const apps: App[] = [];
  const domain = startDomainOf(store, options);
  const finish = async () => {
    closing.abort();
    await Promise.all(apps.map((app) => app.close()));
    domain.stop();
    store.close();
  };
  let finished: Promise<void> | undefined;
  const close = () => (finished ??= finish());
  try {
    const faults = new Faults();
    const journal = options.adminListen && new Journal(journalEntries);
    const { accounts, idempotency, platform, volumes, services } = domain;
    const publicApp = createPublicServer({
      accounts,
      idempotency,
      faults,
      journal,
      rateLimiter:
        options.rateLimitPerSecond === undefined
          ? undefined
          : new RateLimiter(options.rateLimitPerSecond, options.clock),
      clock: options.clock,
      logger: options.logger,
      closing: closing.signal,
    });
    apps.push(publicApp);
    const mutate = mutator(store, idempotency);
    const views = {
      services: new ListView(store.services, serviceJson),
      volumes: new ListView(store.volumes, volumeJson),
    };
    accountRoutes(publicApp, platform, views);
    serviceRoutes(publicApp, platform, services, mutate);
    volumeRoutes(publicApp, volumes, views.volumes, mutate);
    templateRoutes(publicApp, new Templates(platform), mutate);
    registryRoutes(publicApp, platform.registries, mutate);
    const containers = new Containers(platform, services);
    containerRoutes(publicApp, containers, mutate, outsideMutator(store, idempotency, domain.onFailure));
    const url = await listen(publicApp, options.listen);
    if (!options.adminListen || !journal) return { url, close };
    const adminApp = createAdminServer(faults, journal, options.logger);
    apps.push(adminApp);
    return { url, adminUrl: await listen(adminApp, options.adminListen), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function startDomainOf(store: Store, options: ControlPlaneOptions) {
  try {
    return startDomain(store, options);
  } catch (error) {
    store.close();
    throw error;
  }
}

/** Everything behind the routes, with its timers running. */
function startDomain(store: Store, options: ControlPlaneOptions) {
  const { random, logger, config = defaultConfig } = options;
  const clock = wholeMilliseconds(options.clock);
  const onFailure = (error: unknown) => logger.error({ err: error }, 'platform work failed; trying again');
  const time = platformClock(clock, options.timeScale ?? 1, store.latestPlatformMs());
  const onReports = (reports: readonly Report[]) => settle(reports);
  const platform: Platform = {
    config,
    store,
    ledger: new Ledger(store, time, clock),
    capacity: new Capacity(config, store),
    activities: new Activities(store, clock),
    events: new EventLog(store, clock),
    registries: new Registries(store, clock, random),
    runtime: new SimulatedRuntime(config.durations, time, clock, onReports, onFailure),
    time,
    clock,
    random,
  };
  const volumes = new Volumes(platform);
  const lifecycle = new Lifecycle(platform, volumes, onFailure);
  const settle = (reports: readonly Report[]) =>
    store.unit.run(() => {
      for (const report of reports) {
        const service = store.services.get(report.subjectId);
        const volume = store.volumes.get(report.subjectId);
        if (service) lifecycle.settle(service, report);
        if (volume) volumes.settle(volume, report);
      }
    });
  const accounts = new Accounts(store);
  store.unit.run(() => accounts.sync(options.accounts, platform.ledger, time, random));
  const idempotency = new Idempotency(store, clock, random);
  volumes.resume();
  lifecycle.resume();
  const charge = () =>
    store.unit.run(() => {
      for (const account of store.accounts.all()) {
        const charged = platform.ledger.charge(account);
        if (charged.balanceMicros <= 0) lifecycle.stopForLackOfFunds(account.id);
      }
    });
  const stopCharging = repeat((run) => time.after(chargeIntervalMs, run), charge, onFailure);
  const stopPurging = repeat(
    (run) => clock.after(purgeIntervalMs, run),
    () => idempotency.purge(),
    onFailure,
  );
  const stop = () => {
    stopCharging();
    stopPurging();
    lifecycle.close();
    platform.runtime.close();
    charge();
  };
  return {
    onFailure,
    platform,
    accounts,
    idempotency,
    volumes,
    services: new Services(platform, volumes, lifecycle),
    stop,
  };
}

/** Runs `work` after each wait until stopped; a failure is told, and does not end the repetition. */
function repeat(
  wait: (run: () => void) => { cancel(): void },
  work: () => void,
  onFailure: (error: unknown) => void,
): () => void {
  let timer = wait(tick);
  function tick() {
    try {
      work();
    } catch (error) {
      onFailure(error);
    }
    timer = wait(tick);
  }
  return () => timer.cancel();
}
