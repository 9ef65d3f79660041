import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatProblem, type DesiredSnapshot } from '../../../src/desired/index.ts';

/** A new folder `fleet` in a temporary folder of its own. */
export function temporaryFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'fleetkeeper-desired-')), 'fleet');
  mkdirSync(folder);
  return folder;
}

export function removeTemporary(folder: string): void {
  rmSync(dirname(folder), { recursive: true, force: true });
}

/** Writes a file and the folders on the way to it. */
export function writeInto(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function names(snapshot: DesiredSnapshot): string[] {
  return [...snapshot.objects.values()].map((object) => object.name).sort();
}

export function reported(snapshot: DesiredSnapshot): string[] {
  return snapshot.problems.map(formatProblem);
}
