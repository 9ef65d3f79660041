/**
 * As much of a Kubernetes API as a cache needs, as a process of its own: pages of a list and one watch, made of texts that are
 * there beforehand, so that what is measured is the client. Started with the number of objects; tells its address, and then
 * writes what it is told (`Stream`).
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { watched, type Stream } from './cache-protocol.ts';
import { ObjectText, eventText } from './object-text.ts';

const firstVersion = 1_000_000;

const count = Number(process.argv[2]);
const texts = Array.from({ length: count }, (_, index) => new ObjectText(index));
const objects = texts.map((text) => Buffer.from(text.at('', firstVersion)));
const watches = new Set<ServerResponse>();
/** When each version after the first one was written. */
const stamps: string[] = [];
const newest = () => firstVersion + stamps.length;

function answerList(query: URLSearchParams, response: ServerResponse): void {
  const start = Number(query.get('continue') ?? 0);
  const end = Math.min(count, start + (Number(query.get('limit') ?? 0) || count));
  const next = end < count ? `,"continue":"${end}"` : '';
  const head = `{"kind":"${watched.kind}List","apiVersion":"${watched.apiVersion}","metadata":{"resourceVersion":"${newest()}"${next}},"items":[`;
  response.writeHead(200, { 'content-type': 'application/json' });
  const parts: Buffer[] = [Buffer.from(head)];
  for (let index = start; index < end; index += 1) {
    if (index > start) parts.push(Buffer.from(','));
    parts.push(objects[index] as Buffer);
  }
  parts.push(Buffer.from(']}'));
  response.end(Buffer.concat(parts));
}

function eventOf(version: number): string {
  const text = texts[version % count] as ObjectText;
  return eventText(text.at(stamps[version - firstVersion - 1] ?? '', version));
}

function writeEvent(): void {
  stamps.push(String(process.hrtime.bigint() / 1000n));
  const event = eventOf(newest());
  for (const response of watches) response.write(event);
}

function answerWatch(since: number, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (let version = since + 1; version <= newest(); version += 1) response.write(eventOf(version));
  watches.add(response);
  response.once('close', () => watches.delete(response));
}

async function write({ events, perSecond }: Stream): Promise<void> {
  while (watches.size === 0) await delay(1);
  const startedNs = process.hrtime.bigint();
  let written = 0;
  while (written < events) {
    const elapsedSeconds = Number(process.hrtime.bigint() - startedNs) / 1e9;
    const due = perSecond === undefined ? events : Math.min(events, elapsedSeconds * perSecond);
    for (; written < due; written += 1) writeEvent();
    if (written < events) await delay(1);
  }
}

const server = createServer((request, response) => {
  const query = new URL(request.url ?? '/', 'http://server').searchParams;
  if (query.get('watch') !== 'true') return answerList(query, response);
  answerWatch(Number(query.get('resourceVersion')), response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('message', (stream: Stream) => {
  void write(stream).then(() => process.send?.('written'));
});
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
