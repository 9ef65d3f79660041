/**
 * Reads a folder repeatedly, and opens only what changed since the last reading. It remembers what was in files that can't
 * be read any more, so a broken file never removes a declared object.
 *
 * A loss has to be confirmed by a second reading. A file that is missing, or contains less than before, keeps its old content
 * until the same is found at least `settleMs` later. Editors rename and truncate files, and copying takes time.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { UserError, messageOf } from '../../base/index.ts';
import { assemble, type SourceFile } from './folder.ts';
import { limits } from '../limits.ts';
import { list, type ListedFile, type Listing, type Unlisted } from './listing.ts';
import { parseFile, refusedFile, type ParsedDocument, type ParsedFile } from '../parse.ts';
import type { SecretsReading } from '../secrets/memory.ts';
import { readSecrets, type SecretsDirectoryOptions } from '../secrets/secrets-directory.ts';
import { sameFolders } from '../snapshots.ts';
import type { DesiredSnapshot, Problem } from '../source.ts';

/** How long a loss must last. */
export const settleMs = 100;

interface Entry {
  parsed: ParsedFile;
  /** Undefined: read it again in any case. */
  signature: string | undefined;
  /** Of the bytes. Undefined if they could not be read. Stays in memory. */
  digest: string | undefined;
  missingSinceMs: number | undefined;
  /** The digest of newer content that has less than `parsed`, and when it was first seen. */
  doubted: { readonly digest: string; readonly sinceMs: number } | undefined;
}

export interface Reading {
  readonly snapshot: DesiredSnapshot;
  /** A loss has to be confirmed: read again after `settleMs`. */
  readonly unsettled: boolean;
  /** All of it was there in the reading before, and nothing else. */
  readonly isUnchanged: boolean;
}

/** What a snapshot is made of. */
interface Parts {
  readonly snapshot: DesiredSnapshot;
  readonly files: readonly SourceFile[];
  /** All of the folder could be listed. */
  readonly isWhole: boolean;
  readonly secrets: SecretsReading | undefined;
}

const filesAtOnce = 32;

export class FolderReader {
  readonly #root: string;
  #entries = new Map<string, Entry>();
  readonly #secrets: () => SecretsReading | undefined;
  #last: Parts | undefined;

  /** `secrets`: those of `--secrets-dir`, as they are used when a snapshot is made. */
  constructor(root: string, secrets: () => SecretsReading | undefined = () => undefined) {
    this.#root = root;
    this.#secrets = secrets;
  }

  /**
   * `touched` files are opened even if they look unchanged: two writes within one tick of the file system's
   * clock have the same time. Throws a `UserError` if the root can't be read the first time. Later, that is a
   * problem in the snapshot, which keeps its old content.
   */
  async read(sequence: number, nowMs: number, touched: ReadonlySet<string> = new Set()): Promise<Reading> {
    let listing = await list(this.#root);
    let vanished = await this.#open(listing, touched, nowMs, false);
    vanished ||= listing.unlisted.some((part) => part.vanished && part.prefix !== '');
    if (vanished) {
      listing = await list(this.#root);
      await this.#open(listing, touched, nowMs, true);
    }
    const lostRoot = listing.unlisted.find((part) => part.prefix === '');
    if (lostRoot && !this.#last) {
      throw new UserError(
        `the source ${this.#root} ${lostRoot.message}`,
        `check --source: ${lostRoot.remedy}`,
      );
    }
    const unsettled = this.#dropMissing(listing, nowMs);
    const files: SourceFile[] = [];
    for (const { parsed, digest = '', missingSinceMs } of this.#entries.values()) {
      files.push({ ...parsed, digest, missing: missingSinceMs !== undefined });
    }
    const secrets = this.#secrets();
    const before = this.#last && hasParts(this.#last, files, listing, secrets) ? this.#last : undefined;
    const { snapshot } = (this.#last = before ?? {
      snapshot: this.#assemble(files, sequence, listing, secrets),
      files,
      isWhole: listing.unlisted.length === 0,
      secrets,
    });
    const isUnchanged = before !== undefined;
    return { snapshot: { ...snapshot, sequence, readAtMs: nowMs }, unsettled, isUnchanged };
  }

  #assemble(
    files: readonly SourceFile[],
    sequence: number,
    { unlisted, folders }: Listing,
    secrets: SecretsReading | undefined,
  ): DesiredSnapshot {
    const problems = unlisted.map((part) => this.#unlistedProblem(part));
    const assembled = assemble(files, sequence, {
      name: this.#root,
      problems,
      complete: unlisted.length === 0,
      folders: new Set(folders),
      secrets,
    });
    const unreadable = problems[unlisted.findIndex(({ prefix }) => prefix === '')];
    return unreadable ? { ...assembled, unreadable } : assembled;
  }

  /** Opens new and changed files. True if a listed file no longer existed. With `last`, that is a problem. */
  async #open(
    listing: Listing,
    touched: ReadonlySet<string>,
    nowMs: number,
    last: boolean,
  ): Promise<boolean> {
    const changed = listing.files.filter(({ file, signature }) => {
      const entry = this.#entries.get(file);
      return !entry || entry.signature !== signature || touched.has(file);
    });
    let vanished = false;
    for (let start = 0; start < changed.length; start += filesAtOnce) {
      const batch = changed.slice(start, start + filesAtOnce);
      const contents = await Promise.all(batch.map((listed) => contentOf(listed)));
      for (const [index, listed] of batch.entries()) {
        const content = contents[index];
        if (content?.vanished) vanished = true;
        if (content && (!content.vanished || last)) this.#take(listed, content, nowMs);
      }
    }
    return vanished;
  }

