/**
 * Edits the documents of services in a folder: what `restart`, `stop` and `start` write. All edits are made in memory first, so
 * a document that can't be edited leaves all files as they are.
 */
import { UserError, type Random } from '../../base/index.ts';
import {
  objectOf,
  parseFile,
  placeText,
  readFolder,
  setSpecField,
  type DesiredObject,
  type DesiredSnapshot,
  type EditedText,
} from '../../desired/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { parseObjectKey, type ContainerServiceSpec, type ObjectKey } from '../../resources/index.ts';
import { didYouMean } from '../account/connection.ts';
import { openSourceFile, replaceText, type SourceFile } from './source-file.ts';

type ServiceObject = DesiredObject<typeof containerService.name>;

/** What the document is to have. Undefined: it has it already. */
export type Wanted = (spec: ContainerServiceSpec, name: string) => FieldValue | undefined;

export interface FieldValue {
  readonly field: 'desiredState' | 'restartToken';
  readonly value: string;
}

export interface DocumentEdit {
  readonly key: ObjectKey;
  /** `file:line`. */
  readonly place: string;
  /** Undefined: nothing had to be changed. */
  readonly edited: EditedText | undefined;
}

interface OpenFile {
  readonly opened: SourceFile;
  readonly mark: string;
  text: string;
}

const byteOrderMark = '\uFEFF';

/** Throws a `UserError` for the first document that can't be edited; then no file has changed. */
export async function editServices(
  source: string,
  keys: readonly ObjectKey[],
  wanted: Wanted,
  random: Random,
): Promise<readonly DocumentEdit[]> {
  const snapshot = await readFolder(source);
  const files = new Map<string, OpenFile>();
  const edits: DocumentEdit[] = [];
  for (const key of keys) {
    const object = serviceOf(snapshot, key);
    const field = wanted(object.spec, object.name);
    edits.push({
      key,
      ...(field
        ? await editDocument(source, object, field, files)
        : { place: placeText(object.location), edited: undefined }),
    });
  }
  await writeAll([...files.values()], random);
  return edits;
}

async function writeAll(files: readonly OpenFile[], random: Random): Promise<void> {
  const done: string[] = [];
  for (const { opened, mark, text } of files) {
    try {
      await replaceText(opened, Buffer.from(mark + text), random);
    } catch (error) {
      if (!(error instanceof UserError) || done.length === 0) throw error;
      throw new UserError(`${error.message}; ${done.join(', ')} is written already`, error.remedy, error);
    }
    done.push(opened.file);
  }
}

function serviceOf({ objects, unusable }: DesiredSnapshot, key: ObjectKey): ServiceObject {
  const object = objectOf(objects, containerService.name, key);
  if (object) return object;
  const { namespace, name } = parseObjectKey(key);
  const [problem] = unusable.get(key) ?? [];
  if (problem) {
    throw new UserError(
      `the document of ${name} can't be used: ${placeText(problem)}: ${problem.message}`,
      problem.remedy,
    );
  }
  const names = [...objects.keys()]
    .map(parseObjectKey)
    .filter((other) => other.kind === containerService.name && other.namespace === namespace);
  throw new UserError(
    `there is no document of a ${containerService.name} ${name} in the namespace ${namespace}`,
    didYouMean(
      name,
      names.map((other) => other.name),
    ),
  );
}

async function editDocument(
  source: string,
  object: ServiceObject,
  { field, value }: FieldValue,
  files: Map<string, OpenFile>,
): Promise<{ place: string; edited: EditedText }> {
  const { key, location } = object;
  const byHand = (place: string) => `set \`spec.${field}: ${JSON.stringify(value)}\` at ${place} by hand`;
  const file = files.get(location.file) ?? (await openText(source, object));
  // Only an explicit value is in the text; `desiredState` has a default.
  const known = object.spec[field];
  const edited = setSpecField(file.text, { key, field, value, known });
  if (edited.kind === 'refused') {
    const place = placeText({ file: file.opened.file, line: edited.line });
    throw new UserError(
      `${place}: the document of ${object.name} is not edited: it ${edited.why}`,
      byHand(place),
    );
  }
  files.set(location.file, { ...file, text: edited.text });
  return { place: placeText({ file: file.opened.file, line: edited.line }), edited };
}

/** The text must be the one that the object was read from. */
async function openText(source: string, { key, location, spec }: ServiceObject): Promise<OpenFile> {
  const opened = await openSourceFile(source, location.file);
  const { documents } = parseFile(location.file, opened.bytes);
  const same = documents.find((document) => document.is === 'object' && document.id === key);
  if (same?.is !== 'object' || JSON.stringify(same.object.spec) !== JSON.stringify(spec)) {
    throw new UserError(`${opened.file} has changed meanwhile, and is left as it is`, 'repeat the command');
  }
  const text = opened.bytes.toString('utf8');
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  return { opened, mark, text: text.slice(mark.length) };
}
