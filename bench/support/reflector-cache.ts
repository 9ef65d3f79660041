/** A process with the cache of the operator: the reflector of `src/kubernetes`. */
import pino from 'pino';
import { Sensitive, systemClock, systemRandom } from '../../src/base/index.ts';
import { createClient } from '../../src/kubernetes/client.ts';
import { Reflector } from '../../src/kubernetes/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { serveCache, watched } from './cache-protocol.ts';

serveCache(async (server, onChange) => {
  const metrics = createMetrics();
  const credentials = {
    headers: new Sensitive({}),
    tls: new Sensitive({ rejectUnauthorized: true }),
  };
  const access = {
    server,
    description: 'the API of the benchmark',
    namespace: 'default',
    proxy: undefined,
    credentials: () => Promise.resolve(credentials),
    refused: () => {},
  };
  const api = createClient({ access, clock: systemClock, metrics });
  const reflector = new Reflector({
    api,
    type: watched,
    onChange: ({ object }) => onChange(object),
    clock: systemClock,
    random: systemRandom,
    logger: pino({ level: 'warn' }),
    metrics,
  });
  reflector.start();
  await reflector.whenSynced();
});
