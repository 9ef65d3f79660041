/**
 * What short commands read: the accounts, and, with `--source`, the documents and the state beside them. Nothing is
 * polled, and no state is written.
 */
import { Option, type Command } from 'commander';
import { ControlApi, Limiter, createTransport, defaultTransportLimits } from '../../api/index.ts';
import { UserError } from '../../base/index.ts';
import { formatProblem, nearest, printable, type DesiredSnapshot } from '../../desired/index.ts';
import { AccountKeys, accountSpecs, type WantedAccount } from '../../manager/index.ts';
import { accountNamed, type AccountSpec } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { withClusterFlags, type ClusterFlags } from '../cluster.ts';
import type { Context } from '../context.ts';
import { observeOnce } from '../fleet-access.ts';
import { SourceOption } from '../flags/source-option.ts';
import { withLocal } from '../local/with-local.ts';
import { digestKeyOption } from '../options.ts';
import { withSecretsFlag, type SecretsFlags } from '../secrets-dir.ts';
import { environmentAccount } from '../source.ts';
import { RotatingKey } from './rotating-key.ts';
import { refuseOtherAccount } from './same-account.ts';

export interface ConnectionFlags extends ClusterFlags, SecretsFlags {
  readonly source?: string;
  readonly state?: string;
  readonly owner?: string;
  readonly digestKeyFile?: string;
  readonly account?: string;
  readonly namespace: string;
}

/** `sourceFlag`: its forms, where the short one means something else. */
export function withConnectionFlags(command: Command, sourceFlag = '-f, --source <dir>'): Command {
  const what = 'folder (or file), or `kubernetes`, whose Accounts, objects and state are used';
  command.addOption(new SourceOption(sourceFlag, what, false));
  return withClusterFlags(withSecretsFlag(command))
    .option('--state <file>', 'state file; default .fleetkeeper/state.db in the source folder')
    .option('--owner <name>', "name that marks what this fleet owns; default the source folder's name")
    .addOption(digestKeyOption())
    .option('--account <name>', 'the Account; without a folder the one of FLEETKEEPER_API_URL')
    .addOption(new Option('-n, --namespace <name>', 'of the Account and the objects').default('default'));
}

export interface AccountConnection {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: AccountSpec;
  readonly api: ControlApi;
}

/** A folder and what was last written down of it. */
export interface FleetView {
  readonly snapshot: DesiredSnapshot;
  readonly store: StateStore;
}

export interface Connections {
  /** At least one. */
  readonly accounts: readonly AccountConnection[];
  /** With `--source` only. */
  readonly fleet: FleetView | undefined;
}

/** Logs come whole. */
const longestLogBytes = 64 * 1024 * 1024;

/** Connects while `work` is done. `answerMs`: how long one answer may take. */
export function connected<Result>(
  context: Context,
  flags: ConnectionFlags,
  work: (connections: Connections) => Promise<Result>,
  answerMs = defaultTransportLimits.totalMs,
): Promise<Result> {
  return withLocal(context, flags.source, (local) => connectedTo(local, flags, work, answerMs));
}

