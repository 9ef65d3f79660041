/** A port on which nobody speaks HTTP. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What connects is in the hands of `onConnection`; gives the port, and what was received on it. */
export async function listen(onConnection: (socket: Socket) => void) {
  const listener = { port: 0, connections: 0, received: Buffer.alloc(0) };
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    listener.connections += 1;
    open.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    socket.on('data', (part: Buffer) => (listener.received = Buffer.concat([listener.received, part])));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  listener.port = (server.address() as AddressInfo).port;
  return listener;
}
