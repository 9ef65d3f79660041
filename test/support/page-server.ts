/** The read API and the page of a fleet in memory, open to everybody, on a server that does not listen yet. */
import type { AddressInfo } from 'node:net';
import { systemClock, systemRandom } from '../../src/base/index.ts';
import { createHealthServer } from '../../src/http/index.ts';
import { withReadApi, type HealthLimits } from '../../src/http/limits.ts';
import { open } from '../../src/read-api/access/access.ts';
import { hostRule } from '../../src/read-api/access/hosts.ts';
import type { FleetSource } from '../../src/read-api/index.ts';
import { ReadApi } from '../../src/read-api/read-api.ts';
import type { StaticFiles } from '../../src/read-api/static-files.ts';

/** It listens on a free port of loopback; returns its address. */
export async function listen({ app }: Pick<ReturnType<typeof createPageServer>, 'app'>): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** A defect of the API is thrown. */
export function createPageServer(
  source: FleetSource,
  files: StaticFiles,
  limits: HealthLimits = withReadApi,
) {
  const readApi = new ReadApi({
    source,
    access: open,
    hosts: hostRule('127.0.0.1', []),
    clock: systemClock,
    process: 'p1',
    random: systemRandom,
    files,
    metrics: {
      request: () => undefined,
      streams: () => undefined,
      reset: () => undefined,
      denied: () => undefined,
    },
    onDefect: (error) => {
      throw error;
    },
  });
  const view = {
    live: () => [],
    ready: () => [],
    metrics: async () => '',
    endpoints: () => 'unknown' as const,
  };
  return { readApi, app: createHealthServer(view, systemClock, { readApi, limits }) };
}
