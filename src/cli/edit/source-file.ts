/**
 * Replaces the text of one file of a source. The new text is written beside it, under a name that a manager skips, and then
 * takes its place in one step. So a reader finds the old text or the new one, and nothing else. Mode and owner stay.
 *
 * A file is left alone if it has changed since it was read, is read-only, has several names (hard links), or is a link out of
 * the source.
 */
import { constants, type BigIntStats } from 'node:fs';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { UserError, messageOf, type Random } from '../../base/index.ts';

export interface SourceFile {
  /** As people name it. */
  readonly file: string;
  /** Without links. */
  readonly place: string;
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

/** `file`: relative to the source, or its name if the source is a single file. */
export async function openSourceFile(source: string, file: string): Promise<SourceFile> {
  try {
    const isFolder = (await stat(source)).isDirectory();
    const name = isFolder ? path.join(source, file) : source;
    const place = await realpath(name);
    const root = isFolder ? await realpath(source) : path.dirname(place);
    const stats = await stat(place, { bigint: true });
    const isOutside = path.relative(root, place).split(path.sep)[0] === '..';
    const obstacle = isOutside ? `it is a link to ${place}, outside of ${source}` : obstacleIn(stats);
    if (obstacle !== undefined) throw new UserError(`${name} is not edited: ${obstacle}`, 'edit it by hand');
    return { file: name, place, bytes: await readFile(place), stats };
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`can't read ${file} of ${source}: ${messageOf(error)}`, 'check the path', error);
  }
}

function obstacleIn({ mode, nlink }: BigIntStats): string | undefined {
  if ((mode & 0o222n) === 0n) return 'it is read-only';
  return nlink > 1n
    ? `it has ${nlink} names (hard links), of which the others would keep the old text`
    : undefined;
}

/** Throws a `UserError`, and then nothing has changed. */
export async function replaceText(opened: SourceFile, text: Buffer, random: Random): Promise<void> {
  const { file, place, stats } = opened;
  const folder = path.dirname(place);
  const beside = path.join(folder, `.${path.basename(place)}.${random.uuid()}.tmp`);
  try {
    await writeWhole(beside, text, stats);
    await requireUnchanged(opened);
    await rename(beside, place);
    await syncFolder(folder);
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined);
    if (error instanceof UserError) throw error;
    throw new UserError(
      `can't write ${file}: ${messageOf(error)}`,
      'check that this user may write the file and its folder; it is as it was',
      error,
    );
  }
}

async function writeWhole(beside: string, text: Buffer, { mode, uid, gid }: BigIntStats): Promise<void> {
  await using handle = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  await handle.writeFile(text);
  const own = await handle.stat({ bigint: true });
  if (own.uid !== uid || own.gid !== gid) await handle.chown(Number(uid), Number(gid));
  await handle.chmod(Number(mode & 0o7777n));
  await handle.sync();
}

async function requireUnchanged({ file, place, bytes, stats }: SourceFile): Promise<void> {
  const now = await stat(place, { bigint: true });
  if (now.ino === stats.ino && now.mtimeNs === stats.mtimeNs && (await readFile(place)).equals(bytes)) return;
  throw new UserError(`${file} has changed meanwhile, and is left as it is`, 'repeat the command');
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, constants.O_RDONLY);
  // Some file systems have no such operation for folders.
  await handle.sync().catch(() => undefined);
}
