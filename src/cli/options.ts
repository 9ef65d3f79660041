/** Flags that several commands share, and how their values are read. */
import { readFileSync, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError, messageOf } from '../base/index.ts';
import type { LogLevel } from '../telemetry/index.ts';
import type { OwnerChoice } from '../state/index.ts';
import { logFormats, type LogFlags } from './log.ts';
import { withClusterFlags, withHiddenClusterFlags, type ClusterFlags } from './cluster.ts';
import { SourceOption } from './flags/source-option.ts';
import { withSecretsFlag, type SecretsFlags } from './secrets-dir.ts';
import { outputFormats } from './output/output.ts';

export interface FleetFlags extends ClusterFlags, LogFlags, SecretsFlags {
  readonly source: string;
  readonly state?: string;
  readonly owner?: string;
  readonly digestKeyFile?: string;
  readonly acceptIdentity?: string;
}

/** `others`: further sources that the command has. */
export function withFleetFlags(command: Command, defaultLevel: LogLevel, others = ''): Command {
  const source = sourceOption(`folder (or file) of YAML documents, or \`kubernetes\`${others}`);
  return withStateFlags(withClusterFlags(withSecretsFlag(command.addOption(source))), defaultLevel);
}

/** Of a command that does not work on a cluster. */
export function withFolderFlags(command: Command, defaultLevel: LogLevel): Command {
  return withStateFlags(withFolderSource(command), defaultLevel);
}

/** Only the folder, of a command that needs no state. */
export function withFolderSource(command: Command): Command {
  const source = sourceOption('folder (or file) of YAML documents');
  return withHiddenClusterFlags(withSecretsFlag(command.addOption(source)));
}

/** `flags/default-source.ts` finds its default. */
function sourceOption(description: string): SourceOption {
  const standard = '`source` of fleetkeeper.yaml, ./fleet, or the current folder';
  return new SourceOption('-f, --source <dir>', `${description}; default ${standard}`, true);
}

function withStateFlags(command: Command, defaultLevel: LogLevel): Command {
  return command
    .option('--state <file>', 'state file; default .fleetkeeper/state.db in the source folder')
    .option('--owner <name>', "name that marks what this fleet owns; default the source folder's name")
    .addOption(digestKeyOption())
    .addOption(logLevelOption(defaultLevel))
    .addOption(logFormatOption());
}

export function digestKeyOption(): Option {
  return new Option(
    '--digest-key-file <file>',
    'secret key of the digests in marks, for runs without a state file; default FLEETKEEPER_DIGEST_KEY or FLEETKEEPER_DIGEST_KEY_FILE',
  );
}

/** An option that has to be given. It is missed after all others were understood: a typing error is then called by its name. */
export function needed(command: Command, option: Option): Command {
  const { description } = option;
  option.description = `${description} (required)`;
  return command.addOption(option).hook('preAction', (_command, called) => {
    if (called.getOptionValue(option.attributeName()) !== undefined) return;
    called.error(missing(option, description));
  });
}

/** `why`: what it is, or why nothing can stand in for it. */
export function missing({ flags }: Option, why: string): string {
  return `error: required option '${flags.replace(/^-\w, /, '')}' not specified: ${why}`;
}

/** Its default is shown as a person writes it. */
export function durationOption(flags: string, description: string, standard: string): Option {
  return new Option(flags, description).argParser(parseDuration).default(parseDuration(standard), standard);
}

/** Of what reads once. A failure that may pass is waited for. */
export function apiTimeoutOption(): Option {
  return durationOption('--timeout <duration>', 'how long to wait for the API', '1m');
}

export function settleOption(): Option {
  return durationOption(
    '--settle <duration>',
    'how long a request with an unknown outcome may still take effect',
    '5s',
  );
}

/** For commands that use the API. */
export function acceptIdentityOption(): Option {
  return new Option(
    '--accept-identity <id>',
    'accept that an API key now belongs to another account than before (IdentityChanged)',
  );
}

