/** The server's end of `exec`: a WebSocket with the subprotocol `v4.channel.k8s.io`. Nothing is read of the client but its end. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CommandAnswer } from './node.ts';

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** The opcode of a frame that ends the connection. */
const closing = 8;
const protocol = 'v4.channel.k8s.io';

export function refuseExec(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

export function answerExec(incoming: IncomingMessage, socket: Duplex, answer: CommandAnswer): void {
  const key = String(incoming.headers['sec-websocket-key']);
  const accept = createHash('sha1').update(`${key}${magic}`).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: Upgrade'];
  head.push(`sec-websocket-accept: ${accept}`, `sec-websocket-protocol: ${protocol}`, '', '');
  socket.on('error', () => undefined);
  socket.write(head.join('\r\n'));
  socket.on('data', ([first = 0]: Buffer) => {
    if ((first & 0x0f) === closing) socket.end();
  });
  const send = (channel: number, text: string) =>
    socket.write(frameOf(2, Buffer.from(`${String.fromCharCode(channel)}${text}`)));
  for (let index = 0; index < (answer.stdout ?? '').length; index += 30_000) {
    send(1, (answer.stdout ?? '').slice(index, index + 30_000));
  }
  if (answer.stderr) send(2, answer.stderr);
  if (answer.endless) return;
  send(3, JSON.stringify(statusOf(answer)));
  socket.end(frameOf(closing, Buffer.from([0x03, 0xe8])));
}

function statusOf({ exitCode = 0, failure }: CommandAnswer): object {
  if (failure !== undefined)
    return { status: 'Failure', message: failure, reason: 'InternalError', code: 500 };
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : Buffer.from([0x80 | opcode, 126, length >> 8, length & 255]);
  return Buffer.concat([header, payload]);
}
