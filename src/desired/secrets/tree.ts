/**
 * What is in the directory of `--secrets-dir` now: `NAMESPACE/NAME/KEY`. It decides nothing; `memory.ts` does.
 *
 * One request to the disk at a time. Node has four threads for files and for names of hosts, so a directory that hangs takes one
 * of them, and no pass waits for it.
 *
 * | found                                                | what it is                                                         |
 * |------------------------------------------------------|--------------------------------------------------------------------|
 * | a link that stays in the directory                   | followed, as in a mounted Secret (`KEY -> ..data/KEY`)             |
 * | a link that leads out of it, also for a moment       | a fault; nothing of its target is read                             |
 * | a name with a leading dot, but for keys              | skipped, and so is `..data` everywhere                             |
 * | another name that no Kubernetes object may have      | a fault; the name is shown without control characters              |
 * | a pipe, a device, a file where a directory belongs   | a fault; it is not opened                                          |
 * | a file that changes while it is read                 | a fault until it is read again: it is half written                 |
 * | an empty file                                        | a fault: a full disk leaves such files, and no value may be emptied |
 * | an empty directory                                   | not listed: it is what is left of a mount                          |
 * | more files than the limit                            | nothing is listed: it is the wrong directory                       |
 */
import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Sensitive, messageOf } from '../../base/index.ts';
import { decodeUtf8 } from '../data-documents.ts';
import { compareText, printable } from '../problem.ts';
import { isEncryptedText } from '../sops.ts';

export interface SecretsLimits {
  readonly fileBytes: number;
  readonly files: number;
  /** Of all directories. */
  readonly entries: number;
}

export const secretsLimits: SecretsLimits = { fileBytes: 64 * 1024, files: 10_000, entries: 100_000 };

export interface Fault {
  /** What follows the name. */
  readonly message: string;
  readonly remedy: string;
  /** It ends by itself, so another reading follows soon. */
  readonly isPassing?: true;
}

export interface FoundValue {
  readonly value: Sensitive<string>;
  readonly endsWithNewline: boolean;
  /** Others than the owner may read it. */
  readonly isOpen: boolean;
}

export type FoundFile = FoundValue | Fault;

export interface SecretsTree {
  /** Nothing is known of the directory. */
  readonly failed: Fault | undefined;
  /** By `namespace/name`, then by key. */
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, FoundFile>>;
  /** By `namespace` or `namespace/name`: what is in it is not known. */
  readonly unlisted: ReadonlyMap<string, Fault>;
  /** By path: what is no Secret, and should not be there. */
  readonly strays: ReadonlyMap<string, Fault>;
}

interface Cached {
  readonly signature: string;
  readonly found: FoundFile;
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const dataKey = /^(?!\.\.)(?!\.$)[-._a-zA-Z0-9]{1,253}$/;
/** What editors leave. */
const temporary = /~$|^#.*#$/;
const mountRemedy = 'check that it exists, is mounted, and readable by this user';

export class SecretsTreeReader {
  readonly #directory: string;
  readonly #limits: SecretsLimits;
  #cache = new Map<string, Cached>();

  constructor(directory: string, limits = secretsLimits) {
    this.#directory = directory;
    this.#limits = limits;
  }

  /**
   * Never throws. With `anew`, files are opened even if they look unchanged: two writes within one tick of the file system's clock
   * have the same time.
   */
  async read(anew = false): Promise<SecretsTree> {
    const walk = new Walk(this.#directory, this.#limits, anew ? new Map() : this.#cache);
    const tree = await walk.run();
    if (!tree.failed) this.#cache = walk.cache;
    return tree;
  }
}

class OutOfBounds extends Error {}

class Walk {
  readonly #directory: string;
  readonly #limits: SecretsLimits;
  readonly #known: ReadonlyMap<string, Cached>;
  readonly cache = new Map<string, Cached>();
  readonly #secrets = new Map<string, Map<string, FoundFile>>();
  readonly #unlisted = new Map<string, Fault>();
  readonly #strays = new Map<string, Fault>();
  #root = '';
  #entries = 0;
  #files = 0;

  constructor(directory: string, limits: SecretsLimits, known: ReadonlyMap<string, Cached>) {
    this.#directory = directory;
    this.#limits = limits;
    this.#known = known;
  }

  async run(): Promise<SecretsTree> {
    try {
      this.#root = await realpath(this.#directory);
      await this.#namespaces();
    } catch (error) {
      return this.#failed(failureOf(error));
    }
    if (this.#secrets.size === 0 && this.#unlisted.size === 0) {
      const message = 'has no Secret in it';
      return this.#failed({ message, remedy: 'check that it is mounted: files are NAMESPACE/NAME/KEY' });
    }
    return { failed: undefined, secrets: this.#secrets, unlisted: this.#unlisted, strays: this.#strays };
  }

  #failed(failed: Fault): SecretsTree {
    return { failed, secrets: new Map(), unlisted: new Map(), strays: this.#strays };
  }

  async #namespaces(): Promise<void> {
    for (const name of await this.#namesIn(this.#root)) {
      if (name.startsWith('.') || temporary.test(name)) continue;
      if (!label.test(name)) this.#strays.set(name, badName('a namespace'));
      else await this.#inDirectory(name, join(this.#root, name), (place) => this.#secretsOf(name, place));
    }
  }

