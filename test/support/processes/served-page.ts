/** The page over a fleet in memory, for a browser. */
import { onTestFinished } from 'vitest';
import { pageFiles } from '../../../src/http/index.ts';
import type { FleetSource } from '../../../src/read-api/index.ts';
import { createPageServer, listen } from '../page-server.ts';

/** Until the test that asks for it is over. Returns its address, and the server on which it is. */
export async function servePage(source: FleetSource) {
  const server = createPageServer(source, pageFiles());
  onTestFinished(async () => {
    server.readApi.stop();
    await server.app.close();
  });
  return { url: await listen(server), server: server.app.server };
}
