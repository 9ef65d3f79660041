/**
 * A YAML file of the operator, checked by a schema and by rules beyond it. An error has file, line and path, and
 * never a value: the file may hold keys.
 */
import { LineCounter, isMap, isNode, isScalar, isSeq, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import { UserError } from '../../base/user-error.ts';

type Path = readonly PropertyKey[];

export interface Mistake {
  readonly path: Path;
  readonly message: string;
}

interface FileForm<Schema extends z.ZodType> {
  readonly schema: Schema;
  /** What is wrong in a file that fits the schema. */
  readonly mistakeIn: (value: z.output<Schema>) => Mistake | undefined;
  /** What to do about any mistake. */
  readonly remedy: string;
}

/** Throws a `UserError` for the first mistake. An empty file is an empty map. */
export function parseYamlFile<Schema extends z.ZodType>(
  text: string,
  file: string,
  { schema, mistakeIn, remedy }: FileForm<Schema>,
): z.output<Schema> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntax] = document.errors;
  if (syntax) {
    const { line, col } = lines.linePos(syntax.pos[0]);
    // The library's own messages quote the text.
    const what = syntax.code.toLowerCase().replaceAll('_', ' ');
    throw new UserError(`${file}:${line}:${col}: not valid YAML: ${what}`, remedy);
  }
  const parsed = schema.safeParse(valueOf(document, file, remedy) ?? {});
  const mistake = parsed.success ? mistakeIn(parsed.data) : firstMistake(parsed.error);
  if (parsed.success && !mistake) return parsed.data;
  const { path, message } = mistake ?? { path: [], message: 'is not of the documented form' };
  throw new UserError(`${file}:${lineOf(document, lines, path)}: ${pathText(path)}: ${message}`, remedy);
}

function valueOf(document: Document, file: string, remedy: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new UserError(`${file}: an alias (*name) can't be followed`, remedy, error);
  }
}

/** Of an unknown member, the path is the member's. */
function firstMistake(error: z.ZodError): Mistake | undefined {
  const [issue] = error.issues;
  if (issue?.code !== 'unrecognized_keys') return issue;
  return { path: [...issue.path, ...issue.keys.slice(0, 1)], message: 'there is no such field' };
}

function pathText(path: Path): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '') || 'the document';
}

/** Of the deepest part of the path that is written in the file. */
function lineOf(document: Document, lines: LineCounter, path: Path): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const part of path) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === part) : undefined;
    const found = pair ? pair.key : isSeq(node) ? node.items[Number(part)] : undefined;
    if (!isNode(found)) break;
    offset = found.range?.[0] ?? offset;
    node = pair ? pair.value : found;
  }
  return lines.linePos(offset).line || 1;
}
