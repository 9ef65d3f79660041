/** The names by which people call a kind. */
import { managedKinds, type ManagedKind } from './keys.ts';
import { traitsOf } from './traits.ts';

/** Its own, that of its list, the short one that `kubectl` has, and its noun. */
function namesOf(kind: ManagedKind): string[] {
  const { plural, shortName, noun } = traitsOf(kind);
  return [kind.toLowerCase(), plural, shortName, noun];
}

const kindsByName: ReadonlyMap<string, ManagedKind> = new Map(
  managedKinds.flatMap((kind) => namesOf(kind).map((name) => [name, kind])),
);

/** All of them, in lower case. */
export const kindNames: readonly string[] = [...kindsByName.keys()];

/** In upper or lower case. Undefined: no kind is called that. */
export function kindCalled(text: string): ManagedKind | undefined {
  return kindsByName.get(text.toLowerCase());
}
