/** What a request is about, from its method and address. */

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** A request on a resource: `/apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]`. */
export interface ResourceRequest {
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Undefined for all namespaces, and for what lies in none. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Undefined for other addresses, such as `/version` and discovery; throws URIError. */
export function parseResourceRequest(method: string, url: URL): ResourceRequest | undefined {
  const parts = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const isCore = parts[0] === 'api';
  if (!isCore && parts[0] !== 'apis') return undefined;
  const [group = '', version = '', ...rest] = isCore ? ['', ...parts.slice(1)] : parts.slice(1);
  if (rest.length === 0) return undefined;
  const isNamespaced =
    rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const [namespace, plural = '', name, subresource] = isNamespaced ? rest.slice(1) : [undefined, ...rest];
  const watches = ['true', '1'].includes(url.searchParams.get('watch') ?? '');
  const verb = verbOf(method, name !== undefined, watches);
  return verb && { verb, group, version, plural, namespace, name, subresource };
}

const namespaceSubresources = new Set(['status', 'finalize']);

function verbOf(method: string, hasName: boolean, watches: boolean): Verb | undefined {
  switch (method) {
    case 'GET':
      return hasName ? 'get' : watches ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection';
    default:
      return undefined;
  }
}
