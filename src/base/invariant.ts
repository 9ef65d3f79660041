/** Something that the code itself guarantees did not hold: a defect of Fleetkeeper, never the user's. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(`${message} (this is a defect of fleetkeeper; please report it)`);
}

/** For the default branch of a switch over a closed union. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}
