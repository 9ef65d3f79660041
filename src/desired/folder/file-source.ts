/**
 * A folder (or one file) as the source of desired state, watched.
 *
 * States: **new** → `start` reads once → **watching** → `stop` → **stopped**. Three things trigger a reading while watching:
 *
 * | trigger | when |
 * |---|---|
 * | an event of the file system | after 100 ms without another event |
 * | something is missing that was there before | after 100 ms, to confirm it |
 * | always, since events get lost (network file systems, the limit on watches) | every 10 s |
 * | the target of a link changes, and has a name that is skipped | with the latter |
 *
 * One reading runs at a time. Triggers during a reading cause one more after it. A snapshot is published if its content
 * differs from the last one.
 */
import { relative, sep } from 'node:path';
import { invariant, type Clock, type Timer } from '../../base/index.ts';
import { FolderReader, settleMs, type Reading } from './folder-reader.ts';
import { watchFolder, type FolderWatcher, type WatchFolder } from '../folder-watch.ts';
import { hasAncestorIn, isDocumentFile, isSkipped } from './listing.ts';
import { SecretsDirectory, type SecretsDirectoryOptions } from '../secrets/secrets-directory.ts';
import { following, sameContent } from '../snapshots.ts';
import type { DesiredSnapshot, DesiredSource } from '../source.ts';

export interface FileSourceOptions {
  /** A folder, or one file. */
  readonly directory: string;
  readonly clock: Clock;
  readonly watchFolder?: WatchFolder | undefined;
  /** `--secrets-dir`. What changes there causes a reading, too. */
  readonly secrets?: Pick<SecretsDirectoryOptions, 'directory' | 'onNote'> | undefined;
}

const quietMs = 100;
const rescanMs = 10_000;

/** `start` rejects with a `UserError` if the folder can't be read then. Later, that is a problem in the snapshot. */
export function createFileSource(options: FileSourceOptions): DesiredSource {
  return new FileSource(options);
}

class FileSource implements DesiredSource {
  readonly description: string;
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #watchFolder: WatchFolder;
  readonly #reader: FolderReader;
  readonly #secrets: SecretsDirectory | undefined;
  #state: 'new' | 'watching' | 'stopped' = 'new';
  #snapshot: DesiredSnapshot | undefined;
  #onChange: (snapshot: DesiredSnapshot) => void = () => {};
  #watcher: FolderWatcher | undefined;
  #soon: Timer | undefined;
  #rescan: Timer | undefined;
  #touched = new Set<string>();
  /** Not watched either. */
  #tooLarge: ReadonlySet<string> = new Set();
  #reading: Promise<void> | undefined;
  #askedMeanwhile = false;
  #readingSinceMs: number | undefined;

  constructor({ directory, clock, watchFolder: watch = watchFolder, secrets }: FileSourceOptions) {
    this.description = `the folder ${directory}`;
    this.#directory = directory;
    this.#clock = clock;
    this.#watchFolder = watch;
    this.#secrets = secrets && new SecretsDirectory({ ...secrets, clock, watchFolder: watch });
    this.#reader = new FolderReader(directory, () => this.#secrets?.reading);
  }

  async start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot> {
    invariant(this.#state === 'new', 'a source is started once');
    this.#state = 'watching';
    this.#onChange = onChange;
    await this.#secrets?.start(() => this.#readNow());
    const { snapshot, tooLarge } = await this.#firstReading();
    this.#snapshot = snapshot;
    this.#tooLarge = tooLarge;
    if (this.#isWatching()) this.#watch();
    return snapshot;
  }

  async #firstReading(): Promise<Reading> {
    try {
      return await this.#reader.read(1, this.#clock.monotonicMs());
    } catch (error) {
      await this.#secrets?.stop();
      throw error;
    }
  }

  get readingSinceMs(): number | undefined {
    return this.#readingSinceMs;
  }

  /** A reading in progress may have begun too early. Then another one follows it. */
  async readNow(): Promise<DesiredSnapshot | undefined> {
    this.#readNow();
    await this.#reading;
    return this.#isWatching() ? this.#snapshot : undefined;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#soon?.cancel();
    this.#rescan?.cancel();
    await this.#secrets?.stop();
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
      // For changes between the first reading and now.
      onReady: () => this.#readSoon(quietMs),
    });
    this.#watcher = watcher;
    this.#rescanLater();
  }

  /** Links like `..data` are watched, although they are not listed: in a mounted ConfigMap they are what changes. No link is followed. */
  #isIgnored(path: string, isFile: boolean): boolean {
    const file = this.#relative(path);
    if (file === '') return false;
    const names = file.split('/');
    return (
      names.some((name) => isSkipped(name) && !name.startsWith('..')) ||
      (isFile && !isDocumentFile(file)) ||
      hasAncestorIn(this.#tooLarge, file)
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
      this.#readingSinceMs = undefined;
    });
  }

  async #readUntilCurrent(): Promise<void> {
    do {
      this.#askedMeanwhile = false;
      const touched = this.#touched;
      this.#touched = new Set();
      const sequence = (this.#snapshot?.sequence ?? 0) + 1;
      const beganAtMs = this.#clock.monotonicMs();
      this.#readingSinceMs = beganAtMs;
      const reading = await this.#reader.read(sequence, beganAtMs, touched);
      if (!this.#isWatching()) return;
      this.#tooLarge = reading.tooLarge;
      if (reading.unsettled) this.#readSoon(settleMs);
      this.#take(reading);
    } while (this.#askedMeanwhile);
  }

  #take({ snapshot: read, isUnchanged }: Reading): void {
    const before = this.#snapshot;
    const snapshot = !before ? read : isUnchanged ? before : following(before, read);
    if (before && sameContent(before, snapshot)) {
      this.#snapshot = { ...before, readAtMs: read.readAtMs };
    } else {
      this.#snapshot = snapshot;
      this.#onChange(snapshot);
    }
  }

  #isWatching(): boolean {
    return this.#state === 'watching';
  }
}
