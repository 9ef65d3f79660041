/** The load process: is told one load after the other, and tells the result of each. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import autocannon, { type Request } from 'autocannon';
import {
  apiKeyOf,
  connections,
  serviceSpec,
  type Created,
  type Load,
  type LoadResult,
  type Mix,
} from './world.ts';

/** Of each connection: its requests are these, over and over. */
const requestsInTurn = 250;
/** All that this process has created: what service reads choose from. */
const known: Created[] = [];

async function run(load: Load): Promise<LoadResult> {
  const created: Created[] = [];
  let [answered, failures] = [0, 0];
  const startedMs = performance.now();
  let endedMs = startedMs;
  const startedCpu = process.cpuUsage();
  const { latency, errors } = await autocannon({
    url: load.url,
    connections,
    setupClient: (client) => {
      client.setRequests(Array.from({ length: requestsInTurn }, () => nextRequest(load, created)));
      client.on('response', (status) => {
        endedMs = performance.now();
        answered += 1;
        if (status < 200 || status > 299) failures += 1;
      });
    },
    ...('requests' in load.length ? { amount: load.length.requests } : { duration: load.length.seconds }),
    ...(load.untilKilled && { bailout: 1 }),
  });
  known.push(...created);
  const { user, system } = process.cpuUsage(startedCpu);
  return {
    seconds: (endedMs - startedMs) / 1000,
    reads: answered - failures - created.length,
    created,
    failures: failures + (load.untilKilled ? 0 : errors),
    medianMs: latency.p50,
    p99Ms: latency.p99,
    cpuSeconds: (user + system) / 1e6,
  };
}

/** Reads are built once, so that they cost little here; a create has a key of its own each time. */
function nextRequest({ mix, accounts }: Load, created: Created[]): Request {
  const kind = kindOf(mix);
  if (kind === 'accountReads') return read('/api/account', oneOf(accounts));
  if (kind === 'serviceReads') {
    const { account, id } = oneOf(known);
    return read(`/api/services/${id}`, account);
  }
  const account = oneOf(accounts);
  return {
    method: 'POST',
    path: '/api/services',
    body: JSON.stringify(serviceSpec),
    headers: { ...authorization(account), 'content-type': 'application/json' },
    setupRequest: (request) => ({
      ...request,
      headers: { ...request.headers, 'idempotency-key': randomUUID() },
    }),
    onResponse: (status, body) => {
      if (status === 201) created.push({ account, id: (JSON.parse(body) as { id: string }).id });
    },
  };
}

function read(path: string, account: number): Request {
  return { method: 'GET', path, headers: authorization(account) };
}

function authorization(account: number): Record<string, string> {
  return { authorization: `Bearer ${apiKeyOf(account)}` };
}

function kindOf({ accountReads, serviceReads, creates }: Mix): keyof Mix {
  const drawn = Math.random() * (accountReads + serviceReads + creates);
  if (drawn < accountReads) return 'accountReads';
  return drawn < accountReads + serviceReads ? 'serviceReads' : 'creates';
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item;
}

process.on('message', (load: Load) => {
  void run(load).then((result) => process.send?.(result));
});
