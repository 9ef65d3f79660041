import { isCreation } from '../../actions/index.ts';
import { Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { kinds } from '../../kinds/index.ts';
import {
  kindCalled,
  managedKinds,
  objectKey,
  parseObjectKey,
  type ObjectKey,
} from '../../resources/index.ts';
import { isCreationLost, type Intent, type StateStore } from '../../state/index.ts';
import { withHiddenShard } from '../cluster.ts';
import { didYouMean } from '../account/connection.ts';
import { print, type Context } from '../context.ts';
import { withFleetFlags, type FleetFlags } from '../options.ts';
import { openPlace } from '../replicas/place.ts';

interface ResolveFlags extends FleetFlags {
  readonly namespace: string;
  readonly applied?: boolean;
  readonly notApplied?: boolean;
  readonly id?: string;
}

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * `resolve`: an operator confirmation for a mutation whose outcome no evidence shows. It is written to the state
 * file, or to the object in a cluster, where the current or the next manager finds it. So it works beside a running
 * manager.
 */
export function defineResolve(command: Command, context: Context): void {
  withHiddenShard(withFleetFlags(command, 'silent'))
    .argument('<kind/name>', 'the object, for example ContainerService/web')
    .option('-n, --namespace <name>', 'of the object', 'default')
    .addOption(new Option('--applied', 'it did happen').conflicts('notApplied'))
    .addOption(new Option('--not-applied', 'it did not happen; it is sent again if it is still wanted'))
    .addOption(
      new Option('--id <uuid>', 'what a creation made, by its id at the provider').conflicts('notApplied'),
    )
    .action(async (object: string, flags: ResolveFlags) => {
      const applied = flags.applied === true;
      if (!applied && flags.notApplied !== true) {
        throw new UserError('did it happen?', 'check the provider, and pass --applied or --not-applied');
      }
      const place = await openPlace(context, flags);
      const { store } = place;
      const key = parseObject(object, flags.namespace);
      const intent = openIntent(store, key, object);
      const id = madeId(store, key, intent, flags);
      await place.leaveResolution(key, { idempotencyKey: intent.idempotencyKey, applied, id });
      const word = applied ? `was applied${id === undefined ? '' : ` and made ${id}`}` : 'was not applied';
      print(
        context,
        `Recorded: ${intent.action} of ${object} ${word}. The manager uses it with its next read, or when it starts.`,
      );
    });
}

function parseObject(text: string, namespace: string): ObjectKey {
  const [wanted = '', name = '', ...rest] = text.split('/');
  const kind = kindCalled(wanted);
  if (kind && name !== '' && rest.length === 0) return objectKey(kind, namespace, name);
  throw new UserError(
    `"${text}" names no object`,
    `write KIND/NAME, for example ContainerService/web; kinds are ${managedKinds.join(', ')}`,
  );
}

/** What is resolved: an open intent, or a creation whose record was in a wiped status. */
type OpenRequest = Pick<Intent, 'action' | 'idempotencyKey'>;

function openIntent(store: StateStore, key: ObjectKey, label: string): OpenRequest {
  const { kind, namespace } = parseObjectKey(key);
  const record = store.record(key);
  if (!record) {
    const names = [...store.records()]
      .map((other) => parseObjectKey(other.key))
      .filter((other) => other.kind === kind && other.namespace === namespace)
      .map(({ name }) => name);
    throw new UserError(
      `there is no ${label} in the namespace ${namespace}`,
      didYouMean(parseObjectKey(key).name, names),
    );
  }
  const intent = store.openIntent(key);
  if (intent) return intent;
  const last = store.lastIntent(key);
  if (last && last.idempotencyKey === record.creationInDoubt?.idempotencyKey) return last;
  const creation = kinds[kind].remote?.creation;
  if (creation && isCreationLost(record)) return { action: creation.name, idempotencyKey: record.uid };
  const known = last ? ` (its last one, ${last.action}, is known to be ${last.outcome})` : '';
  throw new UserError(
    `${label} has no request whose outcome is unknown${known}`,
    'nothing has to be resolved; `fleetkeeper status` shows which objects wait for that',
  );
}

/** The manager, which knows the account, checks whether it exists at the provider. */
function madeId(
  store: StateStore,
  key: ObjectKey,
  intent: OpenRequest,
  flags: ResolveFlags,
): string | undefined {
  const { id } = flags;
  const creates = isCreation(intent.action);
  if (id === undefined) {
    if (!creates || flags.applied !== true) return undefined;
    throw new UserError(
      'what did it make?',
      `name it with --id; \`fleetkeeper inventory\` shows unmanaged things`,
    );
  }
  if (!creates) throw new UserError(`${intent.action} makes nothing`, 'leave --id out');
  if (!idPattern.test(id))
    throw new UserError(`--id ${id} is not a UUID`, '`fleetkeeper inventory` shows the ids');
  const holder = store.recordOf(id);
  if (holder && holder.key !== key) {
    throw new UserError(
      `${id} is managed as ${holder.key}`,
      'name what the lost request made, or pass --not-applied',
    );
  }
  return id;
}
