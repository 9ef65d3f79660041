/**
 * The reference control plane: a server for the Container Compute Control API. Requests pass routes -> domain
 * (services, volumes, lifecycle, ledger) -> store; a runtime carries out what the domain decides, and reports back.
 * All state is in one SQLite database; after a kill -9 everything continues from the last answer.
 */
import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { systemFetch, type Fetch } from '../base/fetch.ts';
import { systemEventLoop, type EventLoop } from '../base/process.ts';
import { timeOrderedUuids, type Random } from '../base/random.ts';
import { Accounts, parseAccounts, type AccountsFile } from './identity/accounts.ts';
import { Activities } from './domain/activities.ts';
import { createApi, type Domain } from './http/api.ts';
import { Authentication } from './identity/authentication.ts';
import { BrowserSessions } from './domain/browser-sessions.ts';
import { Capacity } from './domain/capacity.ts';
import { defaultConfig, parseConfig } from './config/config-file.ts';
import { chargeIntervalMs, journalBytes, journalEntries, type ControlPlaneConfig } from './domain/config.ts';
import { EventLog } from './domain/events.ts';
import { createBrowserServer } from './http/browser/server.ts';
import { Faults } from './http/faults.ts';
import { defaultHttpLimits, listen, type App, type HttpLimits, type Listener } from './http/http.ts';
import { IdTokens } from './identity/id-tokens.ts';
import { keepHouse } from './housekeeping.ts';
import { Idempotency } from './http/idempotency.ts';
import { Journal } from './http/journal.ts';
import { Credits } from './domain/credits.ts';
import { Ledger } from './domain/ledger.ts';
import { Lifecycle } from './domain/lifecycle.ts';
import { measurePlatform } from './http/metrics.ts';
import { platformClock, wholeMilliseconds } from './domain/platform-clock.ts';
import type { Platform } from './domain/platform.ts';
import type { PageFiles } from './http/overview/routes.ts';
import { createPrivateServer, requireLoopback, type PrivateRole } from './http/private-server.ts';
import { Quotas, type Quota } from './domain/quotas.ts';
import { Registries } from './domain/registries.ts';
import { repeat } from './repeat.ts';
import type { RuntimeFactory } from './domain/runtime.ts';
import { Services } from './domain/services.ts';
import { Settlement } from './domain/settlement.ts';
import { simulatedRuntime } from './runtimes/simulated/runtime.ts';
import { Store } from './store/store.ts';
import { Traffic, defaultTrafficLimits, type TrafficLimits } from './http/traffic.ts';
import { Turns } from './http/turns.ts';
import { Volumes } from './domain/volumes.ts';

export { defaultConfig, parseAccounts, parseConfig, type AccountsFile, type ControlPlaneConfig };

interface ListenAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface ControlPlaneOptions {
  readonly listen: ListenAddress;
  /** As in private-server.ts, without authentication; `test` and `admin` on loopback only, unless that is waived. */
  readonly adminListen?: ListenAddress;
  readonly testListen?: ListenAddress;
  readonly metricsListen?: ListenAddress;
  readonly allowRemoteAdmin?: boolean;
  /** Of browser sessions, where the configuration offers them; absent: a free port beside `listen`. */
  readonly browserListen?: ListenAddress;
  /** How browsers reach that listener, if not by its address. */
  readonly browserUrl?: string;
  /** A file, or `:memory:`. */
  readonly database: string;
  readonly accounts: AccountsFile;
  /** Requests per second and account; null: unlimited; absent: as in traffic.ts. */
  readonly rateLimitPerSecond?: number | null;
  /** What one account may have of the server at once, where it differs from the defaults. */
  readonly traffic?: Partial<TrafficLimits>;
  /** How many times faster lifecycle, idle sleep and charging go; default 1. */
  readonly timeScale?: number;
  readonly config?: ControlPlaneConfig;
  /** What containers are; absent: simulated. */
  readonly runtime?: RuntimeFactory;
  readonly limits?: HttpLimits;
  /** Shown by the admin listener, with the control plane's own metrics in it. */
  readonly metrics?: Registry;
  /** Files of the page on the administrative listener; absent: it has none. */
  readonly page?: PageFiles;
  /** How the keys of an identity provider are fetched. */
  readonly fetch?: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  /** Reports when a group of requests is committed; absent: the one of this process. */
  readonly eventLoop?: EventLoop;
  readonly logger: Logger;
}

