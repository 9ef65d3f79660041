/**
 * Makes a failing script smaller while it still fails in the same way: no dialect, fewer kinds of faults, fewer actions, a shorter
 * turmoil. What is left is what a person has to understand.
 */
import { plain } from '../dialects/dialect.ts';
import { run, type RunOptions } from './world.ts';
import type { Script } from './script.ts';

/** A script is tried so often at most. */
const mostRuns = 150;

export async function shrink(failing: Script, options: RunOptions = {}): Promise<Script> {
  const invariant = (await run(failing, options)).violation?.invariant;
  const shrinker = new Shrinker(failing, async (script) => {
    const { violation } = await run(script, options);
    return violation?.invariant === invariant;
  });
  await shrinker.speakPlainly();
  await shrinker.leaveOutFaults();
  await shrinker.leaveOutActions();
  await shrinker.endEarlier();
  return shrinker.smallest;
}

class Shrinker {
  readonly #fails: (script: Script) => Promise<boolean>;
  #runs = 0;
  smallest: Script;

  constructor(failing: Script, fails: (script: Script) => Promise<boolean>) {
    this.smallest = failing;
    this.#fails = fails;
  }

  async speakPlainly(): Promise<void> {
    await this.#try({ ...this.smallest, dialect: plain.name });
  }

  async leaveOutFaults(): Promise<void> {
    for (const kind of this.smallest.faults.keys()) {
      const faults = new Map([...this.smallest.faults].filter(([other]) => other !== kind));
      const actions = this.smallest.actions.filter((action) => action.do !== kind);
      await this.#try({ ...this.smallest, faults, actions });
    }
  }

  /** Halves first, then quarters, down to single ones. */
  async leaveOutActions(): Promise<void> {
    let size = Math.ceil(this.smallest.actions.length / 2);
    while (size >= 1 && this.#isPatient()) {
      for (let from = 0; from < this.smallest.actions.length && this.#isPatient();) {
        const until = from + size;
        const actions = this.smallest.actions.filter((_, index) => index < from || index >= until);
        if (!(await this.#try({ ...this.smallest, actions }))) from = until;
      }
      size = Math.floor(size / 2);
    }
  }

  async endEarlier(): Promise<void> {
    for (const share of [0.25, 0.5, 0.75]) {
      const healAtMs = Math.ceil(this.smallest.healAtMs * share);
      const actions = this.smallest.actions.filter(({ atMs }) => atMs < healAtMs);
      if (await this.#try({ ...this.smallest, healAtMs, actions })) return;
    }
  }

  #isPatient(): boolean {
    return this.#runs < mostRuns;
  }

  async #try(script: Script): Promise<boolean> {
    if (!this.#isPatient()) return false;
    this.#runs += 1;
    if (!(await this.#fails(script))) return false;
    this.smallest = script;
    return true;
  }
}

/** All that is needed to understand it. */
export function describe({ seed, dialect, faults, slots, actions, healAtMs }: Script): string {
  const lines = actions.map(
    ({ atMs, do: deed, slot, seed: choice }) =>
      `  ${atMs} ${deed} ${slots[slot]?.kind}/${slots[slot]?.name} (${choice})`,
  );
  const kinds = [...faults].map(([kind, probability]) => `${kind} ${probability}`).join(', ');
  return [
    `seed ${seed} in the dialect ${dialect}, faults until ${healAtMs} ms: ${kinds || 'none'}`,
    ...lines,
  ].join('\n');
}
