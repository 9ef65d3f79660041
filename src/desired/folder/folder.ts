/** Combines all files of a source into one snapshot. Pure. The order of the files does not matter. */
import type { ObjectKey } from '../../resources/index.ts';
import { VersionedMap } from '../../base/index.ts';
import { limits } from '../limits.ts';
import type { SecretData } from '../data-documents.ts';
import { desiredObjects } from '../objects.ts';
import type { DataDocument, ParsedDocument, ParsedFile } from '../parse.ts';
import { compareProblems, compareText, placeText } from '../problem.ts';
import { addSecrets } from '../secrets/merge.ts';
import type { SecretsReading } from '../secrets/memory.ts';
import type { DesiredObject, DesiredSnapshot, Problem } from '../source.ts';
import { Weights } from './heaviest.ts';

export interface SourceFile extends ParsedFile {
  /**
   * The file was missing from the last listing only, perhaps because an editor is replacing it. Its old
   * content still counts, but another file with the same document wins, since it may have been renamed.
   */
  readonly missing?: boolean;
  /** Of the bytes, including newer content that has not been confirmed yet. */
  readonly digest?: string;
}

/** What is known of the folder apart from the files that were read. */
export interface FolderState {
  /** For messages. */
  readonly name: string;
  /** For what could not be listed. */
  readonly problems: readonly Problem[];
  readonly complete: boolean;
  /** Those below it, relative to it. */
  readonly folders: ReadonlySet<string>;
  /** Of `--secrets-dir`. */
  readonly secrets?: SecretsReading | undefined;
}

const wholeFolder: FolderState = { name: '.', problems: [], complete: true, folders: new Set() };

export function assemble(
  files: readonly SourceFile[],
  sequence: number,
  folder: FolderState = wholeFolder,
): DesiredSnapshot {
  const problems: Problem[] = [...folder.problems, ...(folder.secrets?.problems ?? [])];
  const used = withinLimit(files, folder, problems);
  const objects = new Map<ObjectKey, DesiredObject>();
  const unusable = new Map<ObjectKey, readonly Problem[]>();
  const secrets = new Map<string, SecretData>();
  const configMaps = new Map<string, SecretData>();

  for (const written of byIdentity(used).values()) {
    const [first] = written;
    if (written.length > 1) {
      const problem = duplicateProblem(written);
      problems.push(problem);
      if (first.is !== 'data') unusable.set(first.id, [...problemsOf(written), problem]);
    } else if (first.is === 'object') objects.set(first.id, first.object);
    else if (first.is === 'unusable') unusable.set(first.id, first.problems);
    else if (first.data) mapFor(first, secrets, configMaps).set(first.name, first.data);
  }

  if (folder.secrets) problems.push(...addSecrets(folder.secrets, { used, objects, secrets }));
  const isWhole = folder.complete && used.length === files.length && used.every((file) => file.complete);
  const complete = isWhole && folder.secrets?.complete !== false;
  const empty = isWhole && used.every((file) => file.documentCount === 0);
  if (empty) problems.push(emptyProblem(folder.name));
  problems.push(...used.flatMap((file) => file.problems));
  problems.sort(compareProblems);
  const there = files.filter(isThere);
  const contents = there.map(
    ({ file, digest = '', documentCount }) => [file, { digest, documentCount }] as const,
  );
  return {
    sequence,
    objects: desiredObjects(objects),
    unusable: VersionedMap.of(unusable),
    secrets: VersionedMap.of(secrets),
    configMaps: VersionedMap.of(configMaps),
    files: new Map(contents),
    folders: folder.folders,
    problems,
    complete,
    empty,
  };
}

function mapFor<Value>({ kind }: DataDocument, secrets: Value, configMaps: Value): Value {
  return kind === 'Secret' ? secrets : configMaps;
}

/**
 * The files in the order of their names. If they have more documents than the limit, those are left out that have most, in the folder that has
 * most: who adds very many documents is to lose these, and nobody else. The rest of the source counts as unknown, so nothing is deleted.
 */
function withinLimit(files: readonly SourceFile[], folder: FolderState, problems: Problem[]): SourceFile[] {
  const sorted = [...files].sort((left, right) => compareText(left.file, right.file));
  const weights = new Weights();
  for (const { file, documentCount } of sorted) weights.add(file, documentCount);
  const leftOut = new Set<string>();
  while (weights.used > limits.documents) {
    const file = weights.heaviestFile();
    weights.leaveOut(file);
    leftOut.add(file);
  }
  if (leftOut.size === 0) return sorted;
  problems.push({
    file: folder.name,
    line: undefined,
    path: undefined,
    message: `there are more than ${limits.documents} documents, so the files that have most are not used: ${someOf([...leftOut])}`,
    remedy: 'check that this is the right folder, or split the fleet',
    key: undefined,
  });
  return sorted.filter(({ file }) => !leftOut.has(file));
}

type Written = [ParsedDocument, ...ParsedDocument[]];

function byIdentity(files: readonly SourceFile[]): Map<string, Written> {
  const groups = new Map<string, Written>();
  for (const file of [...files.filter(isThere), ...files.filter((candidate) => !isThere(candidate))]) {
    for (const document of file.documents) {
      const written = groups.get(document.id);
      if (!written) groups.set(document.id, [document]);
      else if (isThere(file)) written.push(document);
    }
  }
  return groups;
}

function isThere(file: SourceFile): boolean {
  return file.missing !== true;
}

function problemsOf(written: Written): Problem[] {
  return written.flatMap((document) => (document.is === 'unusable' ? document.problems : []));
}

const placesShown = 5;

function someOf(names: readonly string[]): string {
  const more = names.length > placesShown ? ` and ${names.length - placesShown} more` : '';
  return `${names.slice(0, placesShown).join(', ')}${more}`;
}

function duplicateProblem(written: Written): Problem {
  const [{ id, is, location }] = written;
  const places = someOf(written.map((document) => placeText(document.location)));
  return {
    file: location.file,
    line: location.line,
    path: undefined,
    message: `${id} is defined ${written.length} times, at ${places}; none of them is used`,
    remedy: 'keep one of them',
    key: is === 'data' ? undefined : id,
  };
}

function emptyProblem(name: string): Problem {
  return {
    file: name,
    line: undefined,
    path: undefined,
    message: 'there is no document in it',
    remedy:
      'check that --source is the right folder (*.yaml, *.yml and *.json are read), and that it is mounted',
    key: undefined,
  };
}
