/**
 * Reads a folder repeatedly, and opens only what changed since the last reading. It remembers what was in files that can't
 * be read any more, so a broken file never removes a declared object.
 *
 * A loss has to be confirmed by a second reading. A file that is missing, or contains less than before, keeps its old content
 * until the same is found at least `settleMs` later. Editors rename and truncate files, and copying takes time.
 */
import { createHash } from 'node:crypto';
import { UserError } from '../../base/index.ts';
import { assemble, type SourceFile } from './folder.ts';
import { contentOf, type Content } from './content.ts';
import { hasAncestorIn, list, type ListedFile, type Listing, type Unlisted } from './listing.ts';
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
  /** What has too much in it to be listed, relative to the root. */
  readonly tooLarge: ReadonlySet<string>;
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
    const { tooLarge } = listing;
    return { snapshot: { ...snapshot, sequence, readAtMs: nowMs }, unsettled, isUnchanged, tooLarge };
  }

  #assemble(
    files: readonly SourceFile[],
    sequence: number,
    { unlisted, folders }: Listing,
    secrets: SecretsReading | undefined,
  ): DesiredSnapshot {
    const known = unlisted.length > 0 ? withFolders(this.#entries.keys()) : new Set<string>();
    const problems = unlisted.map((part) => this.#unlistedProblem(part, known.has(part.prefix)));
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
    const changed = listing.files.filter(({ file, signature, isLinked }) => {
      const entry = this.#entries.get(file);
      return !entry || entry.signature !== signature || touched.has(file) || (isLinked && touched.size > 0);
    });
    let vanished = false;
    for (let start = 0; start < changed.length; start += filesAtOnce) {
      const batch = changed.slice(start, start + filesAtOnce);
      const contents = await Promise.all(batch.map(({ path }) => contentOf(path, listing.place)));
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
    const unlisted = new Set(listing.unlisted.map(({ prefix }) => prefix));
    const unknown = (file: string) => hasAncestorIn(unlisted, file);
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

  #unlistedProblem({ prefix, message, remedy }: Unlisted, holds: boolean): Problem {
    const [file, text] =
      prefix === '' ? [this.#root, `the folder ${this.#root} ${message}`] : [prefix, message];
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

/** The files, and all folders that they are in. */
function withFolders(files: Iterable<string>): Set<string> {
  const names = new Set<string>();
  for (const file of files) {
    names.add('');
    for (let end = file.length; end > 0; end = file.lastIndexOf('/', end - 1)) names.add(file.slice(0, end));
  }
  return names;
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
