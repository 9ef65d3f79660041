import { isIP } from 'node:net';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ControlPlaneConfig } from '../../control-plane/domain/config.ts';
import { pageFiles } from '../../http/index.ts';
import { createProcessRegistry } from '../../telemetry/index.ts';
import { UserError } from '../../base/index.ts';
import { print, untilStopped, type Context } from '../context.ts';
import { pageLine } from '../health.ts';
import { openLog } from '../log.ts';
import {
  logFormatOption,
  logLevelOption,
  needed,
  parseAddress,
  parsePositive,
  parseRate,
  readTextFile,
} from '../options.ts';
import { runtimeOf, type RuntimeFlags } from '../runtimes.ts';
import { isWebAddress } from '../web-address.ts';

interface ControlPlaneFlags extends RuntimeFlags {
  readonly listen: { host: string; port: number };
  readonly adminListen?: { host: string; port: number };
  readonly testListen?: { host: string; port: number };
  readonly metricsListen?: { host: string; port: number };
  readonly browserListen?: { host: string; port: number };
  readonly browserUrl?: string;
  readonly allowRemoteAdmin?: boolean;
  readonly database: string;
  readonly accounts: string;
  readonly config?: string;
  readonly rateLimit?: number | 'none';
  readonly timeScale: number;
}

/** `control-plane`: a real server for the contract, on this machine. */
export function defineControlPlane(command: Command, context: Context): void {
  needed(
    command,
    new Option('--listen <address>', 'HOST:PORT of the API; port 0 picks a free one').argParser(parseAddress),
  );
  needed(command, new Option('--database <file>', 'SQLite file, or :memory:'));
  needed(
    command,
    new Option(
      '--accounts <file>',
      'YAML: accounts: [{name, email, emailVerified, balanceMicros, apiKeys: [..]}]',
    ),
  );
  withRuntimeFlags(withBrowserFlags(command))
    .option(
      '--config <file>',
      'YAML: regions, capacity, prices, templates, identity provider; default: built in',
    )
    .option(
      '--admin-listen <address>',
      'HOST:PORT of accounts, credits and a page, on this machine; also has what the next two have (deprecated: use these)',
      parseAddress,
    )
    .option(
      '--test-listen <address>',
      'HOST:PORT of fault injection and the journal of requests, on this machine: for tests',
      parseAddress,
    )
    .option('--metrics-listen <address>', 'HOST:PORT of metrics; keep it private', parseAddress)
    .option(
      '--allow-remote-admin',
      '--admin-listen and --test-listen may be at addresses that others reach; they ask for no password',
    )
    .option(
      '--rate-limit <rate>',
      'requests per second and account, as N/s, or none; default 1000/s, in bursts of 2000',
      // Not null: commander makes an empty text of it.
      (text) => (text === 'none' ? text : parseRate(text)),
    )
    .option(
      '--time-scale <factor>',
      'lifecycle, idle sleep and charging go this much faster',
      parsePositive,
      1,
    )
    .addOption(logLevelOption('warn'))
    .addOption(logFormatOption())
    .action((flags: ControlPlaneFlags) => serve(flags, context));
}

function withBrowserFlags(command: Command): Command {
  return command
    .option(
      '--browser-listen <address>',
      'HOST:PORT of browser sessions, if the configuration offers them; default a free port of the host of --listen',
      parseAddress,
    )
    .option('--browser-url <url>', 'how browsers reach it, if not at that address', parseBrowserUrl);
}

function withRuntimeFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--runtime <name>',
        'services are simulated, containers of Docker or podman, or Pods of a Kubernetes cluster',
      )
        .choices(['simulated', 'docker', 'kubernetes'])
        .default('simulated'),
    )
    .option('--docker-socket <path>', 'of the container engine; default DOCKER_HOST, or /var/run/docker.sock')
    .option(
      '--publish-host <address>',
      'address of this machine at which real containers answer',
      parsePublishHost,
      '127.0.0.1',
    )
    .addOption(
      new Option(
        '--egress <mode>',
        'what real containers may reach: "enforce" sets firewall rules on this machine (internet only; needs root), "external" leaves it to yours, "open" restricts nothing',
      )
        .choices(['enforce', 'external', 'open'])
        .default('enforce'),
    )
    .option(
      '--kubeconfig <file>',
      "which cluster runs Pods, and as whom; default KUBECONFIG, then the pod's ServiceAccount, then ~/.kube/config",
    )
    .option('--context <name>', 'of the kubeconfig; default its current one');
}

async function serve(flags: ControlPlaneFlags, context: Context): Promise<void> {
  // A server of its own, with its libraries: no other command waits for them.
  const { defaultConfig, heapGrowthPercent, parseAccounts, parseConfig, startControlPlane } =
    await import('../../control-plane/main.ts');
  const { config: file } = flags;
  const given =
    file === undefined ? defaultConfig : parseConfig(readTextFile(file, 'the configuration'), file);
  const accounts = readTextFile(flags.accounts, 'the accounts file');
  const credentials = given.identity ? 'keys and tokens' : 'keys';
  requireBrowser(flags, given);
  const { runtime, config, ended } = await runtimeOf(flags, given, context);
  // After all code is loaded: V8 keeps compiled code apart by its flags.
  context.heap?.setGrowth(heapGrowthPercent);
  const server = await startControlPlane({
    listen: flags.listen,
    ...(flags.adminListen && { adminListen: flags.adminListen, page: pageFiles('control-plane') }),
    ...(flags.testListen && { testListen: flags.testListen }),
    ...(flags.metricsListen && { metricsListen: flags.metricsListen }),
    ...(flags.browserListen && { browserListen: flags.browserListen }),
    ...(flags.browserUrl !== undefined && { browserUrl: flags.browserUrl }),
    ...((flags.adminListen ?? flags.metricsListen) && { metrics: createProcessRegistry() }),
    allowRemoteAdmin: flags.allowRemoteAdmin ?? false,
    database: flags.database,
    accounts: parseAccounts(accounts, flags.accounts, credentials),
    ...(flags.rateLimit !== undefined && {
      rateLimitPerSecond: flags.rateLimit === 'none' ? null : flags.rateLimit,
    }),
    timeScale: flags.timeScale,
    ...(runtime && { runtime }),
    config,
    clock: context.clock,
    random: context.random,
    logger: openLog(context, flags),
  });
  print(context, `listening on ${server.url}`);
  if (server.adminUrl) print(context, `admin on ${server.adminUrl}`);
  if (server.adminUrl) print(context, pageLine(server.adminUrl));
  if (server.testUrl) print(context, `test on ${server.testUrl}`);
  if (server.metricsUrl) print(context, `metrics on ${server.metricsUrl}`);
  if (server.browserUrl) print(context, `browser sessions on ${server.browserUrl}`);
  const failure = await Promise.race([untilStopped(context), ...(ended ? [ended] : [])]);
  await server.close();
  if (failure) throw failure;
}

/** It is bound, and shown in endpoints. */
function parsePublishHost(text: string): string {
  if (isIP(text) !== 0 && text !== '0.0.0.0' && text !== '::') return text;
  throw new InvalidArgumentError('expected an IP address at which others reach this machine');
}

function parseBrowserUrl(text: string): string {
  if (isWebAddress(text, 'whole')) return text;
  throw new InvalidArgumentError('expected an http or https address');
}

function requireBrowser({ browserListen, browserUrl }: ControlPlaneFlags, config: ControlPlaneConfig): void {
  if ((browserListen ?? browserUrl) === undefined || config.browserEnabled) return;
  throw new UserError(
    'the configuration offers no browser sessions, so there is nothing to listen for',
    'set browserEnabled: true in --config, or leave --browser-listen and --browser-url out',
  );
}
