/** `--source kubernetes`: which API, which part of it. The modules that talk to it are loaded only then. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError } from '../base/index.ts';
import { shardBys, type Shard, type ShardBy } from '../desired/index.ts';
import type { KubernetesApi } from '../kubernetes/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import type { Context } from './context.ts';

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly watchNamespaces?: readonly string[];
  readonly shard?: Pick<Shard, 'index' | 'count'>;
  readonly shardBy?: ShardBy;
}

/** The value of `--source` for a cluster, where a folder is expected; a folder of that name is `./kubernetes`. */
export const clusterSource = 'kubernetes';

export function isCluster(source: string | undefined): boolean {
  return source === clusterSource;
}

/** How `--help` heads them. */
export const clusterHeading = 'With --source kubernetes:';

/** Not to be called before the command has an option of its own: `--help` shows groups in the order of their first option. */
export function withClusterFlags(command: Command): Command {
  for (const option of clusterOptions()) command.addOption(option.helpGroup(clusterHeading));
  return command;
}

/** Of a command that is about all parts of the accounts. */
export function withUnsharedClusterFlags(command: Command): Command {
  for (const option of clusterOptions()) if (!isAboutShards(option)) command.addOption(option);
  return command;
}

/** They are understood, so that the command can say what to use instead. */
export function withHiddenClusterFlags(command: Command): Command {
  for (const option of clusterOptions()) command.addOption(option.hideHelp());
  return command;
}

/** Of a command about one object, which the accounts of a part say nothing about. It is still understood. */
export function withHiddenShard(command: Command): Command {
  for (const option of command.options) if (isAboutShards(option)) option.hideHelp();
  return command;
}

function isAboutShards({ long }: Option): boolean {
  return long === '--shard' || long === '--shard-by';
}

export function shardByOption(): Option {
  return new Option(
    '--shard-by <what>',
    'how the parts are made; default account; by namespace, a fleet may have several accounts',
  ).choices(shardBys);
}

/** The part that the flags name; undefined: all of it. */
export function shardOfFlags({ shard, shardBy = 'account' }: ClusterFlags): Shard | undefined {
  return shard && { ...shard, by: shardBy };
}

function clusterOptions(): Option[] {
  return [
    new Option(
      '--kubeconfig <file>',
      "which cluster, and as whom; default KUBECONFIG, then the pod's ServiceAccount, then ~/.kube/config",
    ),
    new Option('--context <name>', 'of the kubeconfig; default its current one'),
    new Option('--watch-namespaces <names>', 'only these, with commas between them; default all').argParser(
      parseNamespaces,
    ),
    new Option('--shard <i/n>', 'only the accounts of part i of n, counted from 0').argParser(parseShard),
    shardByOption(),
  ];
}

/** Nothing has been sent yet when it resolves. */
export async function connectCluster(
  { environment, clock, ports }: Context,
  { kubeconfig, context }: ClusterFlags,
  metrics: Metrics,
): Promise<KubernetesApi> {
  const { connect } = await import('../kubernetes/connect.ts');
  return connect({
    kubeconfig,
    context,
    environment,
    clock,
    metrics,
    dispatcher: ports?.network?.dispatcher,
  });
}

/** Where names are looked for without -n. Undefined: there is no kubeconfig. */
export async function namespaceOf(
  { environment, clock }: Context,
  { kubeconfig, context }: ClusterFlags,
): Promise<string | undefined> {
  const { namespaceOfContext } = await import('../kubernetes/connect.ts');
  return namespaceOfContext({ kubeconfig, context, environment, clock });
}

/** Flags that mean nothing without a cluster, or nothing in one. */
export function refuseForeignFlags(
  source: string | undefined,
  flags: Readonly<Record<string, unknown>> | ClusterFlags,
): void {
  const foreign = Object.entries(isCluster(source) ? folderFlags : clusterFlags);
  const [flag, remedy] = foreign.find(([name]) => Reflect.get(flags, name) !== undefined) ?? [];
  if (flag === undefined) return;
  const long = flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UserError(`--${long} is for ${isCluster(source) ? 'folders' : 'clusters'}`, remedy);
}

const clusterRemedy = 'omit it, or pass --source kubernetes';

/** Those that mean nothing in a folder, with what to do. */
const clusterFlags: Readonly<Record<string, string>> = {
  kubeconfig: clusterRemedy,
  context: clusterRemedy,
  watchNamespaces: clusterRemedy,
  shard: clusterRemedy,
  shardBy: clusterRemedy,
  lease: clusterRemedy,
};

/** Those that mean nothing in a cluster. */
const folderFlags: Readonly<Record<string, string>> = {
  secretsDir: 'in a cluster, Secrets are objects: omit it',
  digestKeyFile: 'in a cluster the key is in the Secret fleetkeeper-state: omit it',
  state: 'in a cluster the state is in the objects: omit it',
  endpointsDir: 'in a cluster, ask the listener, or read `status.endpoints`: omit it',
  fileGrace: 'in a cluster an object is deleted by its deletion timestamp: omit it',
};

function parseNamespaces(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is no name of a namespace`);
  return [...new Set(names)];
}

export const mostShards = 1000;

function parseShard(text: string): Pick<Shard, 'index' | 'count'> {
  const match = /^(\d{1,3})\/(\d{1,4})$/.exec(text);
  const [index, count] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || count < 1 || count > mostShards || index >= count) {
    throw new InvalidArgumentError(
      `expected I/N, for example 0/3 for the first of three (N up to ${mostShards})`,
    );
  }
  return { index, count };
}
