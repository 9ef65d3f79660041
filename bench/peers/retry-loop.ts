/**
 * Creates services as many tools do: so many at once, each sent again after any failure, with a key of its own each time, after a
 * backoff that doubles (from 0.5 s to 30 s, with jitter). `Retry-After` is not read, nor is it looked whether a request that got no
 * answer was carried out.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const parallelism = 10;
const firstMs = 500;
const longestMs = 30_000;

export async function createAll(url: string, apiKey: string, bodies: readonly object[]): Promise<void> {
  const waiting = [...bodies];
  const worker = async () => {
    for (let body = waiting.shift(); body; body = waiting.shift()) await create(url, apiKey, body);
  };
  await Promise.all(Array.from({ length: parallelism }, worker));
}

async function create(url: string, apiKey: string, body: object): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    if (await isCreated(url, apiKey, body)) return;
    await delay(Math.min(longestMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2));
  }
}

async function isCreated(url: string, apiKey: string, body: object): Promise<boolean> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  try {
    const response = await fetch(`${url}/api/services`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
