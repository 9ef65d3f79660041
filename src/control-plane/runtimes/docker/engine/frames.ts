/**
 * The two forms in which an engine streams. JSON documents, one per line; and what containers write, in frames:
 * a byte for the stream (1: stdout, 2: stderr), three of no meaning, the length in four, then so many bytes.
 * Whatever is streamed, no more than one line or one chunk is held in memory.
 */
import type { Readable } from 'node:stream';

export interface Piece {
  readonly stream: 'stdout' | 'stderr';
  /** A part of a frame. */
  readonly bytes: Buffer;
}

const headerBytes = 8;
const longestLine = 1024 * 1024;

/** What containers write, piece by piece. */
export async function* pieces(source: Readable): AsyncGenerator<Piece> {
  let header = Buffer.alloc(0);
  let stream: Piece['stream'] = 'stdout';
  let missing = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    let rest = chunk;
    while (rest.length > 0) {
      if (missing > 0) {
        const bytes = rest.subarray(0, missing);
        missing -= bytes.length;
        rest = rest.subarray(bytes.length);
        yield { stream, bytes };
        continue;
      }
      const taken = headerBytes - header.length;
      header = Buffer.concat([header, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
      if (header.length < headerBytes) continue;
      stream = header[0] === 2 ? 'stderr' : 'stdout';
      missing = header.readUInt32BE(4);
      header = Buffer.alloc(0);
    }
  }
}

export async function* jsonLines(source: Readable): AsyncGenerator {
  let open = '';
  const decoder = new TextDecoder();
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const lines = (open + decoder.decode(chunk, { stream: true })).split('\n');
    open = lines.pop() ?? '';
    if (open.length > longestLine) throw new Error('the engine sent a line of more than 1 MiB');
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line);
  }
  if (open.trim() !== '') yield JSON.parse(open);
}
