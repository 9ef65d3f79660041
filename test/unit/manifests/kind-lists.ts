/**
 * The lists of kinds in YAML, from the declarations of the kinds: the rights in `manifests/`, and the files of `crds/`. `npm run rights`
 * writes them anew. Everything else in these files is written by hand.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { managedKinds, traitsOf, type ManagedKind } from '../../../src/resources/index.ts';

const root = path.join(import.meta.dirname, '../../..');
export const listFiles = [
  ...globSync('manifests/**/*.yaml', { cwd: root }),
  'crds/kustomization.yaml',
].sort();

function plurals(kinds: readonly ManagedKind[] = managedKinds): string[] {
  return kinds.map((kind) => traitsOf(kind).plural).sort();
}

/** Who may write these does not decide where keys are sent. */
const withoutAccounts = plurals(managedKinds.filter((kind) => traitsOf(kind).home !== 'itself'));

/** A list of several kinds is one of all, or of all but those that are accounts. */
function rightsIn(text: string): string {
  const known = new Set(plurals());
  return text
    .replaceAll(/^( *)resources: \[([a-z, ]+)\]$/gm, (line, indent: string, list: string) => {
      const named = list.split(', ').filter((plural) => known.has(plural));
      if (named.length < 2) return line;
      const all = named.some((plural) => !withoutAccounts.includes(plural)) ? plurals() : withoutAccounts;
      return `${indent}resources: [${all.join(', ')}]`;
    })
    .replaceAll(/^( *)- [a-z]+\/status\n(?:\1- [a-z]+\/status\n)*/gm, (_lines, indent: string) =>
      plurals()
        .map((plural) => `${indent}- ${plural}/status\n`)
        .join(''),
    );
}

function definitionsIn(text: string): string {
  const files = plurals().map((plural) => `  - ${plural}.yaml\n`);
  return text.replace(/(?: {2}- [a-z]+\.yaml\n)+/, files.join(''));
}

export function listsAsTheyAre(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

export function listsAsDeclared(file: string): string {
  const text = listsAsTheyAre(file);
  return file.startsWith('crds/') ? definitionsIn(text) : rightsIn(text);
}

if (import.meta.main) {
  for (const file of listFiles) writeFileSync(path.join(root, file), listsAsDeclared(file));
}
