/**
 * A request of a browser session, passed on to what its service answers at, and nowhere else: the address is the runtime's, and the client
 * gives only path, query, headers and body.
 *
 * All sessions have one origin, and a tenant's page must not reach another session in the same browser. So each answer is sandboxed: its
 * scripts run in an origin of their own, without cookies and storage. What they read is the session itself, by its address.
 */
import {
  request as send,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
  /** Of the session, such as `/s/TOKEN`. */
  readonly prefix: string;
  /** What follows it, with the query. */
  readonly path: string;
}

/** Until the service begins to answer. */
const answerMs = 30_000;

const ofConnection = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** They name the session, or are of the origin that all sessions have. */
const keptFromService = new Set([...ofConnection, 'host', 'cookie', 'origin', 'referer', 'expect']);
/** They are for the whole origin, or would undo the sandbox. */
const keptFromBrowser = new Set([
  ...ofConnection,
  'set-cookie',
  'clear-site-data',
  'service-worker-allowed',
  'strict-transport-security',
  'alt-svc',
  'access-control-allow-origin',
  'access-control-allow-credentials',
]);

const sandbox = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';

/**
 * Resolves when the answer has been sent, or the client has gone; false when the service did not answer. `onAnswer`: Fastify
 * has nothing to answer any more.
 */
export function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
  onAnswer: () => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const { host, port, path } = target;
    const { method = 'GET' } = request;
    const framed = request.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' };
    const headers = { ...without(request.headers, keptFromService), ...framed };
    const onward = send({ host, port, path, method, headers, agent: false, timeout: answerMs });
    response.once('close', () => {
      onward.destroy();
      onAnswer();
      resolve(true);
    });
    onward.on('timeout', () => onward.destroy());
    onward.on('error', () => {
      if (response.headersSent) response.destroy();
      else resolve(false);
    });
    onward.on('response', (answer) => {
      onward.setTimeout(0);
      onAnswer();
      response.writeHead(answer.statusCode ?? 502, answerHeaders(answer.headers, target));
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    request.on('error', () => onward.destroy());
    request.pipe(onward);
  });
}

/** A WebSocket. Ends both sides when one has ended. */
export function passOnUpgrade(request: IncomingMessage, socket: Socket, head: Buffer, target: Target): void {
  const { host, port, path } = target;
  const headers = {
    ...without(request.headers, keptFromService),
    connection: 'Upgrade',
    upgrade: 'websocket',
  };
  const onward = send({ host, port, path, headers, agent: false, timeout: answerMs });
  const end = () => {
    onward.destroy();
    socket.destroy();
  };
  socket.on('close', end).on('error', end);
  onward.on('timeout', end).on('error', end);
  // The service wants no WebSocket here.
  onward.on('response', end);
  onward.on('upgrade', (answer, service, first) => {
    const kept = without(answer.headers, keptFromBrowser);
    const lines = Object.entries({ ...kept, connection: 'Upgrade', upgrade: 'websocket' }).flatMap(
      ([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`),
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
    service.setTimeout(0);
    service.on('close', end).on('error', end);
    service.write(head);
    socket.write(first);
    service.pipe(socket).pipe(service);
  });
  onward.end();
}

/** The page's own scripts have no origin, so all that they read is of another one. */
export const readableByAll: OutgoingHttpHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': '*',
  'access-control-allow-headers': '*',
};

function answerHeaders(headers: IncomingHttpHeaders, target: Target): OutgoingHttpHeaders {
  const policies = [headers['content-security-policy'] ?? []].flat();
  return {
    ...without(headers, keptFromBrowser),
    ...(headers.location !== undefined && { location: locationIn(headers.location, target) }),
    ...readableByAll,
    'content-security-policy': [...policies, sandbox].join(', '),
    'referrer-policy': 'no-referrer',
  };
}

/** A path of the service is below the session. */
function locationIn(location: string, { host, port, prefix }: Target): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  const origin = `http://${shown}:${port}`;
  const path = location.startsWith(`${origin}/`) ? location.slice(origin.length) : location;
  return path.startsWith('/') && !path.startsWith('//') ? `${prefix}${path}` : path;
}

function without(headers: IncomingHttpHeaders, names: ReadonlySet<string>): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name) && !named.has(name)));
}
