/** `status.drift`: what somebody else changed, since when, and what the provider's events report about it. */
import { providerText, type Difference, type Plan } from '../plan/index.ts';
import type { DriftEntry } from '../../state/index.ts';
import { blindness } from './blindness.ts';

/** An entry keeps its `since` and its cause as long as the path differs. */
export function driftEntries(
  plan: Plan,
  previous: readonly DriftEntry[],
  now: string,
): readonly DriftEntry[] {
  if (blindness(plan)) return previous;
  return plan.differences
    .filter((difference) => difference.drift)
    .map((difference) => entryOf(difference, previous, now));
}

function entryOf(difference: Difference, previous: readonly DriftEntry[], now: string): DriftEntry {
  const { path, desired, observed } = difference;
  const before = previous.find((entry) => entry.path === path);
  const since = before?.since ?? now;
  const entry = { path, kind: kindOf(difference), desired, observed: shown(observed), since };
  const cause = difference.cause ?? before?.cause;
  return cause === undefined ? entry : { ...entry, cause };
}

const longest = { text: 1024, list: 100 } as const;

/** The API may show any value. This is the part of it that may be in a status. */
function shown(observed: unknown): unknown {
  if (typeof observed === 'string') return providerText(observed, [], longest.text);
  if (Array.isArray(observed)) return observed.slice(0, longest.list).map(shown);
  return observed;
}

/** Names for a whole thing. */
const wholes = new Set(['service', 'volume', 'template', 'registry']);

function kindOf({ path, revisionMoved }: Difference): DriftEntry['kind'] {
  if (revisionMoved) return 'RevisionMoved';
  return wholes.has(path) ? 'Missing' : 'Changed';
}
