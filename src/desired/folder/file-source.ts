/**
 * A folder (or one file) as the source of desired state, watched.
 *
 * States: **new** → `start` reads once → **watching** → `stop` → **stopped**. While watching, a reading is
 * asked for by an event of the file system (after 100 ms of quiet), by a loss that is not believed yet (100 ms
 * later), and every 10 s in any case, since events get lost (network file systems, the limit on watches). One
 * reading runs at a time; what is asked for meanwhile is done by one more after it. A snapshot is delivered
 * when it says something that the last one did not.
 */
import { relative, sep } from 'node:path';
import { invariant, type Clock, type Timer } from '../../base/index.ts';
import { FolderReader, settleMs } from './folder-reader.ts';
import { watchFolder, type FolderWatcher, type WatchFolder } from './folder-watch.ts';
import { isDocumentFile, isSkipped } from './listing.ts';
import { following, sameContent } from '../snapshots.ts';
import type { DesiredSnapshot, DesiredSource } from '../source.ts';

export interface FileSourceOptions {
  /** A folder, or one file. */
  readonly directory: string;
  readonly clock: Clock;
  readonly watchFolder?: WatchFolder | undefined;
}

const quietMs = 100;
const rescanMs = 10_000;

/** `start` rejects with a `UserError` when the folder can't be read then; later that is a problem in the snapshot. */
export function createFileSource(options: FileSourceOptions): DesiredSource {
  return new FileSource(options);
}

class FileSource implements DesiredSource {
  readonly description: string;
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #watchFolder: WatchFolder;
  readonly #reader: FolderReader;
  #state: 'new' | 'watching' | 'stopped' = 'new';
  #snapshot: DesiredSnapshot | undefined;
  #onChange: (snapshot: DesiredSnapshot) => void = () => {};
  #watcher: FolderWatcher | undefined;
  #soon: Timer | undefined;
  #rescan: Timer | undefined;
  #touched = new Set<string>();
  #reading: Promise<void> | undefined;
  #askedMeanwhile = false;

  constructor({ directory, clock, watchFolder: watch = watchFolder }: FileSourceOptions) {
    this.description = `the folder ${directory}`;
    this.#directory = directory;
    this.#clock = clock;
    this.#watchFolder = watch;
    this.#reader = new FolderReader(directory);
  }

  async start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot> {
    invariant(this.#state === 'new', 'a source is started once');
    this.#state = 'watching';
    this.#onChange = onChange;
    const { snapshot } = await this.#reader.read(1, this.#clock.monotonicMs());
    this.#snapshot = snapshot;
    if (this.#isWatching()) this.#watch();
    return snapshot;
  }

  /** A reading that is under way may have begun before: then one more follows it. */
  async readNow(): Promise<DesiredSnapshot | undefined> {
    this.#readNow();
    await this.#reading;
    return this.#isWatching() ? this.#snapshot : undefined;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#soon?.cancel();
    this.#rescan?.cancel();
    await this.#watcher?.close();
    await this.#reading;
  }

  #watch(): void {
    const watcher = this.#watchFolder(this.#directory, {
      isIgnored: (path, isFile) => this.#isIgnored(path, isFile),
      onTouched: (path) => {
        this.#touched.add(this.#relative(path));
        this.#readSoon(quietMs);
      },
      // What changed between the first reading and now.
      onReady: () => this.#readSoon(quietMs),
    });
    this.#watcher = watcher;
    this.#rescanLater();
  }

  /** Links like `..data` are watched, though they are not listed: they are what changes in a mounted ConfigMap. */
  #isIgnored(path: string, isFile: boolean): boolean {
    const file = this.#relative(path);
    if (file === '' || file.startsWith('../')) return false;
    const names = file.split('/');
    return (
      names.some((name) => isSkipped(name) && !name.startsWith('..')) || (isFile && !isDocumentFile(file))
    );
  }

  #relative(path: string): string {
    return relative(this.#directory, path).split(sep).join('/');
  }

  #rescanLater(): void {
    this.#rescan = this.#clock.after(rescanMs, () => {
      this.#rescanLater();
      this.#readNow();
    });
  }

  #readSoon(delayMs: number): void {
    if (!this.#isWatching()) return;
    this.#soon?.cancel();
    this.#soon = this.#clock.after(delayMs, () => this.#readNow());
  }

  #readNow(): void {
    if (!this.#isWatching()) return;
    if (this.#reading) {
      this.#askedMeanwhile = true;
      return;
    }
    this.#reading = this.#readUntilCurrent().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readUntilCurrent(): Promise<void> {
    do {
      this.#askedMeanwhile = false;
      const touched = this.#touched;
      this.#touched = new Set();
      const sequence = (this.#snapshot?.sequence ?? 0) + 1;
      const { snapshot: read, unsettled } = await this.#reader.read(
        sequence,
        this.#clock.monotonicMs(),
        touched,
      );
      if (!this.#isWatching()) return;
      if (unsettled) this.#readSoon(settleMs);
      const snapshot = this.#snapshot ? following(this.#snapshot, read) : read;
      if (this.#snapshot && sameContent(this.#snapshot, snapshot)) {
        this.#snapshot = { ...this.#snapshot, readAtMs: snapshot.readAtMs };
      } else {
        this.#snapshot = snapshot;
        this.#onChange(snapshot);
      }
    } while (this.#askedMeanwhile);
  }

  #isWatching(): boolean {
    return this.#state === 'watching';
  }
}
