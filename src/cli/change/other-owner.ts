import { UserError } from '../../base/index.ts';
import type { BesideDocuments } from '../../manager/index.ts';
import { complain, type Context } from '../context.ts';
import { ownerChoice, type FleetFlags } from '../options.ts';
import { besideLines } from '../output/beside-text.ts';
import type { ObservedFleet } from './fleet-plan.ts';

/** Where no plan is printed as text. */
export function complainOfBeside(context: Context, found: BesideDocuments): void {
  for (const { name, label, text } of besideLines(found)) complain(context, `${label}: ${name}: ${text}`);
}

/**
 * Things of the same names, marked with the same digest key by another owner: a folder that was renamed, a checkout in another place, or one
 * file of the folder. Without a kept state, the name of the owner is only that of the folder, so nobody has asked for a second fleet.
 */
export function refuseOtherOwner(
  { plan: { sameNames = [] }, isKept }: Pick<ObservedFleet, 'plan' | 'isKept'>,
  flags: Pick<FleetFlags, 'source' | 'owner'>,
): void {
  const marked = sameNames.filter(({ owner, sameKey }) => owner !== null && sameKey);
  if (isKept || flags.owner !== undefined || marked.length === 0) return;
  const named = marked
    .slice(0, mostNamed)
    .map(({ kind, namespace, name, id }) => `${kind} ${namespace}/${name} (${id})`);
  const more = marked.length > mostNamed ? ', …' : '';
  const own = ownerChoice({ source: flags.source }).default;
  throw new UserError(
    `${marked.length} object(s) would be created beside things of the same name, with the mark of another owner and this digest key: ${named.join(', ')}${more}. Nothing was changed`,
    `name the owner that they were applied with, --owner NAME, and select a part of that fleet with --target; if a second one of each is wanted, --owner ${own}`,
  );
}

const mostNamed = 5;
