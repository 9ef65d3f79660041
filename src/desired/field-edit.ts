/**
 * Sets one text field in the `spec` of one document of a file. Pure. Only the characters of its value are replaced, or one
 * line is added. So comments, order, quoting and all other documents stay as they are. The result is read again, and counts
 * only if every other value is equal.
 */
import {
  LineCounter,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  parseAllDocuments,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { sameValue } from '../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { isPlainMap, joinedMark, readYaml } from './yaml.ts';

export interface EditedText {
  readonly kind: 'edited';
  readonly text: string;
  /** From 1, in the new text. */
  readonly line: number;
  /** The line before, without its line break. Undefined: it was added. */
  readonly before: string | undefined;
  readonly after: string;
}

interface RefusedEdit {
  readonly kind: 'refused';
  /** From 1. */
  readonly line: number;
  /** What it is about the document, as the end of a sentence that begins with `it`. */
  readonly why: string;
}

export interface FieldEdit {
  readonly key: ObjectKey;
  /** In `spec`. */
  readonly field: string;
  readonly value: string;
  /** The value of the field in the object that was read from this text. Undefined: it has none. */
  readonly known: string | undefined;
}

/** A part of the text to replace, which may be empty. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Other fields share its line, so that is not shown. */
  readonly shares: boolean;
}

type Entry = Pair<Node, Node | null>;

