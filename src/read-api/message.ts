/** Requests and responses of the read API, without a server. */
export interface ApiRequest {
  readonly method: string;
  /** As it was sent, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** From this machine to this machine. */
  readonly isLoopback: boolean;
  readonly body?: string | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Set for an event stream: it continues after the headers. */
  readonly stream?: (sink: StreamSink) => void;
}

/** Where the events of a stream are written. */
export interface StreamSink {
  /** Returns how many bytes wait to be taken by the reader. */
  write(text: string): number;
  close(): void;
  /** `onClosed` is called once, when the reader has left or the stream was closed. */
  onClosed(onClosed: () => void): void;
}

/** A refusal in the contract's form: `{error: {code, message}}`. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function refusal({ status, code, message, headers }: Refused): ApiResponse {
  return {
    status,
    headers: { 'content-type': jsonType, 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ error: { code, message } }),
  };
}

export const jsonType = 'application/json; charset=utf-8';
