/** Namespace and name of a document, and what to write where they can't be used. */
import { printable } from './problem.ts';
import { isPlainMap } from './yaml.ts';

export interface Identity {
  readonly namespace: string;
  readonly name: string;
}

const nameShape = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Namespace and name, or the field of `metadata` that is unusable. `isDoubtful`: a field that was not read as it is written. */
export function identityOf(
  document: unknown,
  isDoubtful: (path: string) => boolean,
): Identity | 'name' | 'namespace' {
  const { name, namespace = 'default' } = metadataOf(document);
  if (typeof name !== 'string' || !nameShape.test(name)) return 'name';
  if (['kind', 'metadata', 'metadata.<<', 'metadata.name'].some(isDoubtful)) return 'name';
  if (typeof namespace !== 'string' || !nameShape.test(namespace)) return 'namespace';
  return isDoubtful('metadata.namespace') ? 'namespace' : { name, namespace };
}

/** Undefined for a name that is only doubtful. */
export function identityAdvice(
  document: unknown,
  field: 'name' | 'namespace',
): [message: string, remedy: string] | undefined {
  const given = metadataOf(document)[field];
  if (given === undefined) return ['is missing', `add it: the document needs a ${field}`];
  const rule = 'write it in lower-case letters, digits, "-" and ".", as a Kubernetes name';
  if (typeof given !== 'string') return [`is not a ${field} that can be used`, rule];
  if (nameShape.test(given)) return undefined;
  const fitting = given
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  const such = nameShape.test(fitting) ? `, such as \`${fitting}\`` : '';
  return [`is not a ${field} that can be used: \`${printable(given, 80)}\``, `${rule}${such}`];
}

function metadataOf(document: unknown): Readonly<Record<string, unknown>> {
  const { metadata } = document as { metadata?: unknown };
  return isPlainMap(metadata) ? metadata : {};
}
