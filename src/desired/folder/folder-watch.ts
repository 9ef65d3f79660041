/** Notices changes in a folder; what they are, and whether they last, is the file source's business. */
import { watch } from 'chokidar';

export interface FolderWatcher {
  close(): Promise<void>;
}

export interface FolderWatchOptions {
  /** Nothing of these is noticed. */
  readonly isIgnored: (path: string, isFile: boolean) => boolean;
  /** A file or folder was made, changed or removed. */
  readonly onTouched: (path: string) => void;
  /** From now on changes are noticed. */
  readonly onReady: () => void;
}

/** Never throws: a folder that can't be watched is one in which nothing is noticed. */
export type WatchFolder = (directory: string, options: FolderWatchOptions) => FolderWatcher;

export const watchFolder: WatchFolder = (directory, { isIgnored, onTouched, onReady }) => {
  const watcher = watch(directory, {
    ignoreInitial: true,
    ignored: (path, stats) => isIgnored(path, stats?.isFile() ?? false),
  });
  watcher.on('all', (_event, path) => onTouched(path));
  watcher.on('ready', onReady);
  // The folder went, or there are no more watches.
  watcher.on('error', () => {});
  return watcher;
};
