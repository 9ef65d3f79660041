/**
 * The directory of `--secrets-dir`, read at the start and watched.
 *
 * States: **new** → `start` reads once → **watching** → `stop` → **stopped**. While watching, it is read 100 ms after an event of the
 * file system, when a pending change is due (`memory.ts`), and every 10 s in any case. One reading runs at a time.
 *
 * A reading that takes longer than 10 s counts as unreadable: the last values are used, and a problem reports it. No pass and no
 * reading of documents waits for it, at the start neither. Its result is used when it comes.
 *
 * The watcher follows no link in the directory: one may lead to the root of the file system. A directory that takes the place of another one
 * by a rename is noticed at once (folder-watch.ts); a mount, within 10 s.
 */
import { invariant, type Clock, type Timer } from '../../base/index.ts';
import { watchFolder, type FolderWatcher, type WatchFolder } from '../folder-watch.ts';
import { SecretsMemory, sameReading, settleMs, type SecretsReading } from './memory.ts';
import { SecretsTreeReader } from './tree.ts';

export interface SecretsDirectoryOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly watchFolder?: WatchFolder | undefined;
  /** Called once with each line that is worth one in the log. */
  readonly onNote?: ((line: string) => void) | undefined;
}

const rescanMs = 10_000;
/** `NAMESPACE/NAME/..data/KEY`. */
const watchedDepth = 3;
export const answerMs = 10_000;

export class SecretsDirectory {
  readonly #options: SecretsDirectoryOptions;
  readonly #reader: SecretsTreeReader;
  readonly #memory: SecretsMemory;
  readonly #noted = new Set<string>();
  #state: 'new' | 'watching' | 'stopped' = 'new';
  #current: SecretsReading | undefined;
  #onChange: () => void = () => {};
  #watcher: FolderWatcher | undefined;
  #soon: Timer | undefined;
  #rescan: Timer | undefined;
  #isReading = false;
  /** Undefined: nothing asked meanwhile. */
  #asked: { readonly anew: boolean } | undefined;

  constructor(options: SecretsDirectoryOptions, read = new SecretsTreeReader(options.directory)) {
    this.#options = options;
    this.#reader = read;
    this.#memory = new SecretsMemory(options.directory);
  }

  /** What is used now. */
  get reading(): SecretsReading {
    invariant(this.#current, 'secrets are used after they were read');
    return this.#current;
  }

  /** Resolves when there is a first reading, whatever came of it. */
  async start(onChange: () => void): Promise<void> {
    invariant(this.#state === 'new', 'a directory is started once');
    this.#state = 'watching';
    await this.#read(false);
    if (!this.#isWatching()) return;
    this.#onChange = onChange;
    this.#rescanLater();
  }

  /** Begins when the directory has answered: the watcher asks it, too. */
  #watch(): void {
    const { directory, watchFolder: watch = watchFolder } = this.#options;
    this.#watcher ??= watch(directory, {
      isIgnored: () => false,
      depth: watchedDepth,
      onTouched: () => this.#readSoon(settleMs, true),
      // For changes between the first reading and now.
      onReady: () => this.#readSoon(settleMs, true),
    });
  }

  /** Does not wait for a reading: it may hang. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#soon?.cancel();
    this.#rescan?.cancel();
    await this.#watcher?.close();
  }

  #rescanLater(): void {
    this.#rescan = this.#options.clock.after(rescanMs, () => {
      this.#rescanLater();
      void this.#read(false);
    });
  }

  #readSoon(delayMs: number, anew: boolean): void {
    if (!this.#isWatching()) return;
    this.#soon?.cancel();
    this.#soon = this.#options.clock.after(delayMs, () => void this.#read(anew));
  }

  /** Resolves with the reading, or when it has taken too long. */
  async #read(anew: boolean): Promise<void> {
    if (!this.#isWatching()) return;
    if (this.#isReading) {
      this.#asked = { anew: anew || this.#asked?.anew === true };
      return;
    }
    this.#isReading = true;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(answerMs, () => {
      this.#publish(this.#memory.failed(noAnswer));
      resolve();
    });
    await Promise.race([this.#readTree(anew, timer), late]);
  }

  async #readTree(anew: boolean, late: Timer): Promise<void> {
    const tree = await this.#reader.read(anew);
    late.cancel();
    this.#isReading = false;
    if (!this.#isWatching()) return;
    const reading = this.#memory.take(tree, this.#options.clock.monotonicMs());
    this.#publish(reading);
    this.#watch();
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) this.#readSoon(settleMs, asked.anew);
    else if (reading.againAfterMs !== undefined) this.#readSoon(reading.againAfterMs, true);
  }

  #publish(reading: SecretsReading): void {
    if (!this.#isWatching()) return;
    const isSame = this.#current !== undefined && sameReading(this.#current, reading);
    // An equal reading is the same object: nothing that is made of it is made again.
    if (!isSame) this.#current = reading;
    for (const note of reading.notes) {
      if (!this.#noted.has(note)) this.#options.onNote?.(note);
      this.#noted.add(note);
    }
    if (!isSame) this.#onChange();
  }

  #isWatching(): boolean {
    return this.#state === 'watching';
  }
}

const noAnswer = {
  message: `was not read within ${answerMs / 1000} s`,
  remedy: 'check the file system that it is on',
};

/** One reading, without watching. */
export async function readSecrets(
  options: Omit<SecretsDirectoryOptions, 'watchFolder'>,
): Promise<SecretsReading> {
  const directory = new SecretsDirectory({
    ...options,
    watchFolder: () => ({ close: async () => undefined }),
  });
  await directory.start(() => undefined);
  const { reading } = directory;
  await directory.stop();
  return reading;
}
