/**
 * Reads a listed file. Whoever may write in a part of the source may exchange a file, or a folder above it, for a link or a pipe after it was
 * listed. So a link is not followed here, nothing is waited for, and what was opened has to be in the source.
 */
import { constants } from 'node:fs';
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { messageOf } from '../../base/index.ts';
import { limits } from '../limits.ts';

export type Content =
  | { readonly bytes: Buffer; readonly vanished: false }
  | {
      readonly bytes: undefined;
      /** Another listing may show what there is now. */
      readonly vanished: boolean;
      readonly message: string;
      readonly remedy: string;
    };

/** `path` and `root` are real paths. */
export async function contentOf(path: string, root: string): Promise<Content> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile() || !isWithin(await placeOf(handle, path), root)) return exchanged;
    if (found.size > limits.fileBytes) return tooLarge;
    const bytes = await bytesOf(handle, found.size);
    return bytes ? { bytes, vanished: false } : tooLarge;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP') return exchanged;
    const message = `can't be read: ${messageOf(error)}`;
    const remedy = 'make it readable by this user, or move it away';
    return { bytes: undefined, vanished: code === 'ENOENT', message, remedy };
  }
}

export function isWithin(place: string, root: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

/** Where the opened file is. Where the system does not show that: where its name leads to now. */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  const shown = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => '');
  return shown.startsWith('/') ? shown : await realpath(path);
}

/** Undefined: it has grown beyond the limit meanwhile. */
async function bytesOf(handle: FileHandle, size: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(size + 1);
    const { bytesRead } = await handle.read(part, 0, part.length, length);
    if (bytesRead === 0) return Buffer.concat(parts, length);
    parts.push(part.subarray(0, bytesRead));
    length += bytesRead;
    if (length > limits.fileBytes) return undefined;
  }
}

const exchanged: Content = {
  bytes: undefined,
  vanished: true,
  message: "can't be read: it was exchanged for something else",
  remedy: 'put a plain file there',
};

const tooLarge: Content = {
  bytes: undefined,
  vanished: false,
  message: `is larger than ${limits.fileBytes / 1024 / 1024} MiB`,
  remedy: 'split it, or move it out of the folder',
};