export interface ControlPlane {
  readonly url: string;
  readonly adminUrl?: string;
  readonly testUrl?: string;
  readonly metricsUrl?: string;
  readonly browserUrl?: string;
  /** Finishes the requests that are being answered, books what has accrued, and gives the database back. */
  close(): Promise<void>;
}

interface OpenControlPlane extends Pick<ControlPlane, 'close'> {
  readonly api: App;
  readonly privates: readonly PrivateListener[];
  readonly browser: { readonly app: App; readonly sessions: BrowserSessions } | undefined;
  readonly store: Store;
}

interface PrivateListener {
  readonly role: PrivateRole;
  readonly address: ListenAddress;
  readonly app: App;
}

function privateAddresses(options: ControlPlaneOptions): Omit<PrivateListener, 'app'>[] {
  return (['admin', 'test', 'metrics'] as const).flatMap((role) => {
    const address = options[`${role}Listen`];
    return address ? [{ role, address }] : [];
  });
}

/**
 * For `Heap.setGrowth` of a process that is a control plane. Under load V8 lets the heap double, and with it the answers that were replaced,
 * which are not in the heap: 150 to 230 MB instead of 160, for about as many requests a second.
 */
export const heapGrowthPercent = 20;

/** Resolves when all listeners answer. Throws a `UserError` when the database can't be had. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  for (const { role, address } of privateAddresses(options)) {
    if (!options.allowRemoteAdmin) requireLoopback(role, address);
  }
  const { api, privates, browser, close } = await openControlPlane(options);
  try {
    const url = await listen(api, options.listen);
    const urls: { adminUrl?: string; testUrl?: string; metricsUrl?: string; browserUrl?: string } = {};
    for (const { role, address, app } of privates) urls[`${role}Url`] = await listen(app, address);
    if (browser) {
      const bound = await listen(browser.app, options.browserListen ?? { ...options.listen, port: 0 });
      urls.browserUrl = browser.sessions.address = (options.browserUrl ?? reachable(bound)).replace(
        /\/+$/,
        '',
      );
    }
    return { url, ...urls, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Nobody can open the address that means every one of this machine. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

const emptyDatabase =
  'the database was a file without content: a new provider begins, with the balances of the accounts file. If there was one before, stop, and restore it';

/** All of it but the sockets: the applications answer requests that are handed to them. */
export async function openControlPlane(options: ControlPlaneOptions): Promise<OpenControlPlane> {
  const quotaOf = quotasByName(options);
  const { database } = options;
  const isEmpty = statSync(database, { throwIfNoEntry: false })?.size === 0;
  const store = new Store(database, options.eventLoop, (name) => quotaOf(name).storedBytes);
  // As `touch` makes it, or what a full disk or a failed restore has left of one.
  if (isEmpty) options.logger.warn({ database }, emptyDatabase);
  for (const { name, prices } of (options.config ?? defaultConfig).regions) {
    if (!prices) options.logger.warn({ region: name }, 'region without prices: nothing can be created there');
  }
  for (const id of store.suspended) {
    const account = store.accounts.get(id)?.name;
    options.logger.error({ account }, 'account suspended: it has far more stored than its quota');
  }
  const closing = new AbortController();
  const listeners: Listener[] = [];
  const domain = startDomainOf(store, options, quotaOf);
  const finish = async () => {
    closing.abort();
    await Promise.all(listeners.map((listener) => listener.close()));
    domain.stop();
    store.close();
  };
  let finished: Promise<void> | undefined;
  const close = () => (finished ??= finish());
  try {
    const faults = new Faults();
    const { adminListen, testListen, metricsListen, allowRemoteAdmin = false } = options;
    const journal = adminListen || testListen ? new Journal(journalEntries, journalBytes) : undefined;
    const metrics = adminListen || metricsListen ? (options.metrics ?? new Registry()) : undefined;
    if (metrics) measurePlatform(domain.platform, metrics);
    const { clock, logger, limits = defaultHttpLimits } = options;
    const common = { clock, logger, limits };
    const api = await createApi(domain, {
      ...common,
      accounts: domain.accounts,
      authentication: authenticationOf(domain, options),
      idempotency: domain.idempotency,
      unit: store.unit,
      faults,
      journal,
      metrics,
      traffic: new Traffic(trafficLimitsOf(options), clock),
      turns: new Turns(clock, options.eventLoop ?? systemEventLoop),
      closing: closing.signal,
    });
    listeners.push(api);
    const { credits, platform } = domain;
    const privates = privateAddresses(options).map(({ role, address }) => {
      const parts = { ...common, platform, credits, faults, journal, metrics, page: options.page };
      const listener = createPrivateServer(role, allowRemoteAdmin, parts);
      listeners.push(listener);
      return { role, address, app: listener.app };
    });
    const browser = domain.platform.config.browserEnabled
      ? createBrowserServer({ ...common, ...domain })
      : undefined;
    if (browser) listeners.push(browser);
    return {
      api: api.app,
      privates,
      browser: browser && { app: browser.app, sessions: domain.sessions },
      store,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A rate that is given has a burst of one second's worth. */
function trafficLimitsOf({ rateLimitPerSecond: rate, traffic }: ControlPlaneOptions): TrafficLimits {
  const requests = rate === undefined ? {} : { requestsPerSecond: rate, requestBurst: rate ?? 1 };
  return { ...defaultTrafficLimits, ...requests, ...traffic };
}

function authenticationOf({ accounts }: Domain, options: ControlPlaneOptions): Authentication {
  const { identity } = options.config ?? defaultConfig;
  const { clock, logger, fetch = systemFetch } = options;
  const source = identity && {
    header: identity.header,
    tokens: new IdTokens(identity, { clock, fetch, logger }),
  };
  return new Authentication(accounts, source ?? undefined);
}

type QuotaOf = (accountName: string) => Quota;

function quotasByName({ accounts, config = defaultConfig }: ControlPlaneOptions): QuotaOf {
  const quotas = new Map(
    accounts.accounts.map(({ name, quota }) => [
      name,
      { ...config.quota, ...(quota as Partial<Quota> | undefined) },
    ]),
  );
  return (name) => quotas.get(name) ?? config.quota;
}

function startDomainOf(store: Store, options: ControlPlaneOptions, quotaOf: QuotaOf) {
  try {
    return startDomain(store, options, quotaOf);
  } catch (error) {
    store.close();
    throw error;
  }
}

/** Everything behind the routes, with its timers running. */
function startDomain(store: Store, options: ControlPlaneOptions, quotaOf: QuotaOf) {
  const { logger, config = defaultConfig } = options;
  const clock = wholeMilliseconds(options.clock);
  const random = timeOrderedUuids(options.random, clock);
  const onFailure = (error: unknown) => logger.error({ err: error }, 'platform work failed; trying again');
  const time = platformClock(clock, options.timeScale ?? 1, store.latestPlatformMs());
  const makeRuntime = options.runtime ?? simulatedRuntime(config.durations);
  const platform: Platform = {
    config,
    store,
    ledger: new Ledger(store, time, clock),
    capacity: new Capacity(config, store),
    quotas: new Quotas(store, quotaOf),
    activities: new Activities(store, clock),
    events: new EventLog(store, clock),
    registries: new Registries(store, clock, random),
    runtime: makeRuntime({
      time,
      clock,
      random,
      logger,
      installation: store.secret('installation', random).toString('hex').slice(0, 16),
      onReports: (reports) => settlement.onReports(reports),
      onEnded: (serviceId, reason) => settlement.onEnded(serviceId, reason),
      onUsed: (serviceIds) => settlement.onUsed(serviceIds),
      onBounds: (bounds) => platform.capacity.observe(bounds),
      onFailure,
      quotaOf: (accountId) => platform.quotas.of(accountId),
    }),
    time,
    clock,
    random,
  };
  const volumes = new Volumes(platform);
  const lifecycle = new Lifecycle(platform, volumes, onFailure);
  const settlement = new Settlement(store, lifecycle, volumes);
  const accounts = new Accounts(store);
  const credits = new Credits(store, platform.ledger);
  store.unit.run(() => accounts.sync(options.accounts, { ledger: platform.ledger, credits }, time, random));
  const idempotency = new Idempotency(store, clock, random, (id) => platform.quotas.of(id));
  platform.runtime.resume(store.services.everywhere(), store.volumes.everywhere());
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
  const stopHousekeeping = keepHouse(store, idempotency, clock, onFailure);
  return {
    onFailure,
    platform,
    accounts,
    credits,
    idempotency,
    volumes,
    services: new Services(platform, volumes, lifecycle),
    sessions: new BrowserSessions(clock, random, 'http://browser.invalid'),
    stop: () => {
      stopCharging();
      stopHousekeeping();
      lifecycle.close();
      platform.runtime.close();
      charge();
    },
  };
}
