import type { StepGuard } from '../../engine/index.ts';

/** Nothing passes that one of them refuses. */
export function firstRefusal(...given: readonly (StepGuard | undefined)[]): StepGuard {
  const guards = given.filter((guard) => guard !== undefined);
  return {
    refusesStep: (step) => firstOf(guards, (guard) => guard.refusesStep(step)),
    refusesRoster: (key, roster) => firstOf(guards, (guard) => guard.refusesRoster(key, roster)),
  };
}

function firstOf(
  guards: readonly StepGuard[],
  ask: (guard: StepGuard) => string | undefined,
): string | undefined {
  for (const guard of guards) {
    const refused = ask(guard);
    if (refused !== undefined) return refused;
  }
  return undefined;
}
