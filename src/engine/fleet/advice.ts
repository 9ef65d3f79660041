import type { Effect } from '../../actions/index.ts';
import { accountsIn, type DesiredSnapshot } from '../../desired/index.ts';
import { accountKey, annotations, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { identifies, identityName } from '../plan/index.ts';

/** The command with which an operator resolves an unknown outcome. */
export function resolveAdvice(
  effect: Effect | undefined,
  object: ObjectKey,
  commandFlags: string | undefined,
): string {
  const { kind, namespace, name } = parseObjectKey(object);
  const where = [
    ...(namespace === 'default' ? [] : [`--namespace ${namespace}`]),
    ...(commandFlags === undefined ? [] : [commandFlags]),
  ];
  const command = (outcome: string) =>
    ['fleetkeeper resolve', `${kind}/${name}`, outcome, ...where].join(' ');
  const applied = effect === 'create' ? '--applied --id ID' : '--applied';
  return `Check at the provider, then run: ${command(applied)}, or: ${command('--not-applied')}`;
}

const mostNamed = 5;

/** Ids for an operator to examine. */
export function named(ids: readonly string[]): string {
  const more = ids.length - mostNamed;
  return `${ids.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * How an operator confirms a mass change, as the end of "if it is intended, ". An account of the environment
 * has no document to annotate, and objects in a cluster are not applied with the command. `account`:
 * `namespace/name`. Without it, any account in the source.
 */
export function massChangeAdvice({ objects, cluster }: DesiredSnapshot, account?: string): string {
  const annotation = `${annotations.allowMassChangeUntil}: "<time, RFC 3339>"`;
  const [namespace = '', name = ''] = account?.split('/') ?? [];
  const isWritten = account === undefined ? accountsIn(objects).length > 0 : objects.has(accountKey(account));
  const which = account === undefined ? '' : ` ${name}`;
  const written = cluster && account !== undefined ? ` (namespace ${namespace})` : '';
  if (isWritten && cluster) return `annotate the Account${which}${written} with ${annotation}`;
  if (isWritten)
    return `annotate the Account${which} with ${annotation}, or run \`fleetkeeper apply --allow-mass-change\``;
  if (cluster)
    return `write an Account${which}${written} with the annotation ${annotation}: there is none to annotate`;
  return (
    'stop the process that manages this source, run `fleetkeeper apply --allow-mass-change` once with the same environment and flags, and start it again: the account comes ' +
    `from the environment. Or write an Account document${which} with its \`url\` and the annotation ${annotation}; without \`credentialsSecretRef\` it keeps the key of the environment`
  );
}

/** For messages about something that prevents the deletion of an object. */
export function giveUpAdvice({ deletionRequestedAt }: ObjectRecord): string {
  return deletionRequestedAt === undefined
    ? ''
    : '; to delete the object without it, set `deletionPolicy: Retain`';
}

interface AccountMove {
  readonly externalId: string;
  /** `namespace/name`, as recorded. */
  readonly from: string;
  readonly to: AccountHandle;
  readonly store: Pick<StateStore, 'identityPin'>;
}

/** Why a thing can't move to another Account. That may be the same account at the provider, under another name. */
export function moveText({ externalId, from, to, store }: AccountMove): string {
  const text = `${externalId} is in the account ${from} and can't move to ${to.name}; revert the change`;
  const [pinned, pin] = [store.identityPin(from), store.identityPin(to.name)];
  const isSame =
    pinned !== undefined &&
    pin !== undefined &&
    identifies(pin) &&
    identityName(pinned) === identityName(pin);
  if (!isSame || pinned.origin === undefined || pinned.origin !== pin.origin) return text;
  return (
    `${text}. Both are the same account at the provider, but an Account in use can't be renamed: keep the document of ${from}. ` +
    `Or set \`deletionPolicy: Retain\`, remove this object, and add it with \`accountRef\` ${to.name} and \`adopt: {id: ${externalId}}\``
  );
}
