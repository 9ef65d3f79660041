/** Every document for people, by its path from the root of the repository. */
import { globSync, readdirSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '../../..');

export const documents: readonly string[] = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...globSync('docs/**/*.md', { cwd: root }).toSorted(),
];
