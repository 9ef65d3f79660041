/** How an answer may be put on the wire: what HTTP and the contract leave open below the JSON. Played over real sockets. */
import type { ServerResponse } from 'node:http';
import type { SilenceName } from './silences.ts';

export interface WireForm {
  readonly name: string;
  readonly silence: SilenceName;
  readonly plays: string;
  /** `text`: the JSON of the answer. */
  readonly write: (
    response: ServerResponse,
    status: number,
    headers: Readonly<Record<string, string>>,
    text: string,
  ) => void;
}

const json = { 'content-type': 'application/json' };

/** With header names in another case: node sends them as they are given. */
const cased =
  (form: (name: string) => string): WireForm['write'] =>
  (response, status, headers, text) => {
    const all = Object.entries({ ...json, 'content-length': String(Buffer.byteLength(text)), ...headers });
    response.writeHead(status, Object.fromEntries(all.map(([name, value]) => [form(name), value]))).end(text);
  };

const typed =
  (type: string): WireForm['write'] =>
  (response, status, headers, text) =>
    response.writeHead(status, { 'content-type': type, ...headers }).end(text);

export const wireForms: readonly WireForm[] = [
  {
    name: 'http-headers-upper-case',
    silence: 'form of HTTP',
    plays: 'names of headers in upper case',
    write: cased((name) => name.toUpperCase()),
  },
  {
    name: 'http-headers-lower-case',
    silence: 'form of HTTP',
    plays: 'names of headers in lower case, as a proxy for HTTP/2 sends them',
    write: cased((name) => name.toLowerCase()),
  },
  {
    name: 'http-charset',
    silence: 'form of HTTP',
    plays: '`Application/JSON;Charset=UTF-8`',
    write: typed('Application/JSON;Charset=UTF-8'),
  },
  {
    name: 'http-profile',
    silence: 'form of HTTP',
    plays: '`application/json; profile="https://provider.example/v1"; charset="utf-8"`',
    write: typed('application/json; profile="https://provider.example/v1"; charset="utf-8"'),
  },
  {
    name: 'http-pretty',
    silence: 'form of HTTP',
    plays: 'JSON with indents, blanks around it and escaped letters',
    write: (response, status, headers, text) => {
      const pretty = JSON.stringify(JSON.parse(text), null, 4).replaceAll(/[/]/g, '\\/');
      response.writeHead(status, { ...json, ...headers }).end(`\r\n\t ${pretty} \n`);
    },
  },
  {
    name: 'http-chunks',
    silence: 'form of HTTP',
    plays: 'in chunks of 7 bytes',
    write: (response, status, headers, text) => {
      response.writeHead(status, { ...json, ...headers });
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      response.end();
    },
  },
  {
    name: 'http-one-request-per-connection',
    silence: 'form of HTTP',
    plays: '`Connection: close` after each answer, no length',
    write: (response, status, headers, text) =>
      response.writeHead(status, { ...json, ...headers, connection: 'close' }).end(text),
  },
  {
    name: 'http-early-hints',
    silence: 'form of HTTP',
    plays: 'an informational answer (103) before each answer',
    write: (response, status, headers, text) => {
      response.writeEarlyHints({ link: '</x>; rel=preload' });
      response.writeHead(status, { ...json, ...headers }).end(text);
    },
  },
];
