/** What is expected of each run. */
import type { Script } from './script.ts';
import { describe } from './shrink.ts';
import { run, type Result, type RunOptions } from './world.ts';

/** Of one run. */
export const longestRunMs = 300_000;

export async function expectNoViolation(script: Script, options: RunOptions = {}): Promise<Result> {
  const result = await run(script, options);
  const { violation } = result;
  if (violation) throw new Error(`${violation.invariant}: ${violation.message}\n${describe(script)}`);
  return result;
}
