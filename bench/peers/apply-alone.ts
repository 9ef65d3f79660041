/**
 * What no `apply` in Node can do without, on one thread: the YAML library parses each document of the folder `process.argv[2]`; each service is
 * created by one request, before which the intent to send it is durable, as its outcome is afterwards; and one read shows them all. Nothing is
 * checked, planned, compared, bounded or reported, and what fails ends the process.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { parseAllDocuments } from 'yaml';

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

const [folder = '', state = '', url = '', apiKey = ''] = process.argv.slice(2);
/** As B9 gives the account. */
const requestsAtOnce = 64;
/** As src/desired/yaml.ts has them. */
const options = { prettyErrors: false, uniqueKeys: false, resolveKnownTags: false, schema: 'core' } as const;

const services = readdirSync(folder)
  .flatMap((file) => parseAllDocuments(readFileSync(path.join(folder, file), 'utf8'), options))
  .map((document) => document.toJS() as Service)
  .filter(({ kind }) => kind === 'ContainerService');

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

/** Again while the provider's own limit refuses it. */
async function post(body: string, idempotencyKey: string): Promise<object> {
  for (;;) {
    const response = await request(`${url}/api/services`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body,
      dispatcher,
    });
    const answer = (await response.body.json()) as object;
    if (response.statusCode < 300) return answer;
    if (response.statusCode !== 429) throw new Error(`${response.statusCode} ${JSON.stringify(answer)}`);
    await delay(Number(response.headers['retry-after']) * 1000);
  }
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
  const answer = await post(body, idempotencyKey);
  await durable(name, { spec, intent: idempotencyKey, outcome: answer });
}

let next = 0;
async function createSome(): Promise<void> {
  for (let service = services[next++]; service; service = services[next++]) await create(service);
}
await Promise.all(Array.from({ length: requestsAtOnce }, createSome));
const account = await request(`${url}/api/account`, { headers: { authorization }, dispatcher });
const { services: shown } = (await account.body.json()) as { services: unknown[] };
if (shown.length !== services.length) throw new Error(`${shown.length} of ${services.length} are there`);
await dispatcher.close();
database.close();
