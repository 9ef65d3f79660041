import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * What is imported from now on is compiled once, and kept for the next start. It is kept in the user's own cache folder: Node's
 * default is in the folder for temporary files, where another user could have left code for us to run. Where there is no
 * such folder, or nothing can be written, nothing is kept. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE go first.
 */
export function keepCompiledCode(environment: Readonly<Record<string, string | undefined>>): void {
  const caches = userCaches(environment['XDG_CACHE_HOME']);
  if (caches !== undefined) enableCompileCache(path.join(caches, 'fleetkeeper', 'compiled'));
}

function userCaches(named: string | undefined): string | undefined {
  if (named !== undefined && path.isAbsolute(named)) return named;
  try {
    return path.join(homedir(), '.cache');
  } catch {
    // A user without an entry and without HOME, as in a container.
    return undefined;
  }
}
