/** Several services at once: by their names, by the labels of their objects, or all. */
import { UserError } from '../../base/index.ts';
import { objectOf } from '../../desired/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { serviceFleet } from '../../kinds/service-fleet/declaration.ts';
import { objectKey } from '../../resources/index.ts';
import { connected, type Connections, type FleetView } from '../account/connection.ts';
import type { Context } from '../context.ts';
import { answerTo } from '../output/answers.ts';
import type { GivenSelector } from '../selection.ts';
import {
  findService,
  onlyAccount,
  serviceNames,
  type FoundService,
  type ServiceFlags,
} from '../account/service-lookup.ts';

export interface ServicesFlags extends ServiceFlags {
  readonly selector?: GivenSelector;
  readonly all?: boolean;
}

export interface SoughtService {
  readonly label: string;
  /** Throws a `UserError` for a service that can't be found. */
  readonly find: () => Promise<FoundService>;
}

/** Connects to their accounts while `work` is done with them. At least one is sought; no two have the same label. */
export function withServices<Result>(
  context: Context,
  names: readonly string[],
  flags: ServicesFlags,
  work: (services: readonly SoughtService[]) => Promise<Result>,
): Promise<Result> {
  const areFleets = names.length > 0 && flags.all === true;
  const ways = [names.length > 0, flags.selector, flags.all, flags.id].filter(Boolean).length;
  if (ways > (areFleets ? 2 : 1)) {
    throw new UserError('which services?', 'give names, or -l, or --all, or --id: one of these');
  }
  return connected(context, flags, async (connections) => {
    const labels = areFleets ? replicasOf(connections.fleet, names, flags) : names;
    const given = [...new Set(labels)].map((label) =>
      soughtObject(connections, label, flags, context.stopped),
    );
    return work(given.length > 0 ? given : await selected(connections, flags, context.stopped));
  });
}

async function selected(
  connections: Connections,
  flags: ServicesFlags,
  stopped: AbortSignal,
): Promise<SoughtService[]> {
  const { fleet, accounts } = connections;
  if (fleet) {
    const labels = labelled(fleet, flags);
    if (labels.length > 0) return labels.map((label) => soughtObject(connections, label, flags, stopped));
    const which = flags.selector ? ` with the labels ${flags.selector.text}` : '';
    throw new UserError(
      `there is no ${containerService.name}${which} in the namespace ${flags.namespace}`,
      'check -l, --source and --namespace',
    );
  }
  if (flags.selector) {
    throw new UserError('labels are in documents, and none were given', 'add --source DIR, or use --all');
  }
  const account = onlyAccount(accounts, flags);
  const { services } = answerTo('read the account', await account.api.account(stopped), stopped);
  if (services.length === 0) throw new UserError('the account has no services');
  const nameOf = (service: (typeof services)[number]) => service.name ?? service.id;
  return services.map((service) => {
    const isTwin = services.some((other) => other !== service && nameOf(other) === nameOf(service));
    const label = isTwin ? `${nameOf(service)} ${service.id}` : nameOf(service);
    return { label, find: () => Promise.resolve({ account, id: service.id, label }) };
  });
}

function soughtObject(
  connections: Connections,
  label: string,
  flags: ServicesFlags,
  stopped: AbortSignal,
): SoughtService {
  return { label, find: async () => ({ ...(await findService(connections, label, flags, stopped)), label }) };
}

/** The names of all replicas of the ServiceFleets that have these names. */
function replicasOf(
  fleet: FleetView | undefined,
  names: readonly string[],
  { namespace }: ServicesFlags,
): string[] {
  return names.flatMap((name) => {
    const owner = objectKey(serviceFleet.name, namespace, name);
    const replicas = (fleet ? serviceNames(fleet, namespace) : []).filter((one) => {
      const key = objectKey(containerService.name, namespace, one);
      return fleet?.store.record(key)?.derived?.owner === owner;
    });
    if (replicas.length > 0) return replicas;
    throw new UserError(
      `there are no replicas of a ${serviceFleet.name} ${name} in the namespace ${namespace}`,
      'a name with --all is that of a ServiceFleet; leave --all out for one service',
    );
  });
}

/** The names of the objects that are selected: of the folder, and of the state where the folder has no such object (any more). */
function labelled(fleet: FleetView, { namespace, selector }: ServicesFlags): string[] {
  return serviceNames(fleet, namespace).filter((name) => {
    const key = objectKey(containerService.name, namespace, name);
    const document = objectOf(fleet.snapshot.objects, containerService.name, key);
    const labels = document?.labels ?? fleet.store.record(key)?.manifest.labels ?? {};
    return selector?.matches(labels) ?? true;
  });
}
