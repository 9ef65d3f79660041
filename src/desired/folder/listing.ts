/**
 * Lists the files of a folder that contain documents. It reads names only, and opens no file.
 *
 * Some names are skipped:
 * - names with a leading dot: `.git`, `.fleetkeeper`, an editor's `.#lock` and `.swp`, the `..data` of a Kubernetes volume
 *   (its files are found by the links beside it);
 * - `node_modules`;
 * - temporary files of editors.
 *
 * Symbolic links are followed. A file or folder that can be reached twice counts once, by its own name if possible. So
 * cycles end.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf } from '../../base/index.ts';
import { limits } from '../limits.ts';
import { compareText } from '../problem.ts';

export interface ListedFile {
  /** Relative to the root, with `/`. */
  readonly file: string;
  readonly path: string;
  /** Changes when the file is written or replaced. */
  readonly signature: string;
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
export async function list(root: string): Promise<Listing> {
  return new Walk(root).run();
}

interface Step {
  /** Relative to the root. */
  readonly file: string;
  readonly link: boolean;
}

class Walk {
  readonly #root: string;
  readonly #files: ListedFile[] = [];
  readonly #listed: string[] = [];
  readonly #unlisted: Unlisted[] = [];
  readonly #seen = new Set<string>();
  #folders: string[] = [''];
  #links: string[] = [];
  #entries = 0;

  constructor(root: string) {
    this.#root = root;
  }

  async run(): Promise<Listing> {
    try {
      const root = await stat(this.#root, { bigint: true });
      if (root.isFile()) {
        const signature = signatureOf(root);
        const file = { file: basename(this.#root), path: this.#root, signature };
        return { files: [file], folders: [], unlisted: [] };
      }
      if (!root.isDirectory()) throw new Error('it is neither a folder nor a file');
      this.#seen.add(`${root.dev}:${root.ino}`);
    } catch (error) {
      this.#cannot('', error);
      return this.#found();
    }
    while (this.#entries <= limits.entries && this.#files.length <= limits.files) {
      const folder = this.#folders.pop();
      if (folder !== undefined) await this.#folder(folder);
      else if (this.#links.length > 0) {
        const [next = '', ...rest] = this.#links.sort(compareText);
        this.#links = rest;
        await this.#visit({ file: next, link: true });
      } else return this.#found();
    }
    this.#unlisted.push({
      prefix: '',
      message: `holds more than ${limits.files} files of documents, or ${limits.entries} entries`,
      remedy: 'check that it is the right folder',
      vanished: false,
    });
    return this.#found();
  }

  #found(): Listing {
    return { files: this.#files, folders: this.#listed, unlisted: this.#unlisted };
  }

  async #folder(folder: string): Promise<void> {
    try {
      const entries = await readdir(join(this.#root, folder), { withFileTypes: true });
      this.#entries += entries.length;
      const steps: Step[] = [];
      for (const entry of entries) {
        const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (isSkipped(entry.name)) continue;
        if (entry.isSymbolicLink()) this.#links.push(file);
        else if (entry.isDirectory() || isDocumentFile(entry.name)) steps.push({ file, link: false });
      }
      await Promise.all(steps.map((step) => this.#visit(step)));
    } catch (error) {
      this.#cannot(folder, error);
    }
  }

  async #visit({ file, link }: Step): Promise<void> {
    try {
      const path = join(this.#root, file);
      const found = await stat(path, { bigint: true });
      const identity = `${found.dev}:${found.ino}`;
      if (link && this.#seen.has(identity)) return;
      if (found.isDirectory()) {
        this.#folders.push(file);
        this.#listed.push(file);
      } else if (found.isFile() && isDocumentFile(file)) {
        this.#files.push({ file, path, signature: signatureOf(found) });
      } else return;
      this.#seen.add(identity);
    } catch (error) {
      this.#cannot(file, error, link);
    }
  }

  #cannot(prefix: string, error: unknown, link = false): void {
    const vanished = (error as NodeJS.ErrnoException).code === 'ENOENT';
    this.#unlisted.push({
      prefix,
      message:
        link && vanished ? 'is a link to something that is not there' : `can't be read: ${messageOf(error)}`,
      remedy:
        link && vanished
          ? 'fix the link, or remove it'
          : 'check that it exists, is mounted, and readable by this user',
      vanished,
    });
  }
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
