import { chmodSync, rmSync, writeFileSync } from 'node:fs';

/**
 * In place of whatever has that name. A link that came with a folder of somebody else is removed, and nothing is written to where it leads.
 */
export function writeAnew(file: string, text: string, mode: number): void {
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode, flag: 'wx' });
  // Of the mode, the umask may have left less.
  chmodSync(file, mode);
}
