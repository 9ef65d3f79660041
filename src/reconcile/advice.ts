import { parseObjectKey, type ObjectKey } from '../resources/index.ts';

/** What a person is to type, after a look at the provider. */
export function resolveAdvice(action: string, object: ObjectKey, commandFlags: string | undefined): string {
  const { kind, namespace, name } = parseObjectKey(object);
  const where = [
    ...(namespace === 'default' ? [] : [`--namespace ${namespace}`]),
    ...(commandFlags === undefined ? [] : [commandFlags]),
  ];
  const command = (outcome: string) =>
    ['fleetkeeper resolve', `${kind}/${name}`, outcome, ...where].join(' ');
  const applied = action.startsWith('create-') ? '--applied --id ID' : '--applied';
  return `Look at the provider, and then say: ${command(applied)}, or: ${command('--not-applied')}`;
}

const mostNamed = 5;

/** Ids for a person to look at. */
export function named(ids: readonly string[]): string {
  const more = ids.length - mostNamed;
  return `${ids.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
