/** The server process: started with its settings as an argument; tells its address, and its usage when asked. */
import { flushCompileCache } from 'node:module';
import fastify from 'fastify';
import pino from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { systemHeap } from '../../src/base/heap.ts';
import { systemEventLoop, type EventLoop } from '../../src/base/process.ts';
import { systemRandom } from '../../src/base/random.ts';
import { defaultConfig, heapGrowthPercent, startControlPlane } from '../../src/control-plane/main.ts';
import { accountCount, apiKeyOf, type ServerSettings, type Usage } from './world.ts';

const listen = { host: '127.0.0.1', port: 0 };
/** As long as the body of an account with 20 services. */
const bareBody = Buffer.alloc(12_000, 'x');

const commitAtOnce: EventLoop = { ...systemEventLoop, endOfTurn: (run) => queueMicrotask(run) };

async function startServer({ variant, database }: ServerSettings): Promise<string> {
  if (variant === 'bare HTTP') return startBare();
  const accounts = Array.from({ length: accountCount }, (_, account) => ({
    name: `account-${account}`,
    email: `account-${account}@example.com`,
    emailVerified: true,
    balanceMicros: 1_000_000_000_000,
    apiKeys: [apiKeyOf(account)],
  }));
  // As `fleetkeeper control-plane` does.
  systemHeap.setGrowth(heapGrowthPercent);
  const { url } = await startControlPlane({
    listen,
    database,
    accounts: { accounts },
    config: {
      ...defaultConfig,
      quota: {
        ...defaultConfig.quota,
        services: 1e6,
        storedBytes: 1e9,
        keptAnswers: 1e6,
        keptAnswerBytes: 1e9,
      },
    },
    clock: systemClock,
    random: systemRandom,
    rateLimitPerSecond: null,
    traffic: { answerBytesPerSecond: 1e12 },
    eventLoop: variant === 'control plane' ? systemEventLoop : commitAtOnce,
    logger: pino({ level: 'warn' }),
  });
  return url;
}

async function startBare(): Promise<string> {
  const app = fastify();
  app.get('/api/account', (_request, reply) => reply.type('application/json').send(bareBody));
  app.post('/api/services', (_request, reply) => reply.code(201).send({ id: 'none' }));
  return app.listen(listen);
}

function usage(): Usage {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return {
    memoryBytes: process.memoryUsage.rss(),
    peakBytes: maxRSS * 1024,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
  };
}

process.on('message', (wanted) => {
  if (wanted === 'alive') systemHeap.collect();
  process.send?.(usage());
});
const url = await startServer(JSON.parse(process.argv[2] ?? '') as ServerSettings);
// It is ended with kill -9.
flushCompileCache();
process.send?.(url);