  #take({ file, signature }: ListedFile, content: Content, nowMs: number): void {
    const before = this.#entries.get(file);
    if (content.bytes === undefined) {
      const parsed = refusedFile(file, content.message, content.remedy);
      this.#keep(file, { parsed, signature: undefined, digest: undefined }, before);
      return;
    }
    const digest = createHash('sha256').update(content.bytes).digest('hex');
    if (before?.digest === digest) {
      before.signature = signature;
      before.doubted = undefined;
      return;
    }
    const parsed = parseFile(file, content.bytes);
    if (before && hasLess(parsed, before.parsed)) {
      if (before.doubted?.digest !== digest) before.doubted = { digest, sinceMs: nowMs };
      if (nowMs - before.doubted.sinceMs < settleMs) {
        before.signature = undefined;
        return;
      }
    }
    this.#keep(file, { parsed, signature, digest }, before);
  }

  #keep(file: string, now: Pick<Entry, 'parsed' | 'signature' | 'digest'>, before: Entry | undefined): void {
    const parsed = before ? rememberingWhatWas(now.parsed, before.parsed) : now.parsed;
    this.#entries.set(file, { ...now, parsed, missingSinceMs: undefined, doubted: undefined });
  }

  /**
   * Forgets files that are gone. True if a loss has to be confirmed. Files in a folder that can't be listed
   * are not missing.
   */
  #dropMissing(listing: Listing, nowMs: number): boolean {
    const listed = new Set(listing.files.map(({ file }) => file));
    const unknown = (file: string) => listing.unlisted.some((part) => liesIn(file, part.prefix));
    let unsettled = false;
    for (const [file, entry] of this.#entries) {
      if (listed.has(file) || unknown(file)) entry.missingSinceMs = undefined;
      else if (entry.missingSinceMs === undefined) entry.missingSinceMs = nowMs;
      else if (nowMs - entry.missingSinceMs >= settleMs) this.#entries.delete(file);
      const waits = entry.missingSinceMs !== undefined || entry.doubted !== undefined;
      unsettled ||= waits && this.#entries.has(file);
    }
    return unsettled;
  }

  #unlistedProblem({ prefix, message, remedy }: Unlisted): Problem {
    const [file, text] =
      prefix === '' ? [this.#root, `the folder ${this.#root} ${message}`] : [prefix, message];
    const holds = [...this.#entries.keys()].some((entry) => liesIn(entry, prefix));
    const kept = holds ? '; what was read from it before is kept' : '';
    return { file, line: undefined, path: undefined, message: `${text}${kept}`, remedy, key: undefined };
  }
}

/** One snapshot of a folder or a file, without watching it. Throws a `UserError` if it can't be read. */
export async function readFolder(
  directory: string,
  secretsDirectory?: SecretsDirectoryOptions,
): Promise<DesiredSnapshot> {
  const secrets = secretsDirectory && (await readSecrets(secretsDirectory));
  const { snapshot } = await new FolderReader(directory, () => secrets).read(1, 0);
  return snapshot;
}

/** Whether a snapshot of these would be the same. Where a part can't be listed, it is made anew. */
function hasParts(
  last: Parts,
  files: readonly SourceFile[],
  { unlisted, folders }: Listing,
  secrets: SecretsReading | undefined,
): boolean {
  return (
    last.secrets === secrets &&
    sameFolders(last.snapshot, { folders: new Set(folders) }) &&
    last.isWhole &&
    unlisted.length === 0 &&
    last.files.length === files.length &&
    last.files.every((file, index) => isSameFile(file, files[index]))
  );
}

/** Documents and problems of an unchanged file are the same objects. */
function isSameFile(left: SourceFile, right: SourceFile | undefined): boolean {
  return (
    left.documents === right?.documents &&
    left.problems === right.problems &&
    left.digest === right.digest &&
    left.missing === right.missing
  );
}

function liesIn(file: string, prefix: string): boolean {
  return prefix === '' || file === prefix || file.startsWith(`${prefix}/`);
}

type Content =
  | { readonly bytes: Buffer; readonly vanished: false }
  | {
      readonly bytes: undefined;
      readonly vanished: boolean;
      readonly message: string;
      readonly remedy: string;
    };

async function contentOf({ path }: ListedFile): Promise<Content> {
  try {
    await using handle = await open(path);
    const { size } = await handle.stat();
    if (size > limits.fileBytes) {
      const message = `is larger than ${limits.fileBytes / 1024 / 1024} MiB`;
      return { bytes: undefined, vanished: false, message, remedy: 'split it, or move it out of the folder' };
    }
    return { bytes: await handle.readFile(), vanished: false };
  } catch (error) {
    const vanished = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = `can't be read: ${messageOf(error)}`;
    return { bytes: undefined, vanished, message, remedy: 'make it readable by this user, or move it away' };
  }
}

/** Whether something that the file declared is no longer in it. An incomplete file forgets nothing. */
function hasLess(now: ParsedFile, before: ParsedFile): boolean {
  const present = new Set(now.documents.map((document) => document.id));
  return now.complete && before.documents.some((document) => !present.has(document.id));
}

/**
 * If a part of a file can no longer be identified, it may still declare everything that it declared before.
 * Such objects become unusable, so they are left alone. Secrets and ConfigMaps keep their values.
 */
function rememberingWhatWas(now: ParsedFile, before: ParsedFile): ParsedFile {
  if (now.complete) return now;
  const present = new Set(now.documents.map((document) => document.id));
  const remembered = before.documents
    .filter((document) => !present.has(document.id))
    .map((document): ParsedDocument => {
      if (document.is === 'data') return document;
      return { is: 'unusable', id: document.id, location: document.location, problems: now.problems };
    });
  return { ...now, documents: [...now.documents, ...remembered] };
}
