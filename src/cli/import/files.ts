/**
 * Puts files into a folder, all of them or none, and never over one that is there. They are written beside their places
 * first, in a folder whose name starts with a dot (which a manager that watches skips), and then linked into them: a
 * link fails where something is already.
 */
import { constants } from 'node:fs';
import { access, copyFile, link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UserError, messageOf } from '../../base/index.ts';
import { ignoreText } from '../ignored-files.ts';

export interface NewFile {
  /** Relative to the folder. */
  readonly file: string;
  readonly text: string;
}

export async function addFiles(folder: string, files: readonly NewFile[]): Promise<void> {
  const taken = await takenPlaces(folder, files);
  if (taken.length > 0) throw overwrites(folder, taken);
  await withUserErrors(folder, () => mkdir(folder, { recursive: true }));
  const staging = await withUserErrors(folder, () => mkdtemp(path.join(folder, '.import-')));
  const placed: string[] = [];
  try {
    for (const [index, { file, text }] of files.entries()) {
      const staged = path.join(staging, String(index));
      const place = path.join(folder, file);
      await writeFile(staged, text, { flag: 'wx' });
      await mkdir(path.dirname(place), { recursive: true });
      await put(staged, place);
      placed.push(place);
    }
  } catch (error) {
    await Promise.all(placed.map((place) => rm(place, { force: true })));
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw overwrites(folder, [messageOf(error)]);
    throw cannotWrite(folder, error);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** What git is not to take, such as the state that the first `apply` writes. A file that is there stays as it is. */
export async function addIgnored(folder: string): Promise<void> {
  const place = path.join(folder, '.gitignore');
  try {
    await writeFile(place, ignoreText(), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(folder, error);
  }
}

async function takenPlaces(folder: string, files: readonly NewFile[]): Promise<string[]> {
  const taken: string[] = [];
  for (const { file } of files) {
    if (await isThere(path.join(folder, file))) taken.push(file);
  }
  return taken;
}

async function isThere(file: string): Promise<boolean> {
  try {
    await access(file, constants.F_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where there are no hard links, a copy: it does not overwrite either. */
async function put(staged: string, place: string): Promise<void> {
  try {
    await link(staged, place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    await copyFile(staged, place, constants.COPYFILE_EXCL);
  }
}

async function withUserErrors<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw cannotWrite(folder, error);
  }
}

const shownFiles = 10;

function overwrites(folder: string, files: readonly string[]): UserError {
  const more = files.length > shownFiles ? ` and ${files.length - shownFiles} more` : '';
  return new UserError(
    `there is something in ${folder} already: ${files.slice(0, shownFiles).join(', ')}${more}; nothing was written`,
    'an import never overwrites: choose another --output, or move those files away',
  );
}

function cannotWrite(folder: string, error: unknown): UserError {
  return new UserError(
    `can't write into ${folder}: ${messageOf(error)}`,
    'check that it is a folder, and that this user may write there',
    error,
  );
}
