/**
 * HTTP by hand: bytes are sent as they are, right or wrong, each exchange on a connection of its own, and every
 * complete answer that comes back before the server closes is taken apart.
 */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface Exchange {
  readonly bytes: Buffer;
  /** Whether to say that nothing more will be sent. */
  readonly halfClose?: boolean;
  /** Garbage that follows a request: its answer could be mistaken for that of the request, and may be missing. */
  readonly mayBeCut?: boolean;
  /** The answers have no bodies. */
  readonly isHead?: boolean;
}

const silenceMs = 20_000;

/** The answers until the server closes; without `halfClose`, until the first one is there. */
export function exchange(port: number, { bytes, halfClose, isHead }: Exchange): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const finish = () => {
      socket.destroy();
      resolve(answersIn(received, isHead === true));
    };
    socket.setTimeout(silenceMs, () => {
      socket.destroy();
      reject(new Error(`no answer within ${silenceMs / 1000} s`));
    });
    socket.on('connect', () => (halfClose ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part]);
      if (!halfClose && answersIn(received, isHead === true).length > 0) finish();
    });
    socket.on('end', finish);
    // The server may close while a large body is still being sent; what it has answered counts.
    socket.on('error', finish);
  });
}

function answersIn(received: Buffer, isHead: boolean): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let start = 0; ;) {
    const headEnd = received.indexOf('\r\n\r\n', start);
    if (headEnd === -1) return answers;
    const [statusLine = '', ...lines] = received.subarray(start, headEnd).toString('latin1').split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const bodyStart = headEnd + 4;
    const bodyEnd = bodyStart + (isHead ? 0 : Number(headers.get('content-length') ?? 0));
    if (received.length < bodyEnd) return answers;
    answers.push({
      status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]),
      headers,
      body: received.subarray(bodyStart, bodyEnd).toString(),
    });
    start = bodyEnd;
  }
}
