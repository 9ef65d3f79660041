/** What the server tells of itself: its version, and which resources it serves. */
import { apiVersionOf, type Kind, type Kinds } from './kinds.ts';

const version = {
  major: '1',
  minor: '33',
  gitVersion: 'v1.33.0',
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2025-04-23T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: 'linux/amd64',
};

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Resources that are only asked, never stored. */
const reviews: Readonly<Record<string, readonly object[]>> = {
  'authorization.k8s.io/v1': [
    {
      name: 'selfsubjectaccessreviews',
      singularName: '',
      namespaced: false,
      kind: 'SelfSubjectAccessReview',
      verbs: ['create'],
    },
    {
      name: 'subjectaccessreviews',
      singularName: '',
      namespaced: false,
      kind: 'SubjectAccessReview',
      verbs: ['create'],
    },
  ],
  'authentication.k8s.io/v1': [
    { name: 'tokenreviews', singularName: '', namespaced: false, kind: 'TokenReview', verbs: ['create'] },
  ],
};

/** Undefined when there is no such document. */
export function discover(kinds: Kinds, path: string): object | undefined {
  const parts = path.split('/').filter(Boolean);
  const apiVersions = [...new Set([...kinds.all().map(apiVersionOf), ...Object.keys(reviews)])];
  const groups = [
    ...new Set(apiVersions.filter((one) => one.includes('/')).map((one) => one.split('/')[0] ?? '')),
  ];
  switch (parts[0]) {
    case undefined:
      return {
        paths: [
          '/api',
          '/api/v1',
          '/apis',
          ...apiVersions.filter((one) => one.includes('/')).map((one) => `/apis/${one}`),
          '/healthz',
          '/livez',
          '/openapi/v2',
          '/openapi/v3',
          '/readyz',
          '/version',
        ],
      };
    case 'version':
      return version;
    case 'api':
      if (parts.length === 1)
        return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
      return parts[1] === 'v1' && parts.length === 2 ? resourceList(kinds, 'v1') : undefined;
    case 'apis': {
      const [, group = '', ofGroup] = parts;
      if (parts.length === 1) {
        return {
          kind: 'APIGroupList',
          apiVersion: 'v1',
          groups: groups.map((name) => groupOf(name, apiVersions)),
        };
      }
      if (!groups.includes(group)) return undefined;
      if (ofGroup === undefined)
        return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group, apiVersions) };
      const apiVersion = `${group}/${ofGroup}`;
      return apiVersions.includes(apiVersion) && parts.length === 3
        ? resourceList(kinds, apiVersion)
        : undefined;
    }
    default:
      return undefined;
  }
}

function groupOf(name: string, apiVersions: readonly string[]): object {
  const versions = apiVersions
    .filter((apiVersion) => apiVersion.startsWith(`${name}/`))
    .map((groupVersion) => ({ groupVersion, version: groupVersion.split('/')[1] }));
  return { name, versions, preferredVersion: versions[0] };
}

function resourceList(kinds: Kinds, groupVersion: string): object {
  const own = kinds.all().filter((kind) => apiVersionOf(kind) === groupVersion);
  const resources = [...own.flatMap(resourcesOf), ...(reviews[groupVersion] ?? [])];
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function resourcesOf(kind: Kind): readonly object[] {
  const { plural, singular, kind: name, namespaced, shortNames, categories } = kind;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind: name,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  };
  const status = {
    name: `${plural}/status`,
    singularName: '',
    namespaced,
    kind: name,
    verbs: ['get', 'patch', 'update'],
  };
  const scale = {
    name: `${plural}/scale`,
    singularName: '',
    namespaced,
    group: 'autoscaling',
    version: 'v1',
    kind: 'Scale',
    verbs: ['get', 'patch', 'update'],
  };
  return [main, ...(kind.hasStatus ? [status] : []), ...(kind.scale ? [scale] : [])];
}
