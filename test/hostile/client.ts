/** How the attacker asks: from an address of its own, with a bounded number of connections, and what it was answered. */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
  readonly service: AttackersService;
}

/** Of each service that the attacker creates, as in a request. */
export interface AttackersService {
  readonly name: string;
  readonly region: string;
  readonly image: string;
  readonly resources: object;
  readonly command?: readonly string[];
}

export type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

/** All of 127.0.0.0/8 is this machine; the victim asks from 127.0.0.1. */
export const localAddress = '127.0.0.2';
const mostSockets = 300;

/** How many answers there were of each status. */
export const statuses = new Map<string, number>();

/** Emits `answer` with each of them. */
export const answered = new EventEmitter();

const agent = new Agent({ keepAlive: true, maxSockets: mostSockets });

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
  readonly key?: string;
  /** Gets the answer's text; absent: that is thrown away. */
  readonly onText?: (text: string) => void;
}

/** Resolves with the status, or 0 when the connection was cut. */
function ask(target: Target, { method, path, body, key = target.apiKey, onText }: Request): Promise<number> {
  return new Promise((resolve) => {
    const done = (status: number) => {
      const name = `${method} ${status}`;
      statuses.set(name, (statuses.get(name) ?? 0) + 1);
      answered.emit('answer');
      resolve(status);
    };
    const sent = request(
      {
        host: target.host,
        port: target.port,
        localAddress,
        agent,
        method,
        path,
        headers: {
          authorization: `Bearer ${key}`,
          ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      },
      (response) => {
        let text = '';
        if (onText) response.setEncoding('utf8').on('data', (part: string) => (text += part));
        else response.resume();
        response.once('close', () => {
          if (response.complete) onText?.(text);
          done(response.statusCode ?? 0);
        });
      },
    );
    sent.once('error', () => done(0));
    sent.setTimeout(30_000, () => sent.destroy());
    sent.end(body);
  });
}

/** Sends, and throws the answer away. */
export function send(
  target: Target,
  method: string,
  path: string,
  body?: string,
  key?: string,
): Promise<number> {
  return ask(target, { method, path, body, ...(key !== undefined && { key }) });
}

/** What was answered; undefined when that was no success. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function read(target: Target, path: string): Promise<any> {
  let text = '';
  const status = await ask(target, { method: 'GET', path, onText: (whole) => (text = whole) });
  return status === 200 && text !== '' ? JSON.parse(text) : undefined;
}

/** So many at a time, each after the other. */
export async function lanes(
  count: number,
  signal: AbortSignal,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let n = 0;
  const lane = async () => {
    while (!signal.aborted) {
      await work((n += 1));
      await delay(1);
    }
  };
  await Promise.all(Array.from({ length: count }, lane));
}
