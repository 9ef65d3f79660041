/**
 * Seeds that violate an invariant today, and whose cause is not mended. The everyday run leaves them out; `npm run simulate` does not.
 * An entry goes with its fix, and its seed moves to regressions.ts.
 */
import type { PlaceName } from './script.ts';

interface OpenViolation {
  readonly seed: number;
  readonly place: PlaceName;
  readonly found: string;
}

export const openViolations: readonly OpenViolation[] = [
  {
    seed: 8,
    place: 'folder',
    found:
      'crowd fleets, plain: a task registers at a replica that is gone (404) without end, and its status asks no person (L6)',
  },
];
