/**
 * Things that carry an object's mark but are not the recorded one. Somebody copied a service with its
 * environment, or a creation took effect late. A mark is never enough to change or delete a thing with
 * another id (S5). It is reported, and an operator decides.
 */
import { annotations } from '../../resources/index.ts';
import { providerText } from './provider-text.ts';

export interface Duplicate {
  readonly id: string;
  /** As the provider shows it, including the mark. */
  readonly name?: string;
  readonly state?: string;
  readonly hourlyMicros?: number;
}

interface Shown {
  readonly id: string;
  readonly name?: string | undefined;
  readonly state?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly hourlyMicros?: number | null | undefined;
}

function duplicateOf({ id, name, state, status, hourlyMicros }: Shown): Duplicate {
  const shownState = state ?? status ?? undefined;
  return {
    id,
    ...(name === undefined ? {} : { name: providerText(name, [], 100) }),
    ...(shownState === undefined ? {} : { state: providerText(shownState, [], 100) }),
    ...(typeof hourlyMicros === 'number' ? { hourlyMicros } : {}),
  };
}

export interface DescribedDuplicate extends Duplicate {
  /** A message for people. */
  readonly message: string;
}

/** One sentence with the thing, and what an operator can do about it. `ownerId`: as in the mark. */
function describeDuplicate({ id, name, state, hourlyMicros }: Duplicate, ownerId: string): string {
  const price = hourlyMicros === undefined ? '' : `, ${(hourlyMicros / 1_000_000).toFixed(4)} USD an hour`;
  const shown = [name, state].filter((part) => part !== undefined).join(', ');
  return (
    `${id} (${shown}${price}) carries this object's mark but is not the recorded thing; it is not changed. ` +
    `Delete it at the provider, or manage it with another document: \`adopt: {id: ${id}}\` and the annotation ${annotations.adoptFrom}: "${ownerId}"`
  );
}

export function describedDuplicate(shown: Shown, ownerId: string): DescribedDuplicate {
  const duplicate = duplicateOf(shown);
  return { ...duplicate, message: describeDuplicate(duplicate, ownerId) };
}
