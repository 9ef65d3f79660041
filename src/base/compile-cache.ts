import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * What is imported from now on is compiled once, and kept for the next start. It is kept in the user's own cache folder: Node's
 * default is in the folder for temporary files, where another user could have left code for us to run. Where there is no
 * such folder, or nothing can be written, nothing is kept. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE go first.
 */
export function keepCompiledCode(
  environment: Readonly<Record<string, string | undefined>>,
  user: number | undefined,
): void {
  const folder = ownCache(environment['XDG_CACHE_HOME'], user);
  if (folder !== undefined) enableCompileCache(path.join(folder, 'compiled'));
}

/** A home may be a folder of all, such as /tmp, or, with sudo, that of somebody else. */
function isOwn(folder: string, user: number | undefined): boolean {
  const found = lstatSync(folder);
  return found.isDirectory() && (user === undefined || (found.uid === user && (found.mode & 0o022) === 0));
}

/** Made where it is missing, but never together with a home: a user without one has no cache. */
function ownCache(named: string | undefined, user: number | undefined): string | undefined {
  try {
    const caches = named !== undefined && path.isAbsolute(named) ? named : path.join(homedir(), '.cache');
    const folder = path.join(caches, 'fleetkeeper');
    for (const each of [caches, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
    return isOwn(folder, user) ? folder : undefined;
  } catch {
    return undefined;
  }
}
