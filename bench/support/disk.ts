import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';

const page = Buffer.alloc(4096, 1);
const measureMs = 1000;

/** How often per second one page can be written and confirmed by the disk of `directory`. */
export function syncsPerSecond(directory: string): number {
  const file = path.join(directory, 'fsync');
  const descriptor = openSync(file, 'w');
  const startedMs = performance.now();
  let count = 0;
  while (performance.now() - startedMs < measureMs) {
    writeSync(descriptor, page, 0, page.length, (count % 1024) * page.length);
    fsyncSync(descriptor);
    count += 1;
  }
  const seconds = (performance.now() - startedMs) / 1000;
  closeSync(descriptor);
  rmSync(file);
  return count / seconds;
}
