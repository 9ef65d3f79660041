/**
 * Notices that something in a folder has changed. The source finds out what.
 *
 *     arming ── the folder, and each link on the way to it, are watched ──> armed ── the folder or a link is replaced ──> arming
 *
 * A watch is of a folder, and not of its name: after a rename it would go on with the folder that is away. So the name is watched, too, in the
 * folder above. What replaces a folder is reported at once, and again when it is watched itself.
 *
 * No link in the folder is followed: what is watched may be anybody's, and one may lead to the root of the file system. Its target is
 * watched if it is in the folder, too.
 *
 * What replaces a folder higher up, and a mount, are not noticed. Sources read again every 10 s for that.
 */
import { watch as watchNames, type FSWatcher as NamesWatcher } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { dirname, join, parse, relative, resolve, sep } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';

export interface FolderWatcher {
  close(): Promise<void>;
}

export interface FolderWatchOptions {
  /** Changes of these are ignored. */
  readonly isIgnored: (path: string, isFile: boolean) => boolean;
  /** Nothing beneath this many folders is watched. */
  readonly depth?: number;
  /** A file or folder was created, changed or removed, or the folder itself was replaced. */
  readonly onTouched: (path: string) => void;
  /** From now on changes are noticed. Called again after a replacement. */
  readonly onReady: () => void;
}

/** Never throws. If the folder can't be watched, no change is noticed. */
export type WatchFolder = (directory: string, options: FolderWatchOptions) => FolderWatcher;

export const watchFolder: WatchFolder = (directory, options) => new ReplaceableFolder(directory, options);

class ReplaceableFolder implements FolderWatcher {
  readonly #directory: string;
  readonly #options: FolderWatchOptions;
  #inside: FSWatcher | undefined;
  #above: readonly NamesWatcher[] = [];
  #isArming = false;
  #isOutdated = false;
  #isClosed = false;

  constructor(directory: string, options: FolderWatchOptions) {
    this.#directory = directory;
    this.#options = options;
    void this.#arm();
  }

  /** Waits for no question to the disk: it may hang. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const each of this.#above) each.close();
    await this.#inside?.close();
  }

  async #arm(): Promise<void> {
    if (this.#isArming) {
      this.#isOutdated = true;
      return;
    }
    this.#isArming = true;
    do {
      this.#isOutdated = false;
      const places = await placesOf(this.#directory);
      if (this.#isClosed) return;
      for (const each of this.#above) each.close();
      this.#above = places.flatMap((place) => this.#named(place));
      const real = await realPlace(this.#directory);
      if (this.#isClosed) return;
      const before = this.#inside;
      this.#inside = this.#within(real);
      await before?.close();
    } while (this.#isOutdated);
    this.#isArming = false;
  }

  #within(directory: string): FSWatcher {
    const { isIgnored, depth, onTouched, onReady } = this.#options;
    // As it is named in the options, whatever links are on the way to it.
    const named = (path: string) => join(this.#directory, relative(directory, path));
    const watcher = watch(directory, {
      ignoreInitial: true,
      followSymlinks: false,
      ...(depth === undefined ? {} : { depth }),
      ignored: (path, stats) => isIgnored(named(path), stats?.isFile() ?? false),
    });
    watcher.on('all', (_event, path) => onTouched(named(path)));
    watcher.on('ready', onReady);
    // The folder was deleted, or no watches are left.
    watcher.on('error', () => {});
    return watcher;
  }

  /** `place` is created, removed or replaced. Changes of what it is are none of its name. */
  #named(place: string): NamesWatcher[] {
    try {
      const watcher = watchNames(dirname(place), { persistent: false }, (event, name) => {
        if (event !== 'rename' || (name !== null && resolve(dirname(place), name) !== place)) return;
        this.#options.onTouched(this.#directory);
        void this.#arm();
      });
      watcher.on('error', () => watcher.close());
      return [watcher];
    } catch {
      // It is not there, may not be read, or no watches are left.
      return [];
    }
  }
}

/** As the system does, which refuses longer chains. */
const linksAtMost = 40;

/** Absolute paths: each link on the way to the folder, and the folder. */
async function placesOf(directory: string): Promise<string[]> {
  const places: string[] = [];
  const whole = resolve(directory);
  let place: string = parse(whole).root;
  const ahead = namesIn(whole);
  while (ahead.length > 0) {
    place = resolve(place, ahead.shift() ?? '');
    const target = places.length < linksAtMost ? await targetOf(place) : undefined;
    if (target === undefined && ahead.length > 0) continue;
    places.push(place);
    if (target === undefined) continue;
    const behind = resolve(dirname(place), target);
    ahead.unshift(...namesIn(behind));
    place = parse(behind).root;
  }
  return places;
}

function namesIn(path: string): string[] {
  return path.slice(parse(path).root.length).split(sep).filter(Boolean);
}

async function targetOf(place: string): Promise<string | undefined> {
  try {
    return (await lstat(place)).isSymbolicLink() ? await readlink(place) : undefined;
  } catch {
    return undefined;
  }
}

async function realPlace(directory: string): Promise<string> {
  try {
    return await realpath(directory);
  } catch {
    return directory;
  }
}
