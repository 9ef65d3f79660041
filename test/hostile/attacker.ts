/**
 * The process of the attacker: attacks as it is told, one order after the other. Says of each order when it is well under way, and
 * in the end what it was answered.
 */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { attacks } from './attacks.ts';
import { answered, statuses, type Target } from './client.ts';
import { podAttacks } from './pod-attacks.ts';

// It would be on other machines: its own work is not to take the processor from the server.
setPriority(constants.priority.PRIORITY_LOW);

export interface Order {
  readonly target: Target;
  /** Of `attacks` and `podAttacks`; none: it is over. */
  readonly names: readonly string[];
}

/** Said to the parent. */
const underWay = 'under way';
/** Enough that each lane of an attack has been answered. */
const answersUnderWay = 20;

const all = { ...attacks, ...podAttacks };
let ending = new AbortController();

process.on('message', ({ target, names }: Order) => {
  ending.abort();
  ending = new AbortController();
  for (const name of names) void all[name]?.(target, ending.signal).catch(() => undefined);
  if (names.length > 0) void tellWhenUnderWay(ending.signal).catch(() => undefined);
  else process.send?.(Object.fromEntries(statuses), () => process.exit(0));
});

async function tellWhenUnderWay(signal: AbortSignal): Promise<void> {
  for (let answers = 0; answers < answersUnderWay; answers += 1) await once(answered, 'answer', { signal });
  process.send?.(underWay);
}
