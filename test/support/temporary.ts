import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** The path of a file that does not exist yet, in a folder of its own that goes with the test. */
export function temporaryFile(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, name);
}
