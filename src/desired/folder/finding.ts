/** Whether a folder that nobody named has documents of a fleet. Files are read until the first one is found. */
import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../limits.ts';
import { group } from '../../resources/index.ts';
import { isDocumentFile, isSkipped, list } from './listing.ts';

/** In YAML and in JSON. */
const ofAFleet = new RegExp(`apiVersion["']?\\s*:\\s*["']?${group.replaceAll('.', '\\.')}/`);

/**
 * `deep`: in the folders below it, too. What can't be read holds nothing: a command that is given the folder by its name
 * reports why.
 */
export async function holdsFleet(folder: string, deep: boolean): Promise<boolean> {
  for (const file of deep ? await filesBelow(folder) : await filesIn(folder)) {
    if (await holdsDocument(file)) return true;
  }
  return false;
}

async function filesBelow(folder: string): Promise<string[]> {
  return (await list(folder)).files.map((file) => file.path).sort();
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const wanted = names.filter((name) => isDocumentFile(name) && !isSkipped(name)).sort();
  return wanted.slice(0, limits.files).map((name) => path.join(folder, name));
}

async function holdsDocument(file: string): Promise<boolean> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > limits.fileBytes) return false;
    return ofAFleet.test(await readFile(file, 'utf8'));
  } catch {
    return false;
  }
}
