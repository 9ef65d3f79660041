/**
 * What a process notices of a folder. The files are real; what has changed is found out by comparing,
 * each time before simulated time moves on, since only tests write into these folders, and time stands
 * still while they do.
 */
import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { FolderWatchOptions, WatchFolder } from '../../../src/desired/index.ts';
import type { Life } from '../../simulation/scheduler.ts';

/** Until the operating system has told. */
const noticeMs = 5;

interface Watch {
  readonly directory: string;
  readonly options: FolderWatchOptions;
  readonly life: Life;
  seen: ReadonlyMap<string, string>;
}

export class SimulatedFolders {
  readonly #watches = new Set<Watch>();

  watchFor(life: Life): WatchFolder {
    return (directory, options) => {
      const watch = { directory, options, life, seen: contentsOf(directory, options) };
      this.#watches.add(watch);
      life.after(noticeMs, options.onReady);
      return {
        close: async () => {
          this.#watches.delete(watch);
        },
      };
    };
  }

  compare(): void {
    for (const watch of this.#watches) {
      if (watch.life.isOver) this.#watches.delete(watch);
      else notice(watch);
    }
  }
}

function notice(watch: Watch): void {
  const { directory, options, life, seen } = watch;
  const now = contentsOf(directory, options);
  watch.seen = now;
  for (const file of new Set([...seen.keys(), ...now.keys()])) {
    if (seen.get(file) !== now.get(file)) life.after(noticeMs, () => options.onTouched(file));
  }
}

/** Paths of all that is noticed, each with what changes when it does. */
function contentsOf(directory: string, { isIgnored }: FolderWatchOptions): Map<string, string> {
  const found = new Map<string, string>();
  const look = (place: string) => {
    const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
    if (!stats || isIgnored(place, stats.isFile())) return;
    found.set(place, `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`);
    if (stats.isDirectory()) for (const name of namesIn(place)) look(path.join(place, name));
  };
  look(directory);
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // As a watcher does that may not look into it.
    return [];
  }
}
