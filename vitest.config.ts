import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Real containers take longest, and can't be divided among workers: they come first. Then the large files. */
class ContainersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { first = [], then = [] } = Object.groupBy(sorted, ({ moduleId }) =>
      moduleId.endsWith('docker.test.ts') ? 'first' : 'then',
    );
    return [...first, ...then];
  }
}

/** What is said of fleets wherever they are declared (test/e2e/support/fleet.ts). */
const ofFleets =
  'test/e2e/{account,bad-input,drift-plan,faults,fresh-reads,gates,import,life,quiet,races,resolve,shared-kinds,tasks,tending,trouble}.test.ts';

/** A whole life of a fleet for each dialect: half a minute together. */
const ofDialects = ['test/dialects/{life,http}.test.ts'];

/** What opens sockets, starts processes, or reads thousands of hostile texts. */
const ofServers = [
  'test/{api,control-plane,execute,kubernetes,kubernetes-server}/**/*.test.ts',
  'test/base/{foreign-text,signals}.test.ts',
  'test/cli/service-commands.test.ts',
  'test/desired/{cluster-over-http,file-source,hostile-text}.test.ts',
  'test/manifests/monitoring.test.ts',
  'test/state/{crash,lock}.test.ts',
];

const inProcess = {
  testTimeout: 10_000,
  // Files share nothing that they change; loading the libraries anew for each would take longer than the tests.
  isolate: false,
  maxWorkers: 2,
};

const e2e = {
  globalSetup: ['test/e2e/support/build.ts', 'test/e2e/support/kubebuilder.ts'],
  testTimeout: 120_000,
  hookTimeout: 60_000,
  isolate: false,
  // Most of the time they wait for processes, containers and clocks.
  maxWorkers: 4,
  sequence: { groupOrder: 2 },
};

const simulated = {
  // Most of what is made is garbage soon after; it is not to be copied until then.
  execArgv: ['--max-semi-space-size=64'],
  sequence: { groupOrder: 3 },
};

/**
 * First `unit` (pure code, under 15 s), `servers` (single parts behind real sockets) and `dialects` (a fleet's life with each reading of the contract), then `e2e` (real processes, real sockets, real folders) and
 * `e2e-kubernetes` (the same tests with the fleets in a cluster), last `simulation` and `mutants`, which only compute. Another one, `conformance`, needs a server to be pointed at, and is
 * started by test/conformance/run.ts.
 */
export default defineConfig({
  test: {
    reporters: ['default'],
    sequence: { sequencer: ContainersFirst },
    projects: [
      {
        test: {
          ...inProcess,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/e2e/**',
            'test/conformance/**',
            'test/simulation/**',
            'test/mutants/rules.test.ts',
            ...ofDialects,
            ...ofServers,
          ],
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...inProcess, name: 'servers', include: ofServers, sequence: { groupOrder: 1 } } },
      { test: { ...inProcess, name: 'dialects', include: ofDialects, sequence: { groupOrder: 1 } } },
      // SIMULATION_SECONDS for each place, and what was found before.
      {
        test: {
          ...simulated,
          name: 'simulation',
          include: ['test/simulation/{simulation,regressions}.test.ts'],
        },
      },
      // Whether the simulation finds each broken rule, and the test of a rule that it fails.
      {
        test: {
          ...simulated,
          name: 'mutants',
          include: ['test/simulation/mutants.test.ts', 'test/mutants/rules.test.ts'],
        },
      },
      { test: { ...e2e, name: 'e2e', include: ['test/e2e/**/*.test.ts'] } },
      {
        test: {
          ...e2e,
          name: 'e2e-kubernetes',
          include: [ofFleets],
          env: { FLEETKEEPER_TEST_SOURCE: 'kubernetes' },
        },
      },
    ],
  },
});
