/**
 * Runs the tests of rules.ts, each in a project of its own in which its rule is broken, and prints one line of JSON for each: what became
 * of the test. The source on the disk stays as it is.
 */
import path from 'node:path';
import { startVitest, type TestCase, type TestModule, type TestProject } from 'vitest/node';
import { brokenRules, type BrokenRule } from './rules.ts';

/** Of one rule: what failed, by the names of the tests, and what else there is to tell. */
export interface Outcome {
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  /** Why a test file could not be run at all. */
  readonly problems: readonly string[];
}

const root = path.join(import.meta.dirname, '../..');

function broken({ file, line, becomes }: BrokenRule) {
  const source = path.join(root, 'src', file);
  return {
    name: 'break one rule',
    enforce: 'pre' as const,
    transform: (code: string, id: string) =>
      id === source ? { code: code.replace(line, () => becomes), map: null } : undefined,
  };
}

const outcomes = brokenRules.map(() => ({
  failed: [] as string[],
  passed: [] as string[],
  problems: [] as string[],
}));

const of = ({ name }: TestProject) => outcomes[Number(name)];

const reporter = {
  onTestCaseResult(test: TestCase) {
    const { state } = test.result();
    if (state === 'failed' || state === 'passed') of(test.project)?.[state].push(test.fullName);
  },
  onTestModuleEnd(module: TestModule) {
    of(module.project)?.problems.push(...module.errors().map(({ message }) => message));
  },
};

await startVitest(
  'test',
  [],
  { config: false, root, watch: false, reporters: [reporter] },
  {
    test: {
      // A module is kept there by its name, broken or not.
      fsModuleCache: false,
      projects: brokenRules.map((rule, index) => ({
        root,
        plugins: [broken(rule)],
        test: {
          name: String(index),
          include: [`test/${rule.test}.test.ts`],
          isolate: true,
          env: rule.test.startsWith('fleet/') ? { FLEETKEEPER_TEST_WORLD: 'simulated' } : {},
          maxWorkers: 2,
          testTimeout: 20_000,
        },
      })),
    },
  },
);
// That tests fail is what is asked for.
process.exitCode = 0;
process.stdout.write(`${JSON.stringify(outcomes satisfies Outcome[])}\n`);
