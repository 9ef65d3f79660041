/** Requests as bytes. What is not given is as it should be. */
import { randomUUID } from 'node:crypto';
import type { Exchange } from './raw-http.ts';

export type Header = readonly [name: string, value: string];

export interface Parts {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  /** Instead of the right ones of the same names; an empty value leaves the header out. */
  readonly headers?: readonly Header[];
  readonly version?: string;
}

export interface Malformed extends Exchange {
  readonly what: string;
}

export const apiKey = 'key-of-the-malformed';

export function malformed(what: string, parts: Parts, more: Partial<Exchange> = {}): Malformed {
  const { method, path, body } = parts;
  return {
    what: `${what}: ${method} ${path}${body === undefined ? '' : ` ${body.toString()}`}`.slice(0, 300),
    bytes: bytesOf(parts),
    isHead: method === 'HEAD',
    ...more,
  };
}

/** Bytes that are no request, or more than one. */
export function raw(what: string, bytes: string | Buffer): Malformed {
  return { what, bytes: Buffer.from(bytes as string, 'latin1'), halfClose: true };
}

export function bytesOf({ method, path, body, headers = [], version = 'HTTP/1.1' }: Parts): Buffer {
  const content = Buffer.from(body ?? '');
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const right: Header[] = [
    ['Host', '127.0.0.1'],
    ['Authorization', `Bearer ${apiKey}`],
    ['Idempotency-Key', randomUUID()],
    ['Content-Type', body === undefined ? '' : 'application/json'],
    ['Content-Length', body === undefined ? '' : String(content.length)],
  ];
  const lines = [...right.filter(([name]) => !given.has(name.toLowerCase())), ...headers]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  // Latin 1: each character of a header is one byte.
  const head = Buffer.from(`${method} ${path} ${version}\r\n${lines.join('')}\r\n`, 'latin1');
  return Buffer.concat([head, content]);
}
