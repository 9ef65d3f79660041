import { existsSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * What is imported from now on is compiled once, and kept for the next start. It is kept in the user's own cache folder: Node's
 * default is in the folder for temporary files, where another user could have left code for us to run. Where there is no
 * such folder, or nothing can be written, nothing is kept. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE go first.
 */
export function keepCompiledCode(environment: Readonly<Record<string, string | undefined>>): void {
  const folder = ownCache(environment['XDG_CACHE_HOME']);
  if (folder !== undefined) enableCompileCache(path.join(folder, 'compiled'));
}

/** Made where it is missing, but never together with a home: a user without one has no cache. */
function ownCache(named: string | undefined): string | undefined {
  try {
    const caches = named !== undefined && path.isAbsolute(named) ? named : path.join(homedir(), '.cache');
    const folder = path.join(caches, 'fleetkeeper');
    for (const each of [caches, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
    return folder;
  } catch {
    return undefined;
  }
}
