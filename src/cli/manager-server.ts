/** What a manager of a folder serves: health, metrics, endpoints, and where it may be read, the read API with its page. */
import { UserError } from '../base/index.ts';
import { createHealthServer } from '../http/index.ts';
import { collectFleetMetrics, shownEndpoints, type Manager } from '../manager/index.ts';
import { ManagerSource } from '../read-api/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { JournalReader } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { Context } from './context.ts';
import { createReadApi, type PageFlags } from './page.ts';
import type { HealthServer, ListenAddress } from './ports.ts';
import { version } from './version.ts';

export interface ServedManager {
  readonly manager: Manager;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Of the state. */
  readonly file: string;
  /** That name the fleet on the command line. */
  readonly commandFlags: string;
  /** Which command runs it. */
  readonly command: 'run' | 'dev' | 'demo';
}

export interface ManagerServer {
  readonly server: HealthServer;
  /** It has a page at this address. */
  readonly hasPage: boolean;
  /** An object has had a pass. */
  passed(this: void, key: ObjectKey): void;
}

export interface ManagerServerFlags extends PageFlags {
  readonly fleetMetrics?: boolean;
}

/** Without an address there is no read API. Throws a `UserError` when a flag is wrong. */
export function createManagerServer(
  context: Context,
  flags: ManagerServerFlags,
  address: ListenAddress | undefined,
  { manager, metrics, logger, file, commandFlags, command }: ServedManager,
): ManagerServer {
  const { clock, hostname: host, pid } = context;
  const journal = new JournalReader(file);
  const source = new ManagerSource({ manager, journal, clock, version, commandFlags, command, host, pid });
  const readApi = address && createReadApi(context, flags, address, { source, logger, metrics });
  const server = createHealthServer(
    {
      live: () => manager.liveness,
      ready: () => manager.readiness,
      metrics: () => {
        collectFleetMetrics(metrics, manager, clock, flags.fleetMetrics);
        return metrics.registry.metrics();
      },
      endpoints: (...asked) => shownEndpoints(manager.store, clock, asked),
    },
    clock,
    { readApi },
  );
  server.addHook('preClose', async () => {
    readApi?.stop();
    journal.close();
  });
  return {
    server,
    hasPage: readApi !== undefined,
    passed: (key) => {
      if (readApi) source.passed(key);
    },
  };
}

export interface LocalPage {
  /** Where a browser of this machine finds it, with a slash at its end. */
  readonly url: string;
  readonly port: number;
  passed(key: ObjectKey): void;
  close(): Promise<void>;
}

/** A page for this machine only. `port`: where it was before; another one if that is taken. */
export async function serveLocalPage(
  context: Context,
  served: ServedManager,
  port: number,
): Promise<LocalPage> {
  const host = '127.0.0.1';
  const listen = async (at: number): Promise<LocalPage> => {
    const { server, passed } = createManagerServer(context, {}, { host, port: at }, served);
    try {
      const url = new URL('/', await server.listen({ host, port: at }));
      return { url: url.href, port: Number(url.port), passed, close: () => server.close() };
    } catch (error) {
      await server.close();
      throw error;
    }
  };
  try {
    return await listen(port);
  } catch (error) {
    if (port !== 0) return serveLocalPage(context, served, 0);
    throw new UserError(
      "can't serve the page on 127.0.0.1",
      'check that this user may listen on a port of this machine',
      error,
    );
  }
}
