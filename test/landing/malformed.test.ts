import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { damagedTexts, hugeBodies, unneededBodies } from './malformed/damaged-text.ts';
import { endpointsFor, type Endpoint, type Ids, type Json } from './malformed/endpoints.ts';
import { exchange, type RawAnswer } from './malformed/raw-http.ts';
import { apiKey, bytesOf, malformed, type Malformed } from './malformed/requests.ts';
import { wrongBodies } from './malformed/wrong-bodies.ts';
import {
  notHttp,
  wrongHeaders,
  wrongMethods,
  wrongPaths,
  wrongQueries,
  wrongTargets,
} from './malformed/wrong-heads.ts';
import { temporaryFolder } from '../support/processes/processes.ts';
import { seed } from '../support/seed.ts';

const count = 10_000;
const warmUp = 2_000;
const atOnce = 16;
/** A leak of 130 bytes per request would exceed it. */
const heapGrowthBytes = 1024 * 1024;
const foreignKey = 'key-of-somebody-else';

test(`${count} malformed requests are all refused 4xx in the error form, and leave nothing behind (SEED=${seed})`, async () => {
  const { server, port } = await start();
  const call = caller(port, apiKey);
  const ids = await makeOneOfEach(call);
  const foreign = await makeOneOfEach(caller(port, foreignKey));
  const before = await everything(call, ids);
  const requests = requestsFor(endpointsFor(ids), ids, foreign);
  expect(await send(port, requests.slice(0, warmUp))).toEqual([]);
  const heapBefore = await heapBytes(server);
  expect(await send(port, requests.slice(warmUp))).toEqual([]);
  expect((await heapBytes(server)) - heapBefore).toBeLessThan(heapGrowthBytes);
  expect(await everything(call, ids)).toEqual(before);
  expect((await call('POST', '/api/volumes', volume)).id).toBeTypeOf('string');
  expect(server.stderr).toBe('');
});

async function start(): Promise<{ server: ServerProcess; port: number }> {
  const folder = await temporaryFolder();
  const accounts = path.join(folder, 'accounts.yaml');
  const account = (name: string, key: string) =>
    `{name: ${name}, email: ${name}@b.example, apiKeys: [${key}]}`;
  await writeFile(accounts, `accounts: [${account('a', apiKey)}, ${account('b', foreignKey)}]`);
  const probe = import.meta.resolve('../support/heap-probe.ts');
  const server = await ServerProcess.start({
    accounts,
    database: path.join(folder, 'control-plane.db'),
    environment: { NODE_OPTIONS: `--import=${probe}` },
    // Nothing changes by itself while the requests come in.
    flags: ['--time-scale', '0.001', '--rate-limit', 'none'],
  });
  onTestFinished(() => server.kill());
  return { server, port: Number(new URL(server.url).port) };
}

async function heapBytes(server: ServerProcess): Promise<number> {
  server.signal('SIGUSR2');
  return Number((await server.line(/^heap (\d+)$/))[1]);
}

type Call = (method: string, path: string, body?: Json) => Promise<Json>;

function caller(port: number, key: string): Call {
  return async (method, where, body) => {
    const headers = [['Authorization', `Bearer ${key}`]] as const;
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const [answer] = await exchange(port, { bytes: bytesOf({ method, path: where, headers, ...content }) });
    if (!answer || answer.status > 201) throw new Error(`${method} ${where}: ${JSON.stringify(answer)}`);
    return answer.headers.get('content-type')?.includes('json') ? JSON.parse(answer.body) : answer.body;
  };
}

const volume = { name: 'v', region: 'standard', sizeGb: 10 };

async function makeOneOfEach(call: Call): Promise<Ids> {
  const service = {
    name: 's',
    region: 'standard',
    image: 'nginx',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  };
  const registry = { repository: 'registry.example/app', username: 'u', password: 'p' };
  const made = [
    await call('POST', '/api/services', service),
    await call('POST', '/api/volumes', volume),
    await call('POST', '/api/templates', { name: 't', image: 'nginx' }),
    await call('POST', '/api/registries', registry),
  ].map(({ id }) => String(id));
  const [serviceId = '', volumeId = '', template = '', registryId = ''] = made;
  return { service: serviceId, volume: volumeId, template, registry: registryId };
}

/** Whatever a request could have changed. */
async function everything(call: Call, ids: Ids): Promise<Json> {
  const { services, volumes } = await call('GET', '/api/account');
  const rest = [
    'templates',
    'registries',
    `services/${ids.service}/events`,
    `services/${ids.service}/activity`,
  ];
  return [services, volumes, ...(await Promise.all(rest.map((one) => call('GET', `/api/${one}`))))];
}

/** Everything in the tables once, and random damage for the rest, in random order. */
function requestsFor(endpoints: readonly Endpoint[], ids: Ids, foreign: Ids): Malformed[] {
  const listed = [
    ...endpoints.flatMap((endpoint) =>
      wrongBodies(endpoint).map(({ what, text }) =>
        malformed(what, { method: endpoint.method, path: endpoint.path, body: text }),
      ),
    ),
    ...wrongTargets(endpoints, ids, foreign),
    ...wrongHeaders(endpoints),
    ...wrongMethods(ids),
    ...wrongPaths(ids),
    ...wrongQueries(ids),
    ...notHttp(),
    ...hugeBodies(endpoints),
    ...unneededBodies(),
  ];
  const random = fc.sample(damagedTexts(endpoints), { seed, numRuns: count - listed.length });
  const [shuffled = []] = fc.sample(fc.shuffledSubarray([...listed, ...random], { minLength: count }), {
    seed,
    numRuns: 1,
  });
  return shuffled;
}

/** Gives what was wrong about the answers. */
async function send(port: number, requests: readonly Malformed[]): Promise<string[]> {
  const queue = requests.values();
  const problems: string[] = [];
  const work = async () => {
    for (const request of queue) {
      const answers = await exchangeInTime(port, request);
      const problem = problemWith(request, answers);
      if (problem !== undefined) problems.push(`${request.what}\n${problem}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return problems;
}

/** Requests without valid credentials are limited for their address (429), whatever else is wrong: those go again later. */
async function exchangeInTime(port: number, request: Malformed): Promise<RawAnswer[] | string> {
  for (;;) {
    const answers = await exchange(port, request).catch((error: Error) => error.message);
    const limited = typeof answers !== 'string' && answers.find(({ status }) => status === 429);
    if (!limited) return answers;
    await setTimeout(1000 * Number(limited.headers.get('retry-after') ?? 'NaN'));
  }
}

const refusals = new Set([400, 401, 403, 404, 409]);

/** What is not as it must be about the answers. */
function problemWith(request: Malformed, answers: readonly RawAnswer[] | string): string | undefined {
  if (typeof answers === 'string') return answers;
  if (answers.length === 0 && !request.mayBeCut) return 'the connection was closed without an answer';
  for (const { status, headers, body } of answers) {
    if (!refusals.has(status)) return `it was answered ${status} ${body.slice(0, 500)}`;
    if (request.isHead) continue;
    if (!headers.get('content-type')?.startsWith('application/json')) return 'the answer is not JSON';
    const { error } = JSON.parse(body);
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return `no error form: ${body}`;
  }
  return undefined;
}
