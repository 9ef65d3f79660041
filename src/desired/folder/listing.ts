/**
 * Lists the files of a folder that contain documents. It reads names only, and opens no file.
 *
 * Some names are skipped:
 * - names with a leading dot: `.git`, `.fleetkeeper`, an editor's `.#lock` and `.swp`, the `..data` of a Kubernetes volume
 *   (its files are found by the links beside it);
 * - `node_modules`;
 * - temporary files of editors.
 *
 * Not everybody who may write in a folder below the source may read what the manager can read, nor stop the others:
 *
 * | found                                          | what becomes of it                                                       |
 * |------------------------------------------------|--------------------------------------------------------------------------|
 * | the source is a link                           | followed, once for each listing: all of it is of one folder              |
 * | a link whose real path is in the source's      | followed                                                                 |
 * | a link to a folder or file that is found anyway, such as a folder that it is in | it counts once, by its own name: circles end, and nothing is multiplied |
 * | a link whose real path is not in the source's  | a problem of this link. Nothing of its target is read, and what its name declared before is kept |
 * | the same to a file whose name is of no document | nothing: it would not be read anyway                                    |
 * | a link to nothing                              | a problem of this link                                                   |
 * | more than the limits allow                     | a problem of the folder that has most (`heaviest.ts`); the others are listed |
 *
 * A link counts as a file, since each may be a problem.
 */
import type { Dirent } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf } from '../../base/index.ts';
import { limits } from '../limits.ts';
import { compareText } from '../problem.ts';
import { isWithin } from './content.ts';
import { Weights } from './heaviest.ts';

export interface ListedFile {
  /** Relative to the root, with `/`. */
  readonly file: string;
  /** Its real path. */
  readonly path: string;
  /** Changes when the file is written or replaced. */
  readonly signature: string;
  /** By a link. What changes it has another name. */
  readonly isLinked: boolean;
}

export interface Unlisted {
  /** Relative to the root, and empty for the root itself. Its content is unknown. */
  readonly prefix: string;
  readonly message: string;
  readonly remedy: string;
  /** It existed a moment ago, so another listing may succeed. */
  readonly vanished: boolean;
}

export interface Listing {
  readonly files: readonly ListedFile[];
  /** Those below the root, relative to it. */
  readonly folders: readonly string[];
  readonly unlisted: readonly Unlisted[];
  /** Of these, what has too much in it. */
  readonly tooLarge: ReadonlySet<string>;
  /** The real path of the root, which is that of all files. */
  readonly place: string;
}

export interface ListingLimits {
  readonly files: number;
  readonly entries: number;
}

