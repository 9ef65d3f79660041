/**
 * A command in a container, over a WebSocket with the subprotocol `v4.channel.k8s.io`: the first byte of each message is
 * its channel. 1 and 2 are what the command writes, 3 is a `Status` when it has ended. What comes after that, or on
 * another channel, is dropped.
 */
import type { WebSocket } from 'undici';
import type { ExecEnd, ExecPiece } from './types.ts';

const protocol = 'v4.channel.k8s.io';
const channels: Readonly<Record<number, ExecPiece['stream']>> = { 1: 'stdout', 2: 'stderr' };
const statusChannel = 3;

/** Resolves when the connection has ended, or `signal` is aborted. Rejects when it was never there. */
export async function runCommand(
  open: (protocol: string) => Promise<WebSocket>,
  onPiece: (piece: ExecPiece) => void,
  signal: AbortSignal,
): Promise<ExecEnd> {
  const socket = await open(protocol);
  socket.binaryType = 'arraybuffer';
  const { promise, resolve, reject } = Promise.withResolvers<ExecEnd>();
  let end: ExecEnd = { kind: 'unknown' };
  let wasOpen = false;
  socket.addEventListener('open', () => {
    wasOpen = true;
  });
  socket.addEventListener('message', ({ data }) => {
    const message = typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as ArrayBuffer);
    const stream = channels[message[0] ?? 0];
    const bytes = message.subarray(1);
    if (message[0] === statusChannel) end = endOf(bytes.toString());
    else if (stream && bytes.length > 0 && !signal.aborted) onPiece({ stream, bytes });
  });
  socket.addEventListener('error', (event) => {
    if (!wasOpen) reject((event.error as Error | undefined) ?? new Error('the connection was refused'));
  });
  socket.addEventListener('close', () => resolve(end));
  const onAbort = () => {
    resolve(end);
    socket.close();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

interface Status {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[];
  };
}

function endOf(text: string): ExecEnd {
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch {
    return { kind: 'unknown' };
  }
  if (status.status === 'Success') return { kind: 'exited', exitCode: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  const exitCode = Number(cause?.message);
  if (cause && Number.isInteger(exitCode)) return { kind: 'exited', exitCode };
  return { kind: 'failed', message: typeof status.message === 'string' ? status.message : '' };
}
