import { defineConfig } from 'vitest/config';

/**
 * Two projects: `unit` (pure code and in-process servers, under 15 s together) and `e2e`
 * (real processes, real sockets, real folders). The third, `conformance`, needs a server to be pointed at, and is
 * started by test/conformance/run.ts.
 */
export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/conformance/**'],
          testTimeout: 10_000,
          // Files share nothing that they change; loading the libraries anew for each would take longer than the tests.
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: 'test/e2e/support/build.ts',
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