const documentFile = /\.(?:ya?ml|json)$/i;
const temporaryFile = /^(?:\.|node_modules$|4913$|#.*#$)|(?:~|\.swp)$/;

/** Whether files of this name are ignored. */
export function isSkipped(name: string): boolean {
  return temporaryFile.test(name);
}

export function isDocumentFile(name: string): boolean {
  return documentFile.test(name);
}

/** Lists a folder or a single file. Never throws: what can't be listed is in `unlisted`. */
export async function list(root: string, bounds: ListingLimits = limits): Promise<Listing> {
  return new Walk(root, bounds).run();
}

interface Step {
  /** Relative to the root. */
  readonly file: string;
  /** Its real path; of a link, the one of its folder with its name. */
  readonly place: string;
  readonly isLink: boolean;
  readonly isLinked: boolean;
}

/** So many folders are left out one by one. After that, all of the source is. */
const mostLeftOut = 100;

class Walk {
  readonly #name: string;
  readonly #limits: ListingLimits;
  #root = '';
  #files: ListedFile[] = [];
  #listed: string[] = [];
  #unlisted: Unlisted[] = [];
  readonly #seen = new Set<string>();
  #folders: Step[] = [];
  /** In the order in which they are followed. Those found meanwhile come after them. */
  #links: Step[] = [];
  #laterLinks: Step[] = [];
  readonly #entryWeights = new Weights();
  readonly #fileWeights = new Weights();
  readonly #leftOut = new Set<string>();

  constructor(name: string, bounds: ListingLimits) {
    this.#name = name;
    this.#limits = bounds;
  }

  async run(): Promise<Listing> {
    try {
      this.#root = await realpath(this.#name);
      const root = await stat(this.#root, { bigint: true });
      if (root.isFile()) {
        const signature = signatureOf(root);
        this.#files.push({ file: basename(this.#name), path: this.#root, signature, isLinked: true });
        return this.#found();
      }
      if (!root.isDirectory()) throw new Error('it is neither a folder nor a file');
      this.#seen.add(identityOf(root));
      this.#folders.push({ file: '', place: this.#root, isLink: false, isLinked: false });
    } catch (error) {
      this.#cannot('', error);
      return this.#found();
    }
    while (!this.#leftOut.has('')) {
      const folder = this.#folders.pop();
      const link = folder ? undefined : this.#nextLink();
      if (folder) await this.#folder(folder);
      else if (link) await this.#visit(link);
      else break;
    }
    return this.#found();
  }

  #found(): Listing {
    const { isLeftOut } = this;
    return {
      files: this.#files.filter(({ file }) => !isLeftOut(file)),
      folders: this.#listed.filter((folder) => this.#leftOut.has(folder) || !isLeftOut(folder)),
      unlisted: this.#unlisted,
      tooLarge: this.#leftOut,
      place: this.#root,
    };
  }

  #nextLink(): Step | undefined {
    if (this.#links.length === 0) {
      this.#links = this.#laterLinks.sort((left, right) => compareText(right.file, left.file));
      this.#laterLinks = [];
    }
    return this.#links.pop();
  }

  async #folder({ file: folder, place, isLinked }: Step): Promise<void> {
    if (this.isLeftOut(folder)) return;
    try {
      const entries = await this.#entriesOf(place);
      const steps: Step[] = [];
      for (const entry of entries) {
        if (isSkipped(entry.name)) continue;
        const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
        const isLink = entry.isSymbolicLink();
        const isFile = isDocumentFile(entry.name);
        if (!isLink && !entry.isDirectory() && !isFile) continue;
        steps.push({ file, place: join(place, entry.name), isLink, isLinked: isLinked || isLink });
      }
      this.#entryWeights.add(folder, entries.length);
      this.#fileWeights.add(folder, steps.filter((step) => step.isLink || isDocumentFile(step.file)).length);
      this.#stayWithinLimits();
      if (this.isLeftOut(folder)) return;
      this.#laterLinks.push(...steps.filter((step) => step.isLink));
      await Promise.all(steps.filter((step) => !step.isLink).map((step) => this.#visit(step)));
    } catch (error) {
      this.#cannot(folder, error);
    }
  }

  /** No more than are needed to see that they are too many. */
  async #entriesOf(place: string): Promise<Dirent[]> {
    const entries: Dirent[] = [];
    for await (const entry of await opendir(place, { bufferSize: 1024 })) {
      entries.push(entry);
      if (entries.length > this.#limits.entries) break;
    }
    // It may have been exchanged for a link since it was found.
    if (!isWithin(await realpath(place), this.#root)) throw new Error('it was exchanged for a link');
    return entries;
  }

  async #visit({ file, place, isLink, isLinked }: Step): Promise<void> {
    if (this.isLeftOut(file)) return;
    try {
      const path = isLink ? await realpath(place) : place;
      const found = await stat(path, { bigint: true });
      const isFile = found.isFile() && isDocumentFile(file);
      if (!isWithin(path, this.#root)) {
        if (isFile || found.isDirectory()) this.#unlisted.push({ prefix: file, ...leadsOut });
        return;
      }
      if (!isFile && !found.isDirectory()) return;
      const identity = identityOf(found);
      if (this.#seen.has(identity) && (isLinked || found.isDirectory())) return;
      this.#seen.add(identity);
      if (isFile) this.#files.push({ file, path, signature: signatureOf(found), isLinked });
      else {
        this.#folders.push({ file, place: path, isLink: false, isLinked });
        this.#listed.push(file);
      }
    } catch (error) {
      this.#cannot(file, error, isLink);
    }
  }

  /** Whether it, or a folder that it is in, has too much in it. */
  readonly isLeftOut = (file: string): boolean =>
    this.#leftOut.size > 0 && hasAncestorIn(this.#leftOut, file);

  #stayWithinLimits(): void {
    const bounds = [
      [this.#fileWeights, this.#limits.files],
      [this.#entryWeights, this.#limits.entries],
    ] as const;
    for (const [weights, most] of bounds) {
      while (weights.used > most) {
        const folder = this.#leftOut.size < mostLeftOut ? weights.heaviestFolder() : '';
        this.#fileWeights.leaveOut(folder);
        this.#entryWeights.leaveOut(folder);
        this.#leftOut.add(folder);
        const { files, entries } = this.#limits;
        this.#unlisted = this.#unlisted.filter(({ prefix }) => !this.isLeftOut(prefix));
        this.#unlisted.push({
          prefix: folder,
          message:
            folder === ''
              ? `holds more than ${files} files of documents, or ${entries} entries`
              : `has most of what is in the source, more than ${files} files of documents, or ${entries} entries; it is not read`,
          remedy: 'check that it is the right folder',
          vanished: false,
        });
      }
    }
  }

  #cannot(prefix: string, error: unknown, isLink = false): void {
    const vanished = (error as NodeJS.ErrnoException).code === 'ENOENT';
    this.#unlisted.push({
      prefix,
      message:
        isLink && vanished
          ? 'is a link to something that is not there'
          : `can't be read: ${messageOf(error)}`,
      remedy:
        isLink && vanished
          ? 'fix the link, or remove it'
          : 'check that it exists, is mounted, and readable by this user',
      vanished,
    });
  }
}

const leadsOut: Omit<Unlisted, 'prefix'> = {
  message: 'is a link to something outside of the source folder, so it is not read',
  remedy: 'put the files themselves there, mount them there, or use the folder that holds both as the source',
  vanished: false,
};

/** Whether one of them is the file itself, or a folder that it is in. */
export function hasAncestorIn(names: ReadonlySet<string>, file: string): boolean {
  for (let end = file.length; end !== -1; end = file.lastIndexOf('/', end - 1)) {
    if (names.has(file.slice(0, end))) return true;
    if (end === 0) return false;
  }
  return names.has('');
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

function signatureOf(found: {
  dev: bigint;
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}): string {
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
}
