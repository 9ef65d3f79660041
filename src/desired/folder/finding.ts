/** Whether a folder that nobody named has documents of a fleet. Files are read until the first one is found. */
import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../limits.ts';
import { group, managedKinds } from '../../resources/index.ts';
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
    const text = await readFile(file, 'utf8');
    const documents = text.trimStart().startsWith('{') ? [text] : text.split(/^---/m);
    return documents.some((document) => ofAFleet.test(document) && mayBeOfAFleet(kindOf(document)));
  } catch {
    return false;
  }
}

/** Plan files, policies and printed statuses have the same group, and are no documents. One without a kind that is found so is read by others. */
function mayBeOfAFleet(kind: unknown): boolean {
  return kind === undefined || kind === 'List' || managedKinds.some((managed) => managed === kind);
}

function kindOf(document: string): unknown {
  if (!document.trimStart().startsWith('{')) return /^kind:\s*["']?(\w+)/m.exec(document)?.[1];
  try {
    return (JSON.parse(document) as { readonly kind?: unknown }).kind;
  } catch {
    return undefined;
  }
}
