/** What the server asks of the metadata of every object, and what it does not let a client change. */
import { fieldError, type FieldError } from './errors.ts';
import type { Kind } from './kinds.ts';
import { fieldsOf, isFields, isSame, listOf, type Metadata } from './objects.ts';

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const annotationsLimit = 256 * 1024;

const subdomainDetail =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelDetail =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

export function metadataErrors(kind: Kind, metadata: Partial<Metadata>): readonly FieldError[] {
  return [
    ...nameErrors(kind, metadata.name ?? ''),
    ...labelErrors(metadata),
    ...annotationErrors(metadata),
    ...finalizerErrors(metadata),
    ...ownerErrors(metadata),
  ];
}

function nameErrors(kind: Kind, name: string): FieldError[] {
  const at = 'metadata.name';
  if (name === '') return [fieldError('FieldValueRequired', at, 'name or generateName is required')];
  if (kind.group === 'rbac.authorization.k8s.io') {
    return /[/%]/.test(name) ? [fieldError('FieldValueInvalid', at, "may not contain '/'", name)] : [];
  }
  const isLabel = kind.storage === 'namespaces' || kind.storage === 'services';
  const limit = isLabel ? 63 : 253;
  const fits = (isLabel ? label : subdomain).test(name);
  if (name.length > limit)
    return [fieldError('FieldValueInvalid', at, `must be no more than ${limit} characters`, name)];
  return fits ? [] : [fieldError('FieldValueInvalid', at, isLabel ? labelDetail : subdomainDetail, name)];
}

function isQualifiedName(key: string): boolean {
  const [name = '', prefix] = key.split('/').toReversed();
  return (
    key.split('/').length <= 2 &&
    name.length <= 63 &&
    qualifiedName.test(name) &&
    (prefix === undefined || subdomain.test(prefix))
  );
}

const keyDetail =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

function labelErrors({ labels = {} }: Partial<Metadata>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const errors: FieldError[] = [];
    if (!isQualifiedName(key))
      errors.push(fieldError('FieldValueInvalid', 'metadata.labels', keyDetail, key));
    if (value.length > 63 || !labelValue.test(value)) {
      const detail =
        value.length > 63
          ? 'must be no more than 63 characters'
          : 'a valid label must be an empty string or consist of alphanumeric characters';
      errors.push(fieldError('FieldValueInvalid', 'metadata.labels', detail, value));
    }
    return errors;
  });
}

function annotationErrors({ annotations = {} }: Partial<Metadata>): FieldError[] {
  const entries = Object.entries(annotations);
  const errors = entries
    .filter(([key]) => !isQualifiedName(key.toLowerCase()))
    .map(([key]) => fieldError('FieldValueInvalid', 'metadata.annotations', keyDetail, key));
  const size = entries.reduce((sum, [key, value]) => sum + key.length + Buffer.byteLength(value), 0);
  if (size > annotationsLimit) {
    const message = `Too long: may not be more than ${annotationsLimit} bytes`;
    errors.push({ reason: 'FieldValueTooLong', field: 'metadata.annotations', message });
  }
  return errors;
}

const ownFinalizers = new Set(['orphan', 'foregroundDeletion']);

function finalizerErrors({ finalizers = [] }: Partial<Metadata>): FieldError[] {
  return finalizers
    .filter(
      (finalizer) =>
        !ownFinalizers.has(finalizer) && !(isQualifiedName(finalizer) && finalizer.includes('/')),
    )
    .filter((finalizer) => !finalizer.endsWith('.k8s.io'))
    .map((finalizer) =>
      fieldError(
        'FieldValueInvalid',
        'metadata.finalizers',
        'name is neither a standard finalizer name nor is it fully qualified',
        finalizer,
      ),
    );
}

function ownerErrors({ ownerReferences = [] }: Partial<Metadata>): FieldError[] {
  return ownerReferences.flatMap((owner, index) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((field) => !owner[field])
      .map((field) =>
        fieldError(
          'FieldValueInvalid',
          `metadata.ownerReferences[${index}].${field}`,
          `${field} must not be empty`,
          '',
        ),
      ),
  );
}

/** While an object is deleted, its finalizers only become fewer. */
export function finalizerUpdateErrors(old: Metadata, next: Metadata): readonly FieldError[] {
  if (old.deletionTimestamp === undefined) return [];
  const added = (next.finalizers ?? []).filter((finalizer) => !old.finalizers?.includes(finalizer));
  if (added.length === 0) return [];
  const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
  return [fieldError('FieldValueForbidden', 'metadata.finalizers', detail)];
}

/** Only what a client may say, with the types that it must have; throws the sentence of a decoder. */
export function sentMetadata(value: unknown): Partial<Metadata> {
  const {
    name,
    generateName,
    namespace,
    uid,
    resourceVersion,
    labels,
    annotations,
    finalizers,
    ownerReferences,
  } = fieldsOf(value);
  const texts = { name, generateName, namespace, uid, resourceVersion };
  for (const [field, text] of Object.entries(texts)) {
    if (text !== undefined && text !== null && typeof text !== 'string')
      throw new TypeError(
        `json: cannot unmarshal ${typeof text} into Go struct field ObjectMeta.metadata.${field} of type string`,
      );
  }
  for (const [field, map] of Object.entries({ labels, annotations })) {
    for (const text of Object.values(fieldsOf(map))) {
      if (typeof text !== 'string')
        throw new TypeError(
          `json: cannot unmarshal ${typeof text} into Go struct field ObjectMeta.metadata.${field} of type string`,
        );
    }
  }
  const given = {
    ...texts,
    labels: nonEmpty(labels),
    annotations: nonEmpty(annotations),
    finalizers: listOf(finalizers).length > 0 ? finalizers : undefined,
    ownerReferences: listOf(ownerReferences).length > 0 ? ownerReferences : undefined,
  };
  return Object.fromEntries(
    Object.entries(given).filter(([, field]) => field !== undefined && field !== null && field !== ''),
  );
}

function nonEmpty(map: unknown): unknown {
  return isFields(map) && Object.keys(map).length > 0 ? map : undefined;
}

/** Whether two versions of an object say the same, but for what only counts versions. */
export function isUnchanged(
  old: { readonly metadata: Metadata },
  next: { readonly metadata: Metadata },
): boolean {
  const plain = (object: { readonly metadata: Metadata }) => {
    const { resourceVersion: _version, ...metadata } = object.metadata;
    return { ...object, metadata };
  };
  return isSame(plain(old), plain(next));
}

const letters = 'bcdfghjklmnpqrstvwxz2456789';

export function generatedName(prefix: string): string {
  const suffix = Array.from({ length: 5 }, () => letters[Math.floor(Math.random() * letters.length)]);
  return prefix.slice(0, 58) + suffix.join('');
}
