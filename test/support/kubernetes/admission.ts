/** What a client sent, on its way to be stored: decoded, pruned and filled in, put together with what is there, validated. */
import { badRequest, conflict, fieldError, invalid, type ApiError } from './errors.ts';
import { apiVersionOf, type Kind } from './kinds.ts';
import { finalizerUpdateErrors, metadataErrors, sentMetadata } from './metadata.ts';
import {
  isFields,
  textOf,
  valueAt,
  without,
  type Fields,
  type Metadata,
  type StoredObject,
} from './objects.ts';

/** One write, apart from its body. */
export interface Write {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly subresource: string | undefined;
  readonly fieldManager: string;
  /** `Ignore`, `Warn` or `Strict`: what becomes of unknown fields. */
  readonly fieldValidation: string;
  readonly isDryRun: boolean;
  /** Of a patch: how errors show it. */
  readonly patchText?: string;
  /** Texts for Warning headers. */
  readonly warnings: string[];
}

/** In its stored form, without `apiVersion` and `kind`. */
export function decode(kind: Kind, body: unknown): Fields {
  if (!isFields(body)) throw badRequest('the object provided is unrecognized: not an object');
  const { apiVersion = '', kind: sentKind = '' } = body;
  const expected = apiVersionOf(kind);
  if (apiVersion !== expected) {
    const both = `(${String(apiVersion)}) does not match the expected API version (${expected})`;
    throw badRequest(`the API version in the data ${both}`);
  }
  if (sentKind !== kind.kind) {
    throw badRequest(
      `the kind in the data (${String(sentKind)}) does not match the expected kind (${kind.kind})`,
    );
  }
  try {
    sentMetadata(body['metadata']);
  } catch (error) {
    throw cannotBeHandled(kind, (error as Error).message);
  }
  refuseOtherTimes(kind, body);
  const content = without(body, 'apiVersion', 'kind');
  return kind.form ? kind.form.toStored(content) : content;
}

const microTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/;

function refuseOtherTimes(kind: Kind, body: Fields): void {
  for (const path of kind.microTimes) {
    const time = valueAt(body, path.split('.'));
    if (time === undefined || time === null || microTime.test(textOf(time))) continue;
    throw cannotBeHandled(kind, `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05.000000Z07:00"`);
  }
}

/** With defaults; fields that the schema does not know are gone, warned of or refused. */
export function accept(write: Write, content: Fields): Fields {
  const { kind, fieldValidation, patchText } = write;
  if (!kind.schema) return content;
  const { object, unknown } = kind.schema.accept(content);
  const problems = unknown.map((path) => `unknown field "${path}"`);
  if (problems.length > 0 && fieldValidation === 'Strict') {
    const problem = `strict decoding error: ${problems.join(', ')}`;
    if (patchText === undefined) throw cannotBeHandled(kind, problem);
    throw invalid(kind, '', [fieldError('FieldValueInvalid', 'patch', problem, patchText)]);
  }
  if (fieldValidation === 'Warn') write.warnings.push(...problems);
  return object;
}

function cannotBeHandled({ kind, version }: Kind, why: string): ApiError {
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
}

/** What an applied configuration reaches: status by its subresource, all else without it. */
export function reachable(kind: Kind, subresource: string | undefined, config: Fields): Fields {
  if (subresource === 'status')
    return { ...('status' in config && { status: config['status'] }), metadata: {} };
  return kind.hasStatus ? without(config, 'status') : config;
}

/** The next object: of status only, or of everything else. */
export function replaced(write: Write, old: StoredObject, sent: Fields): StoredObject {
  const { kind, subresource } = write;
  if (subresource === 'status') return withStatus(old, sent['status']);
  const object = { ...sent, metadata: replacedMetadata(old.metadata, sentMetadata(sent['metadata'])) };
  return kind.hasStatus ? withStatus(object, old['status']) : object;
}

function withStatus(object: StoredObject, status: unknown): StoredObject {
  const rest = { ...without(object, 'status'), metadata: object.metadata };
  return status === undefined ? rest : { ...rest, status };
}

function replacedMetadata(old: Metadata, given: Partial<Metadata>): Metadata {
  const {
    labels: _labels,
    annotations: _annotations,
    finalizers: _finalizers,
    ownerReferences: _owners,
    ...own
  } = old;
  const { labels, annotations, finalizers, ownerReferences } = given;
  const replacements = { labels, annotations, finalizers, ownerReferences };
  const present = Object.entries(replacements).filter(([, value]) => value !== undefined);
  return { ...own, ...Object.fromEntries(present) };
}

/** Another object under the same name, in another place, or at another version than the client knows. */
export function refuseOther(kind: Kind, { metadata }: StoredObject, given: Partial<Metadata>): void {
  refuseOtherName(metadata.name, given);
  refuseOtherNamespace(metadata.namespace, given);
  if (given.uid !== undefined && given.uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${metadata.uid}`;
    throw conflict(kind, metadata.name, why);
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== metadata.resourceVersion) {
    throw conflict(kind, metadata.name);
  }
}

export function refuseOtherName(name: string, given: Partial<Metadata>): void {
  if (given.name === undefined || given.name === name) return;
  throw badRequest(`the name of the object (${given.name}) does not match the name on the URL (${name})`);
}

export function refuseOtherNamespace(namespace: string | undefined, given: Partial<Metadata>): void {
  if (given.namespace === undefined || given.namespace === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

export function refuseInvalid(kind: Kind, object: StoredObject, old: StoredObject | undefined): void {
  const typed = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const errors = [
    ...metadataErrors(kind, object.metadata),
    ...(old ? finalizerUpdateErrors(old.metadata, object.metadata) : []),
    ...(kind.check?.(object) ?? []),
    ...(kind.schema?.errors({ ...typed, ...object }, old && { ...typed, ...old }) ?? []),
  ];
  if (errors.length > 0) throw invalid(kind, object.metadata.name, errors);
}
