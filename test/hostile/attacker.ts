/** The process of the attacker: attacks as it is told, one order after the other, and says what it was answered. */
import { constants, setPriority } from 'node:os';
import { attacks, statuses, type Target } from './attacks.ts';

// It would be on other machines: its own work is not to take the processor from the server.
setPriority(constants.priority.PRIORITY_LOW);

export interface Order {
  readonly target: Target;
  /** Of `attacks`; none: it is over. */
  readonly names: readonly string[];
}

let ending = new AbortController();

process.on('message', ({ target, names }: Order) => {
  ending.abort();
  ending = new AbortController();
  for (const name of names) void attacks[name]?.(target, ending.signal).catch(() => undefined);
  if (names.length === 0) process.send?.(Object.fromEntries(statuses), () => process.exit(0));
});
