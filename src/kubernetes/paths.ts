/** Addresses of the Kubernetes API, and its verbs. */
import { invariant } from '../base/index.ts';
import type { ResourceType, Scope, Target } from './types.ts';

export function collectionPath(type: ResourceType, namespace: string | undefined): string {
  const group = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const within = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`;
  return `${group}${within}/${type.plural}`;
}

export function objectPath({ type, namespace, name }: Target, subresource?: string): string {
  const beneath = subresource === undefined ? '' : `/${subresource}`;
  return `${collectionPath(type, namespace)}/${segment(name)}${beneath}`;
}

/** Names come from objects that others have written. A dot or two would lead elsewhere, encoded or not. */
function segment(name: string): string {
  invariant(!/^\.{0,2}$/.test(name), `a name in a path must not be ${JSON.stringify(name)}`);
  return encodeURIComponent(name);
}

/** With a question mark, or empty. */
export function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

export function selectors({ fieldSelector, labelSelector }: Scope): Record<string, string | undefined> {
  return { fieldSelector, labelSelector };
}

/** `containerservices.fleetkeeper.dev`. */
export function resourceName({ group, plural }: ResourceType): string {
  return group === '' ? plural : `${plural}.${group}`;
}

export function apiVersionOf({ group, version }: ResourceType): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `the containerservices.fleetkeeper.dev default/trainer`. */
export function describeTarget({ type, namespace, name }: Target): string {
  return `${resourceName(type)} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** `containerservices.fleetkeeper.dev in all namespaces`. */
export function describeScope(type: ResourceType, namespace: string | undefined): string {
  if (!type.namespaced) return resourceName(type);
  return `${resourceName(type)} in ${namespace === undefined ? 'all namespaces' : `the namespace ${namespace}`}`;
}
