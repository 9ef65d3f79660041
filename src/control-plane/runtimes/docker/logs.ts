/** The newest of what a container has written, both streams in their order. */
import type { Readable } from 'node:stream';
import { newestText } from '../containers/newest-text.ts';
import { pieces } from './engine/frames.ts';

export function newestLogs(source: Readable): Promise<string> {
  return newestText(bytesOf(source));
}

async function* bytesOf(source: Readable): AsyncGenerator<Buffer> {
  for await (const { bytes } of pieces(source)) yield bytes;
}
