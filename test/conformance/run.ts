/**
 * `npm run conformance -- --url URL --api-key KEY`: asks any server that claims the contract (CONTROL-API.md) for
 * every fact that the contract states, one test each. Exit 0: no fact is violated. What is made is removed again,
 * also after a failure or Ctrl-C.
 *
 * Not asked is what can't be seen from outside: what running operations have captured (§4 rule 5), what a stale
 * activity protects from (§4 rule 6), ID tokens (§5 rule 1: their header is not shown), which rights a key may lack
 * (§5 rule 6), the version label (§9 rule 1), and the duties of clients (§4 rules 7 and 8, §7 rule 4).
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { createVitest } from 'vitest/node';
import { Api } from './api.ts';
import { madeByRun, remove } from './removal.ts';
import { factsOf, tableOf, troublesOf } from './table.ts';
import type { Resources, Target } from './target.ts';

const removalTimeoutMs = 60_000;

interface Flags extends Omit<Target, 'runName' | 'timeoutMs'> {
  readonly timeout: number;
  readonly only?: string;
}

const program = new Command('npm run conformance --')
  .description('prove a server for the Container Compute Control API right or wrong, fact by fact')
  .requiredOption('--url <url>', 'where the server is, without /api', withoutSlash)
  .requiredOption('--api-key <key>', 'of an account with a verified email and some funds')
  .option('--timeout <seconds>', 'how long a state is waited for', positive, 300)
  .option('--region <name>', 'a region of the catalog', 'standard')
  .option('--geography <name>', 'a region group of that region')
  .option('--image <reference>', 'an image that runs there', 'docker.io/library/nginx:1.29')
  .option('--other-image <reference>', 'another one', 'docker.io/library/nginx:1.28')
  .option('--broken-image <reference>', 'one that ends in the state error')
  .option('--command <json>', 'the command to run in these images, ["WORD", ...]', json)
  .option('--http-port <port>', 'that these images listen on', positive, 80)
  .option('--resources <json>', 'of a service, {gpuCount, cpu, memoryGb}', json, size(1))
  .option('--other-resources <json>', 'to resize it to', json, size(2))
  .option('--other-api-key <key>', 'of another account')
  .option('--unverified-api-key <key>', 'of an account without a verified email')
  .option('--unverified-service <id>', 'a running service of that account; it is left paused')
  .option('--unverified-volume <id>', 'a volume of that account')
  .option('--unverified-registry <id>', 'a registry of that account')
  .option('--broke-api-key <key>', 'of an account without funds')
  .option(
    '--registry-spec <json>',
    'the create spec of a registry, with {repository} and {secret} in it',
    json,
  )
  .option('--exec-body <json>', 'the body of an exec request', json)
  .option('--fill-limits', 'make as many volumes, templates and registries as an account may have')
  .option('--idle-sleep', 'a service without traffic falls asleep here, a minute after it began to run')
  .option('--only <text>', 'only the facts whose name contains this, such as "§4 rule"')
  .option('--rate-limit-burst <requests>', 'send so many reads at once, to see a 429', positive);

const { timeout, only, ...flags } = program.parse().opts<Flags>();
const target: Target = {
  ...flags,
  timeoutMs: timeout * 1000,
  runName: `conformance-${randomBytes(4).toString('hex')}`,
};
await requireAnswer(target.url);
process.exitCode = (await run(target, only)) ? 0 : 1;

/** Whatever the answer is: a server that can't be reached is told at once, and not fact by fact. */
async function requireAnswer(url: string): Promise<void> {
  try {
    await new Api(url, undefined).callOnce('GET', '/api/catalog');
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    program.error(`can't reach ${url}: ${String(cause)}`);
  }
}

/** Whether everything was asked, nothing was violated, and nothing is left behind. */
async function run(where: Target, name = ''): Promise<boolean> {
  const vitest = await createVitest({
    config: false,
    name: 'conformance',
    root: path.resolve(import.meta.dirname, '../..'),
    include: ['test/conformance/*.test.ts'],
    testNamePattern: literally(name),
    watch: false,
    // In this process: a Ctrl-C of the terminal must not reach them before they have cleaned up.
    pool: 'threads',
    // One request after the other: the server may be somebody else's.
    fileParallelism: false,
    isolate: false,
    testTimeout: 5 * where.timeoutMs,
    hookTimeout: 2 * where.timeoutMs + removalTimeoutMs,
    reporters: [{}],
    provide: { target: where },
  });
  const troubles: string[] = [];
  const stop = () => {
    troubles.push('stopped before the end');
    void vitest.cancelCurrentRun('keyboard-input');
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Vitest's own listener ends the process, and would leave behind what was made.
    process.removeAllListeners(signal);
    process.once(signal, stop);
  }
  try {
    const { testModules, unhandledErrors } = await vitest.start();
    const facts = factsOf(testModules).filter((fact) => fact.name.includes(name));
    troubles.push(...troublesOf(testModules), ...unhandledErrors.map(String));
    process.stdout.write(`${tableOf(facts)}\n`);
    if (facts.length === 0) troubles.push(`there is no fact "${name}"`);
    if (facts.some(({ outcome }) => outcome === 'failed')) troubles.push('the contract is violated');
  } finally {
    await vitest.close();
    troubles.push(...(await sweep(where)));
  }
  if (troubles.length > 0) process.stderr.write(`\n${troubles.join('\n')}\n`);
  return troubles.length === 0;
}

/** Removes what a test that was cut short has left; answers with what it can't remove. */
async function sweep(where: Target): Promise<string[]> {
  const keys = [where.apiKey, where.otherApiKey, where.unverifiedApiKey, where.brokeApiKey];
  const left: string[] = [];
  for (const key of keys.filter((one) => one !== undefined)) {
    const api = new Api(where.url, key);
    try {
      left.push(...(await remove(api, await madeByRun(api, where.runName), removalTimeoutMs)));
    } catch (error) {
      left.push(`can't look for what is left: ${String(error)}`);
    }
  }
  return left;
}

function size(cpu: number): Resources {
  return { gpuCount: 0, cpu, memoryGb: cpu };
}

function literally(text: string): RegExp {
  return new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
}

function withoutSlash(url: string): string {
  if (!URL.canParse(url)) throw new InvalidArgumentError('must be a URL such as https://compute.example');
  return url.replace(/\/+$/, '');
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('must be a number above 0');
  return value;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('must be JSON');
  }
}
