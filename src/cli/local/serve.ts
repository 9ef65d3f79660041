/**
 * Serves the control plane of a folder in this process. One process at a time does, the one with the lock of the database. The others use it,
 * and wait for the lock: when that process ends, one of them continues at the same address.
 */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { UserError, messageOf, sleep } from '../../base/index.ts';
import type { ControlPlaneConfig } from '../../control-plane/domain/config.ts';
import type { RuntimeFactory } from '../../control-plane/domain/runtime.ts';
import { lockDatabase, type StateLock } from '../../state/index.ts';
import { createLogger, type Logger } from '../../telemetry/index.ts';
import type { Context } from '../context.ts';
import { readTextFile } from '../options.ts';
import { readSettings, writeSettings, type LocalPlace, type LocalSettings } from './place.ts';

export interface LocalControlPlane {
  readonly url: string;
  readonly settings: LocalSettings;
  readonly logFile: string;
  close(): Promise<void>;
}

/** How long the process with the lock may take to show its address. */
const startMs = 20_000;
const recheckMs = 200;

/** Resolves when a control plane answers for this folder, in this process or in another one. */
export async function reachLocal(context: Context, place: LocalPlace): Promise<LocalControlPlane> {
  const { clock, stopped } = context;
  const giveUpMs = clock.monotonicMs() + startMs;
  for (;;) {
    const lock = takeLock(context, place);
    if ('release' in lock) return serveLocked(context, place, lock);
    const url = addressOf(place);
    if (url !== undefined) return standBy(context, place, url);
    if (clock.monotonicMs() > giveUpMs || stopped.aborted) throw lock;
    await sleep(clock, recheckMs, stopped);
  }
}

/** Uses the one of another process, and continues it when that process has ended. */
function standBy(context: Context, place: LocalPlace, url: string): LocalControlPlane {
  const ending = new AbortController();
  const succeed = async (): Promise<LocalControlPlane | undefined> => {
    while (!ending.signal.aborted) {
      const lock = takeLock(context, place);
      if ('release' in lock) return serveLocked(context, place, lock);
      await sleep(context.clock, recheckMs, ending.signal);
    }
    return undefined;
  };
  // What can't be continued shows itself: requests fail.
  const succeeded = succeed().catch(() => undefined);
  return {
    url,
    settings: readSettings(place),
    logFile: place.logFile,
    close: async () => {
      ending.abort();
      await (await succeeded)?.close();
    },
  };
}

function takeLock({ pid, hostname }: Context, { source, database }: LocalPlace): StateLock | UserError {
  try {
    return lockDatabase(
      database,
      `process ${pid} on ${hostname}, which serves the control plane of ${source}`,
    );
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

function addressOf({ addressFile }: LocalPlace): string | undefined {
  try {
    return /^http:\/\/127\.0\.0\.1:\d+\n$/.exec(readFileSync(addressFile, 'utf8'))?.[0].trimEnd();
  } catch {
    return undefined;
  }
}

async function serveLocked(context: Context, place: LocalPlace, lock: StateLock): Promise<LocalControlPlane> {
  try {
    // Of a process that was killed.
    rmSync(place.addressFile, { force: true });
    const settings = readSettings(place);
    const plane = await serve(context, place, settings);
    const { url } = plane;
    const port = Number(new URL(url).port);
    if (port !== settings.port) writeSettings(place, { ...settings, port });
    writeFileSync(place.addressFile, `${url}\n`, { mode: 0o600 });
    return {
      url,
      settings,
      logFile: place.logFile,
      close: async () => {
        rmSync(place.addressFile, { force: true });
        await plane.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** A full disk must not stop the containers: the log has a gap then. */
function append(logFile: string, line: string): void {
  try {
    appendFileSync(logFile, line, { mode: 0o600 });
  } catch {
    // The line is lost.
  }
}

async function serve(context: Context, place: LocalPlace, settings: LocalSettings) {
  // No other command needs its libraries.
  const { defaultConfig, startControlPlane } = await import('../../control-plane/main.ts');
  const { clock, random } = context;
  const logger = createLogger('info', {
    write: (line) => append(place.logFile, line),
  });
  const key = readTextFile(place.keyFile, "the key of this folder's control plane").trim();
  const account = { name: 'local', email: 'local@localhost', emailVerified: true, balanceMicros };
  const { runtime, config } = await runtimeFor(settings, defaultConfig, logger);
  const start = (port: number) =>
    startControlPlane({
      listen: { host: '127.0.0.1', port },
      database: place.database,
      accounts: { accounts: [{ ...account, apiKeys: [key] }] },
      config,
      ...(runtime && { runtime }),
      clock,
      random,
      logger,
    });
  if (settings.port === 0) return start(0);
  return start(settings.port).catch((error: unknown) => {
    // Whoever has the port now: another one is as good, since the address is in a file.
    if (isTaken(error)) return start(0);
    throw error;
  });
}

function isTaken(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE') return true;
  }
  return false;
}

/** A million USD, which buy nothing. */
const balanceMicros = 1_000_000_000_000;

/** Nobody waits for what is only simulated. */
const shortDurations = {
  provisionMs: 800,
  stopMs: 300,
  removeMs: 300,
  volumeProvisionMs: 500,
  volumeExpandMs: 500,
  volumeDeleteMs: 300,
};

async function runtimeFor(
  { runtime, engine }: LocalSettings,
  standard: ControlPlaneConfig,
  logger: Logger,
): Promise<{ runtime?: RuntimeFactory; config: ControlPlaneConfig }> {
  if (runtime === 'simulated') return { config: { ...standard, durations: shortDurations } };
  const docker = await import('../../control-plane/runtimes/docker/engine/connect.ts');
  const address = docker.engineAddress(undefined, engine);
  const connected = await docker.connectEngine(address).catch((error: unknown) => {
    throw new UserError(
      `the containers of this folder are at an engine that does not answer: ${messageOf(error)}`,
      'start it again; its address is in .fleetkeeper/dev/settings.json of the folder',
      error,
    );
  });
  const offered = docker.withoutMadeUpGpus(standard);
  const config = await docker.withMachineOf(connected, address, offered, logger);
  // Firewall rules need root, and the only tenant is whoever runs this.
  const asked = { publishHost: '127.0.0.1', egress: 'open', address } as const;
  return { config, runtime: docker.dockerRuntime(connected, await docker.dockerOptions(config, asked)) };
}
