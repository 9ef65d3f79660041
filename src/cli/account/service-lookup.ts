/** Which service a person means: by the name of its object, by its name at the provider, or by its id. */
import { Option, type Command } from 'commander';
import type { wire } from '../../api/index.ts';
import { UserError } from '../../base/index.ts';
import { objectOf } from '../../desired/index.ts';
import { derivedUid, markedUid, ownerId, readMark } from '../../engine/plan/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import {
  kindCalled,
  objectKey,
  parseObjectKey,
  type ContainerServiceSpec,
  type ObjectKey,
} from '../../resources/index.ts';
import { answerTo } from '../output/answers.ts';
import { withHiddenShard } from '../cluster.ts';
import {
  connected,
  didYouMean,
  withConnectionFlags,
  type AccountConnection,
  type ConnectionFlags,
  type Connections,
  type FleetView,
} from './connection.ts';
import type { Context } from '../context.ts';
import { withProgress } from '../output/progress.ts';

export interface ServiceFlags extends ConnectionFlags {
  readonly id?: string;
}

export interface FoundService {
  readonly account: AccountConnection;
  readonly id: string;
  /** What people call it. */
  readonly label: string;
}

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function withServiceFlags(command: Command, sourceFlag?: string): Command {
  return withHiddenShard(withConnectionFlags(command, sourceFlag)).addOption(
    new Option('--id <uuid>', 'the service with this id, instead of a name'),
  );
}

/** Finds the service, and connects to its account while `work` is done with it. */
export function withService<Result>(
  context: Context,
  name: string | undefined,
  flags: ServiceFlags,
  work: (service: FoundService) => Promise<Result>,
  answerMs?: number,
): Promise<Result> {
  if ((name === undefined) === (flags.id === undefined)) {
    throw new UserError('which service?', 'give either the name of its object, or its id with --id');
  }
  if (flags.id !== undefined && !idPattern.test(flags.id)) {
    throw new UserError(`--id ${flags.id} is not a UUID`, '`fleetkeeper inventory --all` shows the ids');
  }
  return connected(
    context,
    flags,
    async (connections) => {
      const label = name ?? flags.id ?? '';
      const find = () => findService(connections, name, flags, context.stopped);
      const found = await withProgress(context, () => `looking for ${label}`, find);
      return work({ ...found, label });
    },
    answerMs,
  );
}

export async function findService(
  { accounts, fleet }: Connections,
  name: string | undefined,
  flags: ServiceFlags,
  stopped: AbortSignal,
): Promise<Omit<FoundService, 'label'>> {
  if (name === undefined) return { account: onlyAccount(accounts, flags), id: flags.id ?? '' };
  return fleet
    ? findObject(accounts, fleet, name, flags, stopped)
    : findRemote(onlyAccount(accounts, flags), name, stopped);
}

export function onlyAccount(accounts: readonly AccountConnection[], flags: ServiceFlags): AccountConnection {
  const [account, ...others] = accounts;
  if (account && others.length === 0) return account;
  throw new UserError(
    `${flags.source} has ${accounts.length} Accounts`,
    `name one with --account: ${accounts.map(({ name }) => name).join(', ')}`,
  );
}

/** `NAME`, or `KIND/NAME` with any name of the kind. */
export function serviceKey(text: string, namespace: string): ObjectKey {
  const [kind = '', name] = text.includes('/') ? text.split('/', 2) : [containerService.name, text];
  if (kindCalled(kind) === containerService.name && name)
    return objectKey(containerService.name, namespace, name);
  throw new UserError(`"${text}" names no service`, `write NAME or ${containerService.name}/NAME`);
}

/** By object: the id that is written down, else the one that it adopts, else by its mark in the account. */
async function findObject(
  accounts: readonly AccountConnection[],
  fleet: FleetView,
  given: string,
  { namespace }: ServiceFlags,
  stopped: AbortSignal,
): Promise<Omit<FoundService, 'label'>> {
  const key = serviceKey(given, namespace);
  const { name } = parseObjectKey(key);
  const record = fleet.store.record(key);
  const document = objectOf(fleet.snapshot.objects, containerService.name, key);
  const spec = document?.spec ?? (record?.manifest.spec as ContainerServiceSpec | undefined);
  if (!spec) {
    throw new UserError(
      `there is no ${containerService.name} ${name} in the namespace ${namespace}`,
      didYouMean(name, serviceNames(fleet, namespace)),
    );
  }
  const wanted = record?.account ?? `${namespace}/${spec.accountRef.name}`;
  const account =
    accounts.find((candidate) => candidate.key === wanted) ??
    accounts.find((candidate) => candidate.name === spec.accountRef.name);
  if (!account) {
    throw new UserError(
      `${containerService.name} ${name} is in the account ${wanted}, which is not available`,
      'correct --account, or add the document of that Account',
    );
  }
  const known = record?.externalId ?? spec.adopt?.id ?? (await findMarked(account, fleet, key, stopped))?.id;
  if (known !== undefined) return { account, id: known };
  throw new UserError(
    `${containerService.name} ${name} has no service at the provider yet`,
    '`fleetkeeper apply` creates it, and `fleetkeeper status` shows its progress',
  );
}

/** After a lost state file. */
async function findMarked(
  { api }: AccountConnection,
  { store }: FleetView,
  key: ObjectKey,
  stopped: AbortSignal,
): Promise<wire.Service | undefined> {
  const { services } = answerTo('read the account', await api.account(stopped), stopped);
  const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
  const record = store.record(key);
  const uid = record ? markedUid(record) : derivedUid(store.ownerName, key);
  return services.find(({ environmentNames }) => readMark(environmentNames, owner, uid).ours);
}

/** The names of the ContainerServices of a namespace, also of those whose documents are broken or gone. */
export function serviceNames({ snapshot, store }: FleetView, namespace: string): string[] {
  const keys = [
    ...snapshot.objects.keys(),
    ...snapshot.unusable.keys(),
    ...[...store.records()].map(({ key }) => key),
  ];
  const names = keys
    .map(parseObjectKey)
    .filter((id) => id.kind === containerService.name && id.namespace === namespace)
    .map((id) => id.name);
  return [...new Set(names)].sort();
}

/** Without a folder a name is the one at the provider, where it need not be the only one. */
async function findRemote(
  account: AccountConnection,
  name: string,
  stopped: AbortSignal,
): Promise<Omit<FoundService, 'label'>> {
  const { services } = answerTo('read the account', await account.api.account(stopped), stopped);
  const [found, ...others] = services.filter((service) => service.name === name);
  if (found && others.length === 0) return { account, id: found.id };
  if (found) {
    throw new UserError(
      `${others.length + 1} services of the account are called ${name}`,
      `name one: ${[found, ...others].map(({ id }) => `--id ${id}`).join(', ')}`,
    );
  }
  throw new UserError(
    `the account has no service called ${name}`,
    `${didYouMean(
      name,
      services.flatMap((service) => service.name ?? []),
    )}; for names of objects, give --source DIR`,
  );
}
