/** Seeds that have found something, by what they found. They are run each time. */
export const regressions: readonly (readonly [string, number])[] = [
  ['a disk without room ended the taking in of the source, or the process', 4],
  ['a release used a key again when its task had moved to another service', 19],
  ['what a service owns goes with it, and is not lost by a crash', 10041],
  [
    'after the wall clock was set back, a refusal for want of funds held back until that time had come again',
    10090,
  ],
];
