/** The provider of scale-provider.ts over HTTP. It sends its address when it serves, and its heartbeats for each message. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ScaleProvider, type Heartbeats } from './scale-provider.ts';

const provider = new ScaleProvider(JSON.parse(process.argv[2] ?? '{}'));
const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  response.setHeader('content-type', 'application/json');
  response.end(provider.answer(request.url ?? '', request.headers.authorization, body));
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.on('message', () => {
  const { activities, lateMs }: Heartbeats = provider.heartbeats;
  process.send?.({ activities, lateMs });
});
