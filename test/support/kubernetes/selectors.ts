/** `labelSelector` and `fieldSelector`, as predicates. */
import { badRequest } from './errors.ts';
import type { Kind } from './kinds.ts';
import { textOf, valueAt, type StoredObject } from './objects.ts';

export type Selector = (object: StoredObject) => boolean;

/** Undefined when everything is selected; throws 400. */
export function parseSelectors(kind: Kind, query: URLSearchParams): Selector | undefined {
  const parts = [
    ...parseLabels(query.get('labelSelector') ?? ''),
    ...parseFields(kind, query.get('fieldSelector') ?? ''),
  ];
  return parts.length === 0 ? undefined : (object) => parts.every((part) => part(object));
}

const requirement = /^\s*(!)?\s*([^\s=!,()]+)\s*(?:(==|=|!=)\s*([^\s,()]*)|\s(in|notin)\s*\(([^()]*)\))?\s*$/;

function parseLabels(text: string): readonly Selector[] {
  if (text.trim() === '') return [];
  return text.split(/,(?![^(]*\))/).map((part) => {
    const match = requirement.exec(part);
    if (!match) throw badRequest(`unable to parse requirement: found '${part}'`);
    const [, not, key = '', operator, value = '', set, values = ''] = match;
    const wanted = set ? values.split(',').map((one) => one.trim()) : [value];
    return labelSelector(key, wanted, set ?? operator, not !== undefined);
  });
}

function labelSelector(
  key: string,
  wanted: readonly string[],
  operator: string | undefined,
  not: boolean,
): Selector {
  const labelOf = (object: StoredObject) => object.metadata.labels?.[key];
  if (operator === undefined) return (object) => (labelOf(object) === undefined) === not;
  const isNegative = operator === '!=' || operator === 'notin';
  return (object) => {
    const label = labelOf(object);
    return (label !== undefined && wanted.includes(label)) !== isNegative;
  };
}

function parseFields(kind: Kind, text: string): readonly Selector[] {
  if (text.trim() === '') return [];
  const ofMetadata = kind.namespaced ? ['metadata.name', 'metadata.namespace'] : ['metadata.name'];
  const selectable = new Set([...ofMetadata, ...kind.selectable]);
  return text.split(/(?<!\\),/).map((part) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/s.exec(part);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const [, field = '', operator, escaped = ''] = match;
    if (!selectable.has(field)) throw badRequest(`field label not supported: ${field}`);
    const wanted = escaped.replaceAll(/\\(.)/g, '$1');
    const path = field.split('.');
    return (object) => (textOf(valueAt(object, path)) === wanted) !== (operator === '!=');
  });
}
