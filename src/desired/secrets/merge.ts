/**
 * Secrets of `--secrets-dir` beside those of documents. Pure.
 *
 * | a Secret                                         | what is used                                       |
 * |--------------------------------------------------|----------------------------------------------------|
 * | in a document only, or in the directory only     | its values                                         |
 * | in both, whether or not the document is valid    | neither: `DuplicateSecret`                         |
 * | in the directory, and in a document of SOPS      | that of the directory; the document is refused     |
 * | in neither, but a part of the directory is unknown | none: objects that refer to it are held            |
 */
import type { ObjectKey } from '../../resources/index.ts';
import { faulty, type SecretData } from '../data-documents.ts';
import type { ParsedFile } from '../parse.ts';
import { placeText } from '../problem.ts';
import { referencesOf } from '../references.ts';
import type { DesiredObject, Problem } from '../source.ts';
import type { SecretsReading } from './memory.ts';

export interface Beside {
  readonly used: readonly ParsedFile[];
  readonly objects: ReadonlyMap<ObjectKey, DesiredObject>;
  /** Those of documents. The others are added. */
  readonly secrets: Map<string, SecretData>;
}

/** Returns what is wrong with both together. */
export function addSecrets(
  { directory, secrets: found, unknown }: SecretsReading,
  { used, objects, secrets }: Beside,
): Problem[] {
  const problems: Problem[] = [];
  for (const [name, data] of found) secrets.set(name, data);
  for (const document of used.flatMap(({ documents }) => documents)) {
    if (document.is !== 'data' || document.kind !== 'Secret' || document.isEncrypted) continue;
    const { name, location } = document;
    if (!found.has(name)) continue;
    const message = `Secret ${name} is at ${placeText(location)} and in ${directory}/${name}, so neither is used`;
    const fault = { reason: 'DuplicateSecret', message, remedy: 'keep one of them' } as const;
    secrets.set(name, faulty(fault));
    const { file, line } = location;
    problems.push({ file, line, path: undefined, message, remedy: fault.remedy, key: undefined });
  }
  if (unknown.size > 0) addUnknown(unknown, objects, secrets);
  return problems;
}

function addUnknown(
  unknown: SecretsReading['unknown'],
  objects: Beside['objects'],
  secrets: Beside['secrets'],
): void {
  for (const object of objects.values()) {
    for (const { kind, namespace, name } of referencesOf(object)) {
      const fault = unknown.get(namespace) ?? unknown.get('');
      const place = `${namespace}/${name}`;
      if (fault && kind === 'Secret' && !secrets.has(place)) secrets.set(place, faulty(fault));
    }
  }
}
