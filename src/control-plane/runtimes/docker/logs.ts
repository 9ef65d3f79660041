/** The newest of what a container has written, both streams in their order. */
import type { Readable } from 'node:stream';
import { pieces } from './engine/frames.ts';

const keptBytes = 1024 * 1024;

/** At most 1 MiB, from the beginning of a line if that is not all. */
export async function newestLogs(source: Readable): Promise<string> {
  const window = Buffer.allocUnsafe(2 * keptBytes);
  let end = 0;
  let allBytes = 0;
  for await (const piece of pieces(source)) {
    const bytes = piece.bytes.subarray(-keptBytes);
    if (end + bytes.length > window.length) {
      window.copyWithin(0, end - keptBytes, end);
      end = keptBytes;
    }
    end += bytes.copy(window, end);
    allBytes += piece.bytes.length;
  }
  const newest = window.subarray(Math.max(0, end - keptBytes), end);
  if (newest.length === allBytes) return newest.toString();
  return newest.subarray(newest.indexOf('\n') + 1).toString();
}
