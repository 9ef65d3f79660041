/**
 * The file of `run --timeline`: JSON lines, for the owner only, with one old file beside it (`FILE.1`).
 *
 *     passed ──> queue (bounded) ──> one writer: open, rotate at 64 MiB, append, close
 *
 * | failure                                     | what follows                                                                  |
 * |---------------------------------------------|-------------------------------------------------------------------------------|
 * | the file can't be written at the start      | the command refuses to start                                                  |
 * | the disk is full, or the write fails        | the lines are lost and counted; what was written half is cut off; one line in |
 * |                                             | the log when that begins, and one when it ends                                |
 * | the disk hangs                              | the queue fills; further lines are dropped and counted. No pass waits         |
 * | the name becomes a link, a pipe or a folder | a failed write: nothing is written elsewhere                                  |
 * | somebody else renames or removes the file   | the next write makes a new one                                                |
 * | the process is killed                       | the lines of the queue are lost; every line in the file is whole              |
 */
import { constants } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { UserError, messageOf, sleep, type Clock } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { TimelineLine } from './timeline.ts';

export interface TimelineFileOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly metrics: Pick<Metrics, 'timelineLines'>;
  /** Of the file; default 64 MiB. */
  readonly maxBytes?: number;
  /** Default: that of the disk. */
  readonly openFile?: typeof open;
}

const defaultMaxBytes = 64 * 1024 * 1024;
const linesAtMost = 10_000;
const linesPerWrite = 500;
/** How long a stop waits for the last lines. */
const stopMs = 2000;
const flags =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export class TimelineFile {
  readonly #options: TimelineFileOptions;
  readonly #maxBytes: number;
  #queue: string[] = [];
  #writing: Promise<void> | undefined;
  #isFailing = false;

  private constructor(options: TimelineFileOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
  }

  /** Throws a `UserError` when nothing can be written there. */
  static async open(options: TimelineFileOptions): Promise<TimelineFile> {
    const made = new TimelineFile(options);
    try {
      await made.#append('');
    } catch (error) {
      const message = `can't write the timeline ${options.file}: ${messageOf(error)}`;
      throw new UserError(message, 'name a file with --timeline that this user may write to', error);
    }
    return made;
  }

  /** Returns at once. */
  add(line: TimelineLine): void {
    if (this.#queue.length >= linesAtMost) {
      this.#options.metrics.timelineLines.inc({ outcome: 'dropped' });
      return;
    }
    this.#queue.push(`${JSON.stringify(line)}\n`);
    this.#writing ??= this.#write();
  }

  async stop(): Promise<void> {
    const stop = new AbortController();
    await Promise.race([this.#writing, sleep(this.#options.clock, stopMs, stop.signal)]);
    stop.abort();
  }

  async #write(): Promise<void> {
    const { file, logger, metrics } = this.#options;
    // The lines of one turn are written together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const lines = this.#queue.splice(0, linesPerWrite);
      try {
        await this.#append(lines.join(''));
        metrics.timelineLines.inc({ outcome: 'written' }, lines.length);
        if (this.#isFailing) logger.info({ file }, 'the timeline is written again');
        this.#isFailing = false;
      } catch (error) {
        metrics.timelineLines.inc({ outcome: 'failed' }, lines.length);
        if (!this.#isFailing) logger.warn({ file, note: messageOf(error) }, 'the timeline was not written');
        this.#isFailing = true;
      }
    }
    // In the turn in which the queue was found empty.
    this.#writing = undefined;
  }

  async #append(text: string): Promise<void> {
    const { file } = this.#options;
    const bytes = Buffer.from(text);
    if (await this.#into(file, bytes, true)) return;
    await rename(file, `${file}.1`);
    await this.#into(file, bytes, false);
  }

  /** False: the file is too large for more. */
  async #into(file: string, bytes: Buffer, mayBeFull: boolean): Promise<boolean> {
    const { openFile = open } = this.#options;
    await using handle = await openFile(file, flags, 0o600);
    const facts = await handle.stat();
    if (!facts.isFile()) throw new Error('it is no plain file');
    if (mayBeFull && facts.size > 0 && facts.size + bytes.length > this.#maxBytes) return false;
    if ((facts.mode & 0o777) !== 0o600) await handle.chmod(0o600);
    await writeWhole(handle, bytes, facts.size);
    return true;
  }
}

async function writeWhole(handle: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await handle.write(bytes, written);
      written += bytesWritten;
    }
  } catch (error) {
    // Half a line would make the next one unreadable, too.
    await handle.truncate(size).catch(() => undefined);
    throw error;
  }
}
