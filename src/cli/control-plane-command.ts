import { isIP } from 'node:net';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { RuntimeFactory } from '../control-plane/runtime.ts';
import { createLogger, createProcessRegistry, type LogLevel } from '../telemetry/index.ts';
import { print, untilStopped, type Context } from './context.ts';
import { logLevelOption, parseAddress, parsePositive, parseRate, readTextFile } from './options.ts';

interface ControlPlaneFlags {
  readonly listen: { host: string; port: number };
  readonly adminListen?: { host: string; port: number };
  readonly database: string;
  readonly accounts: string;
  readonly config?: string;
  readonly rateLimit?: number;
  readonly timeScale: number;
  readonly runtime: 'simulated' | 'docker';
  readonly dockerSocket?: string;
  readonly publishHost: string;
  readonly logLevel: LogLevel;
}

/** `control-plane`: a real server for the contract, on this machine. */
export function defineControlPlane(command: Command, context: Context): void {
  command
    .requiredOption('--listen <address>', 'HOST:PORT of the API; port 0 picks a free one', parseAddress)
    .requiredOption('--database <file>', 'SQLite file, or :memory:')
    .requiredOption(
      '--accounts <file>',
      'YAML: accounts: [{name, email, emailVerified, balanceMicros, apiKeys: [..]}]',
    )
    .option(
      '--config <file>',
      'YAML: regions, capacity, prices, templates, identity provider; default: built in',
    )
    .option(
      '--admin-listen <address>',
      'HOST:PORT of metrics, fault injection and the journal of requests; keep it private',
      parseAddress,
    )
    .option('--rate-limit <rate>', 'requests per second and account, as N/s', parseRate)
    .option(
      '--time-scale <factor>',
      'lifecycle, idle sleep and charging go this much faster',
      parsePositive,
      1,
    )
    .addOption(
      new Option('--runtime <name>', 'containers are simulated, or real ones of Docker or podman')
        .choices(['simulated', 'docker'])
        .default('simulated'),
    )
    .option('--docker-socket <path>', 'of the container engine; default DOCKER_HOST, or /var/run/docker.sock')
    .option(
      '--publish-host <address>',
      'address of this machine at which real containers answer',
      parsePublishHost,
      '127.0.0.1',
    )
    .addOption(logLevelOption('warn'))
    .action((flags: ControlPlaneFlags) => serve(flags, context));
}

async function serve(flags: ControlPlaneFlags, context: Context): Promise<void> {
  // A server of its own, with its libraries: no other command waits for them.
  const { defaultConfig, parseAccounts, parseConfig, startControlPlane } =
    await import('../control-plane/main.ts');
  const { withoutMadeUpGpus } = await import('../control-plane/docker/config.ts');
  const { config: file } = flags;
  const config =
    file === undefined ? defaultConfig : parseConfig(readTextFile(file, 'the configuration'), file);
  const accounts = readTextFile(flags.accounts, 'the accounts file');
  const credentials = config.identity ? 'keys and tokens' : 'keys';
  const runtime = await runtimeOf(flags, context);
  const server = await startControlPlane({
    listen: flags.listen,
    ...(flags.adminListen && { adminListen: flags.adminListen, metrics: createProcessRegistry() }),
    database: flags.database,
    accounts: parseAccounts(accounts, flags.accounts, credentials),
    ...(flags.rateLimit !== undefined && { rateLimitPerSecond: flags.rateLimit }),
    timeScale: flags.timeScale,
    ...(runtime ? { runtime, config: withoutMadeUpGpus(config) } : { config }),
    clock: context.clock,
    random: context.random,
    logger: createLogger(flags.logLevel),
  });
  print(context, `listening on ${server.url}`);
  if (server.adminUrl) print(context, `admin on ${server.adminUrl}`);
  await untilStopped(context);
  await server.close();
}

/** It is bound, and shown in endpoints. */
function parsePublishHost(text: string): string {
  if (isIP(text) !== 0 && text !== '0.0.0.0' && text !== '::') return text;
  throw new InvalidArgumentError('expected an IP address at which others reach this machine');
}

/** Undefined: simulated. Throws a `UserError` when there is no container engine. */
async function runtimeOf(flags: ControlPlaneFlags, context: Context): Promise<RuntimeFactory | undefined> {
  if (flags.runtime === 'simulated') return undefined;
  // Its library is large, and no other command needs it.
  const { connectEngine, dockerRuntime, engineAddress } = await import('../control-plane/docker/connect.ts');
  const address = engineAddress(flags.dockerSocket, context.environment['DOCKER_HOST']);
  return dockerRuntime(await connectEngine(address), { host: flags.publishHost });
}
