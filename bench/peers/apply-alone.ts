/**
 * What an `apply` on one thread of Node has to do: the YAML library parses each document of a folder; each service is created by one request,
 * before which the intent to send it is durable, as its outcome is afterwards; and one read shows them all. Nothing is checked, planned, compared,
 * bounded or reported. All services go into one account, which had none. What fails ends the process.
 *
 *     apply-alone.ts FOLDER DATABASE URL API-KEY SERVICES REQUESTS-AT-ONCE
 *
 * DATABASE is made anew, and SERVICES is how many there have to be.
 */
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Agent, request } from 'undici';
import { documentsOf } from './documents.ts';

interface Service {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly region: string;
    readonly image: string;
    readonly resources: { readonly cpu: number; readonly memoryGb: number };
    readonly httpPort: number;
    readonly env: readonly { readonly name: string; readonly value: string }[];
  };
}

const [folder, state, url, apiKey, ...numbers] = process.argv.slice(2);
const [expected, requestsAtOnce] = numbers.map(Number);
if (!folder || !state || !url || !apiKey || expected === undefined || !requestsAtOnce) {
  throw new Error('an argument is missing');
}
const services = documentsOf(folder)
  .map((document) => document as Service)
  .filter(({ kind }) => kind === 'ContainerService');
requireAll(services, 'documents of services');

function requireAll(found: readonly unknown[], what: string): void {
  if (found.length !== expected) throw new Error(`${found.length} ${what} instead of ${expected}`);
}

const database = new DatabaseSync(state);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
database.exec('CREATE TABLE records (name TEXT PRIMARY KEY, record TEXT NOT NULL)');
const save = database.prepare('INSERT OR REPLACE INTO records VALUES (?, ?)');
let group: Promise<void> | undefined;

/** What one turn of the event loop brings is one commit, as in src/base/unit-of-work.ts. */
function durable(name: string, record: object): Promise<void> {
  if (!group) {
    database.exec('BEGIN IMMEDIATE');
    group = new Promise((resolve) => {
      setImmediate(() => {
        group = undefined;
        database.exec('COMMIT');
        resolve();
      });
    });
  }
  save.run(name, JSON.stringify(record));
  return group;
}

const dispatcher = new Agent({ connections: requestsAtOnce, pipelining: 1 });
const authorization = `Bearer ${apiKey}`;

interface Answer {
  readonly services?: readonly unknown[];
}

async function ask(where: string, post?: { readonly body: string; readonly key: string }): Promise<Answer> {
  const response = await request(`${url}${where}`, {
    dispatcher,
    ...(post
      ? {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json', 'idempotency-key': post.key },
          body: post.body,
        }
      : { method: 'GET', headers: { authorization } }),
  });
  const answer = (await response.body.json()) as Answer;
  if (response.statusCode < 300) return answer;
  throw new Error(`${where}: ${response.statusCode} ${JSON.stringify(answer)}`);
}

async function create({ metadata: { name }, spec }: Service): Promise<void> {
  const idempotencyKey = randomUUID();
  await durable(name, { spec, intent: idempotencyKey });
  const { region, image, resources, httpPort, env } = spec;
  const environment = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
  const body = JSON.stringify({
    name,
    region,
    image,
    resources: { gpuCount: 0, ...resources },
    httpPort,
    environment,
  });
  const answer = await ask('/api/services', { body, key: idempotencyKey });
  await durable(name, { spec, intent: idempotencyKey, outcome: answer });
}

let next = 0;
async function createSome(): Promise<void> {
  for (let service = services[next++]; service; service = services[next++]) await create(service);
}
await Promise.all(Array.from({ length: requestsAtOnce }, createSome));
const account = await ask('/api/account');
requireAll(account.services ?? [], 'services in the account');
await dispatcher.close();
database.close();
