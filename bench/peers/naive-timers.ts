/**
 * Heartbeats as one would write them in an afternoon: a timer for each task, and one queue for all requests, first come, first
 * served, at the account's rate. What fails is not repeated: the timer comes again. Started with its settings; is told how many services
 * to create through the same queue.
 */
import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';

export interface NaiveTimers {
  readonly url: string;
  readonly apiKey: string;
  readonly tasks: number;
  readonly tasksPerService: number;
  readonly requestsPerSecond: number;
}

const periodMs = 30_000;
const settings = JSON.parse(process.argv[2] ?? '') as NaiveTimers;
const queue = new PQueue({
  concurrency: 8,
  intervalCap: Math.ceil(settings.requestsPerSecond / 10),
  interval: 100,
});

function post(path: string, body: object): Promise<Response> {
  return queue.add(async () => {
    const response = await fetch(`${settings.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${settings.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    await response.bytes();
    return response;
  });
}

async function create(name: string): Promise<void> {
  await post('/api/services', {
    name,
    region: 'standard',
    image: 'app:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  });
}

async function serviceIds(): Promise<string[]> {
  const response = await fetch(`${settings.url}/api/account`, {
    headers: { authorization: `Bearer ${settings.apiKey}` },
  });
  const { services } = (await response.json()) as { services: { id: string }[] };
  return services.map(({ id }) => id);
}

/** Registers a task, and beats for it from then on. */
async function keep(serviceId: string): Promise<void> {
  const body = { id: randomUUID(), name: 'task', release: false };
  const heartbeat = () => post(`/api/services/${serviceId}/activity`, body);
  await heartbeat();
  setInterval(() => void heartbeat(), periodMs);
}

const { tasks, tasksPerService } = settings;
const serviceCount = Math.ceil(tasks / tasksPerService);
await Promise.all(Array.from({ length: serviceCount }, (_, index) => create(`service-${index}`)));
const ids = await serviceIds();
await Promise.all(Array.from({ length: tasks }, (_, index) => keep(ids[index % ids.length] ?? '')));
process.on('message', (services: number) => {
  for (let index = 0; index < services; index += 1) void create(`burst-${index}`);
});
process.send?.('ready');
