/**
 * The tiers of tests. A test names no tier: its folder does.
 *
 * | tier                   | command            | folders of test/                                                                  |
 * |------------------------|--------------------|-----------------------------------------------------------------------------------|
 * | everyday               | `npm test`         | unit, page, servers, dialects, processes, simulation, mutants; fleet, simulated   |
 * | before a change lands  | `npm run test:all` | landing; fleet once more, on real processes, in a folder and in a cluster         |
 * | by hand, per release   | see CONTRIBUTING   | `npm run simulate`, `npm run bench`, `npm run soak`, `npm run hostile`            |
 *
 * `npm run test:all` runs what `npm test` does not. test/conformance needs a server to be pointed at; its run.ts starts it.
 */
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * What takes longest comes first, so that at the end no core waits for another one: real containers, which cannot be divided among workers, then
 * the projects in this order, each with its large files first. A worker goes on with files of its project only.
 */
const longestFirst = [
  'simulation',
  'mutants',
  'dialects',
  'fleet:cluster',
  'fleet',
  'processes',
  'servers',
  'unit',
  'page',
];

/** They wait for half a minute and more: begun last, they would leave a core without work at the end. */
const longest = /\/(docker|processes\/(life|command-line))\.test\.ts$/;

const rank = ({ moduleId, project }: TestSpecification) =>
  longest.test(moduleId) ? -2 : longestFirst.indexOf(project.name);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => rank(left) - rank(right));
  }
}

/**
 * Node loads tests and what they test by itself, types taken out, as it runs the product. The module runner of Vite asks the main process for
 * each import: a simulated fleet would wait for that as long as the machine likes, and a file that it loads here and there is there twice.
 */
const native = { viteModuleRunner: false, nodeLoader: false } as const;

const filesOf = (folder: string) => [`test/${folder}/**/*.test.ts`];

/** Only what hangs takes so long, also on a machine that does much else. */
const hangsMs = 120_000;

/** On two cores, so that both are busy while one of them waits for processes, sockets and clocks. */
const everydayWorkers = 3;

/** Each worker would compile the same files anew. */
const setupFiles = ['test/support/compile-cache.ts'];

/** Most of what simulated worlds and their answers allocate is garbage soon after: it is not to be copied until then. */
const execArgv = ['--max-semi-space-size=64'];

const inProcess = {
  setupFiles,
  execArgv,
  testTimeout: hangsMs,
  // Files share nothing that they change; loading the libraries anew for each would take longer than the tests.
  isolate: false,
  maxWorkers: everydayWorkers,
  hookTimeout: hangsMs,
  // One second unless given; a busy machine takes longer.
  expect: { poll: { timeout: hangsMs / 2 } },
};

/** They change methods of the product while they run. */
const simulating = { ...inProcess, isolate: true };

const withProcesses = {
  setupFiles,
  globalSetup: ['test/support/processes/build.ts', 'test/support/processes/kubebuilder.ts'],
  testTimeout: hangsMs,
  hookTimeout: 60_000,
  expect: inProcess.expect,
  isolate: false,
  // Most of the time they wait for processes, containers and clocks.
  maxWorkers: 4,
  sequence: { groupOrder: 1 },
};

export default defineConfig({
  test: {
    experimental: native,
    reporters: ['default'],
    sequence: { sequencer: LongestFirst },
    projects: [
      // Pure code: seconds.
      { test: { ...inProcess, name: 'unit', include: filesOf('unit') } },
      // Views of the page, in a document without a browser: lit-html takes the one it finds.
      { test: { ...inProcess, isolate: true, name: 'page', include: filesOf('page') } },
      // What opens sockets, starts small processes, or reads thousands of hostile texts.
      { test: { ...inProcess, name: 'servers', include: filesOf('servers') } },
      // A whole life of a fleet for each reading of the contract: half a minute together.
      { test: { ...inProcess, name: 'dialects', include: filesOf('dialects') } },
      // Fleets in one process, on a simulated clock and network (test/support/world.ts): in a folder, and in a cluster.
      {
        test: {
          ...inProcess,
          name: 'fleet',
          include: filesOf('fleet'),
          env: { FLEETKEEPER_TEST_WORLD: 'simulated' },
        },
      },
      {
        test: {
          ...inProcess,
          name: 'fleet:cluster',
          include: filesOf('fleet'),
          // In a cluster it takes twenty seconds. `landing:cluster` has it.
          exclude: ['test/fleet/fleets-at-scale.test.ts'],
          env: { FLEETKEEPER_TEST_WORLD: 'simulated', FLEETKEEPER_TEST_SOURCE: 'kubernetes' },
        },
      },
      // A few seeds, and what was found before.
      { test: { ...simulating, name: 'simulation', include: filesOf('simulation') } },
      // Whether each broken rule is found, where a seed is known that finds it.
      { test: { ...simulating, name: 'mutants', include: filesOf('mutants') } },
      {
        test: {
          ...withProcesses,
          name: 'processes',
          include: filesOf('processes'),
          // Beside the others: they wait most of the time.
          maxWorkers: everydayWorkers,
          sequence: {},
        },
      },
      {
        test: {
          ...withProcesses,
          name: 'landing',
          include: filesOf('landing'),
          exclude: filesOf('landing/page'),
        },
      },
      // By itself: Chromium aborts what it loads (`ERR_NETWORK_CHANGED`) when the tests of containers make and remove networks.
      {
        test: {
          ...withProcesses,
          name: 'landing:page',
          include: filesOf('landing/page'),
          maxWorkers: everydayWorkers,
          sequence: { groupOrder: 2 },
        },
      },
      // The tests of `fleet`, on real processes: in a folder and in a cluster (test/support/processes/fleet.ts).
      { test: { ...withProcesses, name: 'landing:folder', include: filesOf('fleet') } },
      {
        test: {
          ...withProcesses,
          name: 'landing:cluster',
          include: filesOf('fleet'),
          env: { FLEETKEEPER_TEST_SOURCE: 'kubernetes' },
        },
      },
    ],
  },
});