async function connectedTo<Result>(
  context: Context,
  flags: ConnectionFlags,
  work: (connections: Connections) => Promise<Result>,
  answerMs: number,
): Promise<Result> {
  const fleet = await fleetView(context, flags);
  const environment = environmentAccount(context);
  const chosen = chooseAccounts(accountSpecs(fleet?.snapshot, environment), flags, fleet?.snapshot);
  const limits = { ...defaultTransportLimits, totalMs: answerMs, bodyBytes: longestLogBytes };
  const open = context.ports?.network?.createTransport ?? createTransport;
  const transport = open(context.clock, limits);
  const keys = new AccountKeys(environment);
  const accounts = chosen.map(([key, { spec, origin }]) => {
    const [namespace = '', name = ''] = key.split('/');
    const pinned = fleet?.store.identityPin(key)?.origin;
    const hold = keys.holdOf({ name: key, spec, origin }, pinned, fleet?.snapshot);
    if (hold) throw new UserError(hold.message, 'nothing was sent');
    const found = keys.keyOf({ name: key, spec, origin }, fleet?.snapshot);
    if (found.kind === 'none')
      throw new UserError(`there is no API key for the account ${key}`, found.remedy);
    const reread = () => keys.keyOf({ name: key, spec, origin }, fleet?.snapshot);
    const rotating = new RotatingKey(found.key, reread, context.clock);
    const credential = () => rotating.key;
    const metrics = createMetrics();
    const limiter = new Limiter({ account: key, ...spec.requests }, context.clock, metrics);
    const baseUrl = spec.url.replace(/\/+$/, '');
    const { refusals, credentialsHeader } = spec;
    const shared = {
      transport: rotating.watch(transport),
      limiter,
      clock: context.clock,
      metrics,
      refusals,
      credentialsHeader,
    };
    const api = new ControlApi({ baseUrl, credential, ...shared });
    return { key, namespace, name, spec, api, credential };
  });
  try {
    if (fleet)
      for (const { key, api, credential } of accounts)
        await refuseOtherAccount(fleet, key, api, credential(), context.stopped);
    return await work({ accounts, fleet });
  } finally {
    for (const { api } of accounts) api.close();
    await transport.close();
  }
}

async function fleetView(context: Context, flags: ConnectionFlags): Promise<FleetView | undefined> {
  const { source } = flags;
  if (source === undefined) {
    if (flags.state === undefined) return undefined;
    throw new UserError(
      '--state has no effect without --source',
      'name the folder that the state belongs to, too',
    );
  }
  return observeOnce(context, { ...flags, source });
}

function chooseAccounts(
  known: ReadonlyMap<string, WantedAccount>,
  flags: ConnectionFlags,
  snapshot: DesiredSnapshot | undefined,
): [string, WantedAccount][] {
  const { account, namespace, source } = flags;
  const wanted = `${namespace}/${account}`;
  const chosen = account === undefined ? [...known] : [...known].filter(([key]) => key === wanted);
  if (chosen.length > 0) return chosen;
  const broken = [...(snapshot?.unusable ?? [])].find(([key]) => accountNamed(key) !== undefined);
  if (broken?.[1][0]) {
    throw new UserError(
      `the document of ${broken[0]} can't be used: ${formatProblem(broken[1][0])}`,
      'correct it; `fleetkeeper plan` shows all problems of the folder',
    );
  }
  if (account !== undefined && known.size > 0) {
    throw new UserError(
      `there is no Account ${account} in the namespace ${namespace}`,
      didYouMean(account, inNamespace([...known.keys()], namespace)),
    );
  }
  const where = source === undefined ? '' : ` in ${source}`;
  throw new UserError(
    `there is no Account${where}, and FLEETKEEPER_API_URL is not set`,
    source === undefined
      ? 'set FLEETKEEPER_API_URL and FLEETKEEPER_API_KEY, or name a folder with an Account: --source DIR'
      : 'add an Account document, set FLEETKEEPER_API_URL and FLEETKEEPER_API_KEY, or use containers of this machine (`fleetkeeper dev`)',
  );
}

function inNamespace(keys: readonly string[], namespace: string): string[] {
  return keys.filter((key) => key.startsWith(`${namespace}/`)).map((key) => key.slice(namespace.length + 1));
}

/** The name that was probably meant, or those that there are, perhaps those of things at a provider. */
export function didYouMean(given: string, names: readonly string[]): string {
  const known = names.map((name) => printable(name, longestName));
  const meant = nearest(given, known);
  if (meant !== undefined) return `did you mean ${meant}?`;
  if (known.length === 0) return 'there is none; check --source and --namespace';
  const shown = [...known].sort().slice(0, namesShown);
  const more = known.length > shown.length ? ` and ${known.length - shown.length} more` : '';
  return `there are: ${shown.join(', ')}${more}`;
}

const namesShown = 10;
const longestName = 80;