  async #secretsOf(namespace: string, place: string): Promise<void> {
    const names = (await this.#namesIn(place)).filter(
      (name) => !name.startsWith('.') && !temporary.test(name),
    );
    if (names.length === 0) this.#unlisted.set(namespace, isEmpty('Secrets'));
    for (const name of names) {
      const secret = `${namespace}/${name}`;
      if (!subdomain.test(name)) this.#strays.set(secret, badName('a Secret'));
      else await this.#inDirectory(secret, join(place, name), (inside) => this.#keysOf(secret, inside));
    }
  }

  async #keysOf(secret: string, place: string): Promise<void> {
    const keys = (await this.#namesIn(place)).filter((key) => !key.startsWith('..') && !temporary.test(key));
    if (keys.length === 0) {
      this.#unlisted.set(secret, isEmpty('keys'));
      return;
    }
    const found = new Map<string, FoundFile>();
    for (const key of keys) {
      if (!dataKey.test(key)) this.#strays.set(`${secret}/${key}`, badName('a key'));
      else found.set(key, await this.#file(`${secret}/${key}`, join(place, key)));
    }
    this.#secrets.set(secret, found);
  }

  /** `file`: relative to the directory, for messages. */
  async #inDirectory(file: string, place: string, work: (place: string) => Promise<void>): Promise<void> {
    try {
      const inside = await realpath(place);
      if (!this.#holds(inside)) this.#unlisted.set(file, leadsOut);
      else if ((await stat(inside)).isDirectory()) await work(inside);
      else this.#strays.set(file, { message: 'is no directory', remedy: 'files are NAMESPACE/NAME/KEY' });
    } catch (error) {
      if (error instanceof OutOfBounds) throw error;
      this.#unlisted.set(file, failureOf(error));
    }
  }

  async #file(file: string, place: string): Promise<FoundFile> {
    this.#files += 1;
    if (this.#files > this.#limits.files) {
      throw new OutOfBounds(`has more than ${this.#limits.files} files`);
    }
    try {
      const isLink = (await lstat(place)).isSymbolicLink();
      const real = isLink ? await realpath(place) : place;
      if (!this.#holds(real)) return leadsOut;
      const facts = await lstat(real, { bigint: true });
      if (!facts.isFile()) return { message: 'is no plain file', remedy: 'put a file there' };
      const signature = `${real} ${signatureOf(facts)}`;
      const known = this.#known.get(file);
      const found =
        known?.signature === signature ? known.found : await this.#content(place, real, signatureOf(facts));
      if ('value' in found) this.cache.set(file, { signature, found });
      return found;
    } catch (error) {
      return failureOf(error);
    }
  }

  /** `before`: of the file that is meant. Whoever may write here may exchange it between any two of these calls. */
  async #content(place: string, real: string, before: string): Promise<FoundFile> {
    await using handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = await handle.stat({ bigint: true });
    if (!facts.isFile()) return { message: 'is no plain file', remedy: 'put a file there' };
    if (facts.size > secretsLimits.fileBytes) return tooLarge;
    const buffer = Buffer.alloc(secretsLimits.fileBytes + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    if (length > secretsLimits.fileBytes) return tooLarge;
    const after = signatureOf(await handle.stat({ bigint: true }));
    const isMeant = signatureOf(facts) === before && after === before && (await realpath(place)) === real;
    if (!isMeant)
      return { message: 'changed while it was read', remedy: 'it is read again', isPassing: true };
    return valueOf(buffer.subarray(0, length), (Number(facts.mode) & 0o077) !== 0);
  }

  async #namesIn(place: string): Promise<string[]> {
    const names = await readdir(place);
    this.#entries += names.length;
    if (this.#entries > this.#limits.entries) {
      throw new OutOfBounds(`has more than ${this.#limits.entries} entries`);
    }
    return names.sort(compareText);
  }

  #holds(real: string): boolean {
    const root = this.#root.endsWith(sep) ? this.#root : `${this.#root}${sep}`;
    return real.startsWith(root);
  }
}

function valueOf(bytes: Buffer, isOpen: boolean): FoundFile {
  const text = decodeUtf8(bytes);
  bytes.fill(0);
  if (text === undefined) {
    return { message: 'is not text (UTF-8), so no variable can take it', remedy: 'write it as text' };
  }
  if (text === '') {
    return {
      message: 'is empty',
      remedy: 'write the value; for an empty one, use `value: ""` in the document',
    };
  }
  if (isEncryptedText(text)) {
    return { message: 'is encrypted by SOPS', remedy: 'put what `sops decrypt` prints in its place' };
  }
  return { value: new Sensitive(text), endsWithNewline: /[\r\n]$/.test(text), isOpen };
}

const tooLarge: Fault = {
  message: `is larger than ${secretsLimits.fileBytes / 1024} KiB`,
  remedy: 'shorten it, or move it away',
};

const leadsOut: Fault = {
  message: 'is a link to something that is not in the directory, so it is not read',
  remedy: 'put the file itself there',
};

function badName(what: string): Fault {
  return { message: `is no name that ${what} may have`, remedy: 'rename it, or move it away' };
}

function isEmpty(what: string): Fault {
  return {
    message: `is an empty directory, which may be what is left of a mount`,
    remedy: `put its ${what} there, or remove the directory`,
  };
}

function failureOf(error: unknown): Fault {
  if (error instanceof OutOfBounds) {
    return { message: error.message, remedy: 'check that it is the right directory' };
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return { message: 'is not there', remedy: mountRemedy };
  return { message: `can't be read: ${printable(messageOf(error))}`, remedy: mountRemedy };
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}