export function acceptance({ acceptIdentity }: FleetFlags): { acceptedIdentity?: string } {
  return acceptIdentity === undefined ? {} : { acceptedIdentity: acceptIdentity };
}

const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

export function logLevelOption(defaultLevel: LogLevel): Option {
  return new Option('--log-level <level>', 'of the log on stderr').choices(logLevels).default(defaultLevel);
}

export function logFormatOption(): Option {
  return new Option(
    '--log-format <format>',
    'of the log on stderr: text for people, JSON lines for programs; auto is text on a terminal, else json',
  )
    .choices(logFormats)
    .default('auto');
}

export function outputOption(): Option {
  return outputOptionWith([], '');
}

/** With formats that only some commands have. */
export function outputOptionWith(formats: readonly string[], meaning: string): Option {
  return new Option('-o, --output <format>', `text for people, json and yaml for programs${meaning}`)
    .choices([...outputFormats, ...formats])
    .default('text');
}

/** `host:port`; port 0 picks a free one. */
export function parseAddress(text: string): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match?.[1] || port > 65_535) {
    throw new InvalidArgumentError(
      'expected HOST:PORT, for example 127.0.0.1:8080 (port 0 picks a free one)',
    );
  }
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `10m`, `30s`, `500ms`, `1h`, in milliseconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  if (!match) throw new InvalidArgumentError('expected a duration such as 30s, 10m or 1h');
  return Number(match[1]) * (unitsMs[match[2] ?? ''] ?? 0);
}

export function parsePositive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('expected a number above 0');
  return value;
}

/** `N/s` or `N`, requests per second. */
export function parseRate(text: string): number {
  return parsePositive(text.replace(/\/s$/, ''));
}

/** How a command names the same fleet, for advice. */
export function sameFleetFlags({
  source,
  state,
  secretsDir,
  kubeconfig,
  context,
}: Pick<FleetFlags, 'source' | 'state' | 'secretsDir' | 'kubeconfig' | 'context'>): string {
  const flags = Object.entries({ source, state, 'secrets-dir': secretsDir, kubeconfig, context });
  return flags
    .flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${shellWord(value)}`]))
    .join(' ');
}

/** The same for commands that are pasted elsewhere: paths from the root. */
export function sameFleetFlagsAnywhere(flags: Parameters<typeof sameFleetFlags>[0]): string {
  const { source, state, kubeconfig } = flags;
  const isFolder = source !== undefined && source !== 'kubernetes' && source !== '-';
  return sameFleetFlags({
    ...flags,
    ...(isFolder ? { source: path.resolve(source) } : {}),
    ...(state === undefined ? {} : { state: path.resolve(state) }),
    ...(kubeconfig === undefined ? {} : { kubeconfig: path.resolve(kubeconfig) }),
  });
}

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Where the state of a source is kept, unless --state gives another place. Creating a state would create the folder
 * of a typing error.
 */
export function stateFile({ source, state }: Pick<FleetFlags, 'source' | 'state'>): string {
  if (state !== undefined) return state;
  const root = path.resolve(source);
  return statusOf(root).isFile()
    ? path.join(path.dirname(root), '.fleetkeeper', `${path.basename(root)}.db`)
    : path.join(root, '.fleetkeeper', 'state.db');
}

export function ownerChoice({ source, owner }: Pick<FleetFlags, 'source' | 'owner'>): OwnerChoice {
  return { default: path.basename(path.resolve(source)) || 'fleet', explicit: owner };
}

function statusOf(source: string): Stats {
  try {
    return statSync(source);
  } catch (error) {
    const remedy = 'check --source: check that it is there, mounted, and readable by this user';
    throw new UserError(`the source ${source} can't be read: ${messageOf(error)}`, remedy, error);
  }
}

export function readTextFile(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(`can't read ${what} ${file}: ${messageOf(error)}`, 'check the path', error);
  }
}
