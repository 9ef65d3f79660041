/**
 * The forms in which objects are answered, chosen by the Accept header: whole, only their metadata, or as rows of a table
 * for `kubectl get`. Pieces of JSON are put together as text, so that an object that is listed a thousand times is
 * serialised once.
 */
import { ApiError } from './errors.ts';
import { apiVersionOf, type Kind } from './kinds.ts';
import type { StoredObject } from './objects.ts';
import type { Entry, Change } from './store.ts';
import { columnDefinitions, rowCells } from './table.ts';

export interface Form {
  readonly as: 'Object' | 'PartialObject' | 'Table';
  /** Of meta.k8s.io. */
  readonly version: string;
  /** What a row of a table carries. */
  readonly include: string;
}

export function chooseForm(accept: string | undefined, query: URLSearchParams): Form {
  const include = query.get('includeObject') ?? 'Metadata';
  for (const range of (accept ?? '*/*').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== '*/*' && type !== 'application/*') continue;
    const given = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const version = given.get('v') ?? 'v1';
    const as = given.get('as');
    if (as === undefined) return { as: 'Object', version, include };
    if (as === 'Table') return { as: 'Table', version, include };
    if (as.startsWith('PartialObjectMetadata')) return { as: 'PartialObject', version, include };
  }
  throw new ApiError({
    code: 406,
    reason: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json',
  });
}

export function objectJson(kind: Kind, entry: Entry): string {
  const body = kind.form ? JSON.stringify(kind.form.toServed(entry.object)) : entry.body;
  return `{"kind":"${kind.kind}","apiVersion":"${apiVersionOf(kind)}",${body.slice(1)}`;
}

export function singleJson(kind: Kind, entry: Entry, form: Form): string {
  if (form.as === 'Table')
    return tableJson(kind, [entry], form, { resourceVersion: entry.object.metadata.resourceVersion });
  return form.as === 'PartialObject' ? metadataJson(entry, form) : objectJson(kind, entry);
}

interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Items of custom resources tell their kind; those of built-in kinds don't. */
export function listJson(kind: Kind, entries: readonly Entry[], form: Form, metadata: ListMetadata): string {
  if (form.as === 'Table') return tableJson(kind, entries, form, metadata);
  const isPartial = form.as === 'PartialObject';
  const item = isPartial
    ? (entry: Entry) => metadataJson(entry, form)
    : kind.schema || kind.form
      ? (entry: Entry) => objectJson(kind, entry)
      : (entry: Entry) => entry.body;
  const type = isPartial
    ? `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${form.version}"`
    : `"kind":"${kind.listKind}","apiVersion":"${apiVersionOf(kind)}"`;
  // As the real one: its list of partial objects is a nil slice when it is empty.
  const items = isPartial && entries.length === 0 ? 'null' : `[${entries.map(item).join(',')}]`;
  return `{${type},"metadata":${JSON.stringify(metadata)},"items":${items}}`;
}

/** One line of a watch; kept with the change, as every watch of a kind in one form gets the same. */
export function changeLine(kind: Kind, type: Change['type'], change: Change, form: Form): string {
  const key = `${type} ${kind.version} ${form.as} ${form.version} ${form.include}`;
  let line = change.lines.get(key);
  if (line === undefined) {
    line = eventLine(type, singleJson(kind, change.entry, form));
    change.lines.set(key, line);
  }
  return line;
}

export function eventLine(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

/** Says how far a watch has come, and nothing else. */
export function bookmarkLine(kind: Kind, revision: number, form: Form, endsInitialEvents: boolean): string {
  const annotations = endsInitialEvents ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...annotations };
  if (form.as === 'Table')
    return eventLine('BOOKMARK', tableJson(kind, [], form, { resourceVersion: String(revision) }));
  const [type, apiVersion] =
    form.as === 'PartialObject'
      ? ['PartialObjectMetadata', `meta.k8s.io/${form.version}`]
      : [kind.kind, apiVersionOf(kind)];
  return eventLine('BOOKMARK', JSON.stringify({ kind: type, apiVersion, metadata }));
}

function metadataJson(entry: Entry, form: Form): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${form.version}","metadata":${entry.metadata}}`;
}

function tableJson(kind: Kind, entries: readonly Entry[], form: Form, metadata: ListMetadata): string {
  const rows = entries.map((entry) => {
    const object = form.include === 'None' ? '' : `,"object":${rowObject(kind, entry, form)}`;
    return `{"cells":${JSON.stringify(rowCells(kind, served(kind, entry)))}${object}}`;
  });
  const columns = JSON.stringify(columnDefinitions(kind));
  const type = `"kind":"Table","apiVersion":"meta.k8s.io/${form.version}"`;
  return `{${type},"metadata":${JSON.stringify(metadata)},"columnDefinitions":${columns},"rows":[${rows.join(',')}]}`;
}

function rowObject(kind: Kind, entry: Entry, form: Form): string {
  return form.include === 'Object' ? objectJson(kind, entry) : metadataJson(entry, form);
}

function served(kind: Kind, { object }: Entry): StoredObject {
  return kind.form ? kind.form.toServed(object) : object;
}
