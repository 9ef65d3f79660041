/** Seeds that have found something, by what they found. They are run each time. */
export const regressions: readonly (readonly [string, number])[] = [
  ['a release used a key again when its task moved to another service', 19],
  ['the same, in another order', 28],
  ['a status was of a generation that had not been planned for', 84],
  ['a disk without room ended the taking in of the source for good', 4],
];