/** `text`: YAML or JSON, without a byte order mark. */
export function setSpecField(text: string, edit: FieldEdit): EditedText | RefusedEdit {
  const lineCounter = new LineCounter();
  const composed = parseAllDocuments(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const lineOf = (offset: number) => lineCounter.linePos(offset).line || 1;
  const refuse = (offset: number, why: string): RefusedEdit => ({
    kind: 'refused',
    line: lineOf(offset),
    why,
  });
  const found = Array.isArray(composed) ? composed.filter(({ contents }) => isOf(contents, edit.key)) : [];
  const [document] = found;
  if (!document || !isMap(document.contents) || found.length > 1) {
    const mark = text.search(joinedMark);
    if (mark !== -1) return refuse(mark, 'has a byte order mark (U+FEFF) before a `---` of its file');
    return refuse(0, 'is an item of a `List`, or takes its name from an alias');
  }
  const spec = entryOf(document.contents, 'spec')?.value;
  if (!isMap(spec)) return refuse(document.range[0], 'takes its `spec` from an alias');
  const map = spec as YAMLMap<Node, Node | null>;
  const present = entryOf(map, edit.field);
  if (!present && edit.known !== undefined && hasField(text, edit)) {
    return refuse(startOf(map), `takes \`${edit.field}\` from a map that is merged into it (\`<<\`)`);
  }
  const obstacle = present && obstacleTo(present, edit);
  if (present && obstacle !== undefined) return refuse(startOf(present.key), obstacle);
  const splice = present ? replacement(map, present, edit) : addition(text, map, edit);
  if (splice) {
    const edited = text.slice(0, splice.start) + splice.text + text.slice(splice.end);
    if (changesOnly(text, edited, edit)) return shown(text, edited, splice, edit, present);
  }
  return refuse(
    startOf(present?.key ?? map),
    'shares values with other fields (`&anchor`), or has a form that can only be edited by hand',
  );
}

function isOf(contents: Node | null, key: ObjectKey): boolean {
  if (!isMap(contents)) return false;
  const { kind, namespace, name } = parseObjectKey(key);
  const metadata = entryOf(contents, 'metadata')?.value;
  if (textOf(entryOf(contents, 'kind')?.value) !== kind || !isMap(metadata)) return false;
  const given = entryOf(metadata, 'namespace');
  const isThere = (given ? textOf(given.value) : 'default') === namespace;
  return isThere && textOf(entryOf(metadata, 'name')?.value) === name;
}

function entryOf(map: YAMLMap, name: string): Entry | undefined {
  return (map.items as Entry[]).find(({ key }) => textOf(key) === name);
}

function textOf(node: Node | null | undefined): unknown {
  return isScalar(node) ? node.value : undefined;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** Also if it comes from a merged map. */
function hasField(text: string, { key, field }: FieldEdit): boolean {
  return readYaml(text).documents.some(({ value }) => {
    const { spec } = isPlainMap(value) && isKeyOf(value, key) ? value : {};
    return isPlainMap(spec) && Object.hasOwn(spec, field);
  });
}

function isKeyOf(value: Readonly<Record<string, unknown>>, key: ObjectKey): boolean {
  const { kind, namespace, name } = parseObjectKey(key);
  const { metadata } = value;
  if (!isPlainMap(metadata) || value['kind'] !== kind || metadata['name'] !== name) return false;
  return (metadata['namespace'] ?? 'default') === namespace;
}

function obstacleTo({ value }: Entry, { field, known }: FieldEdit): string | undefined {
  if (isAlias(value)) return `takes \`${field}\` from an alias (\`*${value.source}\`)`;
  if (!isScalar(value)) return `has no text in \`${field}\``;
  if (value.anchor !== undefined) return `shares \`${field}\` with other fields (\`&${value.anchor}\`)`;
  if (value.tag !== undefined) return `gives \`${field}\` a tag (\`!\`)`;
  if (value.type === 'BLOCK_LITERAL' || value.type === 'BLOCK_FOLDED') {
    return `has \`${field}\` as a block of text`;
  }
  return value.value === known ? undefined : `has a \`${field}\` that is made from something else`;
}

// ---- where to write ------------------------------------------------------------------------------------

function replacement(spec: YAMLMap, { value }: Entry, edit: FieldEdit): Splice {
  const scalar = value as Scalar;
  const [start = 0, end = 0] = scalar.range ?? [];
  const text = written(edit.value, scalar.type);
  return { start, end, text, shares: spec.flow === true };
}

/** Behind the last field. */
function addition(text: string, spec: YAMLMap<Node, Node | null>, edit: FieldEdit): Splice | undefined {
  const last = spec.items.at(-1);
  if (!last) return undefined;
  const margin = marginOf(text, startOf(last.key));
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  if (spec.flow) {
    const at = endOf(last);
    const quote = isScalar(last.key) && last.key.type === 'QUOTE_DOUBLE';
    const field = quote ? JSON.stringify(edit.field) : edit.field;
    const entry = `${field}: ${written(edit.value, quote ? 'QUOTE_DOUBLE' : 'PLAIN')}`;
    const gap = margin === undefined ? ' ' : `${newline}${margin}`;
    return { start: at, end: at, text: `,${gap}${entry}`, shares: true };
  }
  if (margin === undefined) return undefined;
  const entry = `${margin}${edit.field}: ${written(edit.value, 'PLAIN')}`;
  const behind = lineBehind(text, endOf(last), margin.length);
  const isCut = behind === text.length && !text.endsWith('\n');
  const added = isCut ? `${newline}${entry}` : `${entry}${newline}`;
  return { start: behind, end: behind, text: added, shares: false };
}

/** The end of the last value in it, without a comment behind it. */
function endOf({ key, value }: Entry): number {
  const node = value ?? key;
  if (isCollection(node) && !node.flow) {
    const last = node.items.at(-1);
    if (last !== undefined)
      return endOf(isMap(node) ? (last as Entry) : ({ key: last as Node, value: null } as Entry));
  }
  return node.range?.[1] ?? startOf(node);
}

/** The start of the line behind a value, and behind comments that are indented deeper than the field. */
function lineBehind(text: string, end: number, margin: number): number {
  let at = end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end);
  for (;;) {
    const line = text.slice(at, nextLine(text, at));
    const comment = /^ *(?=#)/.exec(line);
    if (!comment || comment[0].length <= margin) return at;
    at += line.length;
  }
}

function nextLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end + 1;
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function lineAt(text: string, offset: number): string {
  return text.slice(lineStart(text, offset), nextLine(text, offset)).trimEnd();
}

/** What is before it on its line, if that is nothing but blanks. */
function marginOf(text: string, offset: number): string | undefined {
  const before = text.slice(lineStart(text, offset), offset);
  return /^[ \t]*$/.test(before) ? before : undefined;
}

// ---- what to write -------------------------------------------------------------------------------------

/** A text that YAML takes for nothing but a text, in all of its versions. */
const plainText = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][a-z0-9_-]*$/i;

function written(value: string, style: Scalar['type']): string {
  if (style === 'QUOTE_SINGLE' && /^[\x20-\x7e]*$/.test(value)) return `'${value.replaceAll("'", "''")}'`;
  return style === 'PLAIN' && plainText.test(value) ? value : JSON.stringify(value);
}

/** All documents have the values that they had, apart from this field. */
function changesOnly(before: string, after: string, { key, field, value }: FieldEdit): boolean {
  const [read, now] = [readYaml(before), readYaml(after)];
  if (now.refused || read.documents.length !== now.documents.length) return false;
  return read.documents.every((document, index) => {
    const next = now.documents[index];
    if (!next || next.broken !== document.broken || next.faults.length !== document.faults.length) {
      return false;
    }
    if (!isPlainMap(document.value) || !isKeyOf(document.value, key)) {
      return sameValue(document.value, next.value);
    }
    const { spec } = document.value;
    return (
      isPlainMap(spec) && sameValue({ ...document.value, spec: { ...spec, [field]: value } }, next.value)
    );
  });
}

function shown(
  before: string,
  after: string,
  { start, end, text, shares }: Splice,
  { field, value }: FieldEdit,
  present: Entry | undefined,
): EditedText {
  const at = start + text.trimEnd().length - 1;
  const line = after.slice(0, at).split('\n').length;
  const old = before.slice(start, end);
  const isWhole = !shares && !old.includes('\n');
  const edited = { kind: 'edited', text: after, line } as const;
  if (isWhole) {
    return { ...edited, before: present && lineAt(before, start), after: lineAt(after, at) };
  }
  return {
    ...edited,
    before: present && `  … ${field}: ${String(textOf(present.value))} …`,
    after: `  … ${field}: ${value} …`,
  };
}
