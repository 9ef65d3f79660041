/** Notices that something in a folder has changed. The file source finds out what. */
import { watch } from 'chokidar';

export interface FolderWatcher {
  close(): Promise<void>;
}

export interface FolderWatchOptions {
  /** Changes of these are ignored. */
  readonly isIgnored: (path: string, isFile: boolean) => boolean;
  /** Links are not followed, and nothing beneath this many folders is watched. What is watched may be anybody's. */
  readonly depth?: number;
  /** A file or folder was created, changed or removed. */
  readonly onTouched: (path: string) => void;
  /** From now on changes are noticed. */
  readonly onReady: () => void;
}

/** Never throws. If the folder can't be watched, no change is noticed. */
export type WatchFolder = (directory: string, options: FolderWatchOptions) => FolderWatcher;

export const watchFolder: WatchFolder = (directory, { isIgnored, depth, onTouched, onReady }) => {
  const watcher = watch(directory, {
    ignoreInitial: true,
    ...(depth === undefined ? {} : { depth, followSymlinks: false }),
    ignored: (path, stats) => isIgnored(path, stats?.isFile() ?? false),
  });
  watcher.on('all', (_event, path) => onTouched(path));
  watcher.on('ready', onReady);
  // The folder was deleted, or no watches are left.
  watcher.on('error', () => {});
  return watcher;
};
