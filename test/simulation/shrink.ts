/**
 * Makes a failing script smaller while it still fails in the same way: fewer kinds of faults, fewer actions, a shorter
 * turmoil. What is left is what a person has to understand.
 */
import { run, type RunOptions } from './world.ts';
import type { Script } from './script.ts';

/** A script is tried so often at most. */
const mostRuns = 150;

export async function shrink(failing: Script, options: RunOptions = {}): Promise<Script> {
  const invariant = (await run(failing, options)).violation?.invariant;
  let smallest = failing;
  let runs = 0;
  const attempt = async (script: Script): Promise<boolean> => {
    runs += 1;
    if (runs > mostRuns || (await run(script, options)).violation?.invariant !== invariant) return false;
    smallest = script;
    return true;
  };
  for (const kind of failing.faults.keys()) {
    const faults = new Map([...smallest.faults].filter(([other]) => other !== kind));
    await attempt({ ...smallest, faults, actions: smallest.actions.filter((action) => action.do !== kind) });
  }
  for (
    let size = Math.ceil(smallest.actions.length / 2);
    size >= 1 && runs < mostRuns;
    size = Math.floor(size / 2)
  ) {
    let from = 0;
    while (from < smallest.actions.length && runs < mostRuns) {
      const { actions } = smallest;
      const isLeftOut = await attempt({
        ...smallest,
        actions: actions.filter((_, index) => index < from || index >= from + size),
      });
      if (!isLeftOut) from += size;
    }
  }
  for (const share of [0.25, 0.5, 0.75]) {
    const healAtMs = Math.ceil(smallest.healAtMs * share);
    if (
      await attempt({
        ...smallest,
        healAtMs,
        actions: smallest.actions.filter(({ atMs }) => atMs < healAtMs),
      })
    )
      break;
  }
  return smallest;
}

/** All that is needed to see it again. */
export function describe({ seed, faults, slots, actions, healAtMs }: Script): string {
  const lines = actions.map(
    ({ atMs, do: deed, slot, seed: choice }) =>
      `  ${atMs} ${deed} ${slots[slot]?.kind}/${slots[slot]?.name} (${choice})`,
  );
  const kinds = [...faults].map(([kind, probability]) => `${kind} ${probability}`).join(', ');
  return [`seed ${seed}, faults until ${healAtMs} ms: ${kinds || 'none'}`, ...lines].join('\n');
}
