/** Questions to the API server about somebody else: whose token it is, and what that user may do. Nothing is stored. */
import type { KubernetesApi, ResourceType } from './types.ts';

export interface KubernetesUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const tokenReviews: ResourceType = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};

const accessReviews: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** Undefined: the token is not valid. Rejects with a `KubernetesError`. */
export async function reviewToken(
  api: Pick<KubernetesApi, 'create'>,
  token: string,
): Promise<KubernetesUser | undefined> {
  const status = await review(api, tokenReviews, { token });
  const { authenticated, user } = status as {
    readonly authenticated?: unknown;
    readonly user?: KubernetesUser;
  };
  return authenticated === true && typeof user?.username === 'string' && user.username !== ''
    ? user
    : undefined;
}

/** Whether the user may list the resource there; `namespace` undefined: in all namespaces. Rejects with a `KubernetesError`. */
export async function reviewList(
  api: Pick<KubernetesApi, 'create'>,
  { username, uid, groups, extra }: KubernetesUser,
  { group, plural, version }: Pick<ResourceType, 'group' | 'plural' | 'version'>,
  namespace: string | undefined,
): Promise<boolean> {
  const where = namespace === undefined ? {} : { namespace };
  const resourceAttributes = { verb: 'list', group, version, resource: plural, ...where };
  const spec = { user: username, uid, groups, extra, resourceAttributes };
  const { allowed, denied } = (await review(api, accessReviews, spec)) as {
    readonly allowed?: unknown;
    readonly denied?: unknown;
  };
  return allowed === true && denied !== true;
}

/** The status of the answer. */
async function review(api: Pick<KubernetesApi, 'create'>, type: ResourceType, spec: object): Promise<object> {
  const { group, version, kind } = type;
  const { status } = await api.create(type, { apiVersion: `${group}/${version}`, kind, metadata: {}, spec });
  return typeof status === 'object' && status !== null ? status : {};
}
