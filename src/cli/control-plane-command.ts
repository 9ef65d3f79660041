import type { Command } from 'commander';
import { parseAccounts, startControlPlane } from '../control-plane/main.ts';
import { createLogger, type LogLevel } from '../telemetry/index.ts';
import { print, untilStopped, type Context } from './context.ts';
import { logLevelOption, parseAddress, parsePositive, parseRate, readTextFile } from './options.ts';
import { Option } from 'commander';

interface ControlPlaneFlags {
  readonly listen: { host: string; port: number };
  readonly adminListen?: { host: string; port: number };
  readonly database: string;
  readonly accounts: string;
  readonly rateLimit?: number;
  readonly timeScale: number;
  readonly logLevel: LogLevel;
}

/** `control-plane`: a real server for the contract, on this machine. */
export function addControlPlaneCommand(program: Command, context: Context): void {
  program
    .command('control-plane')
    .description('serve the Container Compute Control API on this machine, with simulated containers')
    .requiredOption('--listen <address>', 'HOST:PORT of the API; port 0 picks a free one', parseAddress)
    .requiredOption('--database <file>', 'SQLite file, or :memory:')
    .requiredOption(
      '--accounts <file>',
      'YAML: accounts: [{name, email, emailVerified, balanceMicros, apiKeys: [..]}]',
    )
    .option(
      '--admin-listen <address>',
      'HOST:PORT of fault injection and the journal of requests; keep it private',
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
      new Option('--runtime <name>', 'what containers are').choices(['simulated']).default('simulated'),
    )
    .addOption(logLevelOption('warn'))
    .action(async (flags: ControlPlaneFlags) => {
      const server = await startControlPlane({
        listen: flags.listen,
        ...(flags.adminListen ? { adminListen: flags.adminListen } : {}),
        database: flags.database,
        accounts: parseAccounts(readTextFile(flags.accounts, 'the accounts file'), flags.accounts),
        ...(flags.rateLimit === undefined ? {} : { rateLimitPerSecond: flags.rateLimit }),
        timeScale: flags.timeScale,
        clock: context.clock,
        random: context.random,
        logger: createLogger(flags.logLevel),
      });
      print(context, `listening on ${server.url}`);
      if (server.adminUrl) print(context, `admin on ${server.adminUrl}`);
      await untilStopped(context);
      await server.close();
    });
}
