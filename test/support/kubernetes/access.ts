/**
 * Who may do what. A bearer token tells the user; without one the request is the administrator's, as on a loopback port
 * behind `kubectl proxy`, unless `requireToken` is set. The administrator may do all; others what Roles and ClusterRoles
 * that are bound to them allow.
 */
import { randomUUID } from 'node:crypto';
import { ApiError, qualified, unauthorized } from './errors.ts';
import type { Kind } from './kinds.ts';
import { fieldsOf, listOf, textOf, type StoredObject } from './objects.ts';
import type { Store } from './store.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

export const administrator: User = {
  name: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
};

export interface Attributes {
  readonly verb: string;
  readonly group: string;
  /** With its subresource: `pods/status`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

const rbac = 'rbac.authorization.k8s.io';

export class Access {
  readonly #store: Store;
  readonly #users = new Map<string, User>();
  readonly adminToken: string = randomUUID();
  readonly #requireToken: boolean;

  constructor(store: Store, requireToken: boolean) {
    this.#store = store;
    this.#requireToken = requireToken;
    this.#users.set(this.adminToken, administrator);
  }

  /** A token under which the service account acts. */
  tokenOf(namespace: string, name: string): string {
    const token = randomUUID();
    this.#users.set(token, serviceAccount(namespace, name));
    return token;
  }

  /** `impersonated`: as whom the administrator acts, as with `kubectl --as`. */
  authenticate(authorization: string | undefined, impersonated: string | undefined): User {
    const user = this.#userOf(authorization);
    if (impersonated === undefined || user !== administrator) return user;
    const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(impersonated) ?? [];
    if (namespace !== undefined && name !== undefined) return serviceAccount(namespace, name);
    return { name: impersonated, groups: ['system:authenticated'] };
  }

  #userOf(authorization: string | undefined): User {
    if (authorization === undefined && !this.#requireToken) return administrator;
    const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
    const user = token === undefined ? undefined : this.#users.get(token);
    if (!user) throw unauthorized();
    return user;
  }

  allows(user: User, attributes: Attributes): boolean {
    if (user.groups.includes('system:masters')) return true;
    // What the cluster role system:basic-user allows to everybody.
    if (attributes.group === 'authorization.k8s.io' && attributes.resource.startsWith('selfsubject'))
      return true;
    return this.#rules(user, attributes.namespace).some((rule) => covers(rule, attributes));
  }

  /** Undefined: no token of anybody. */
  userOf(token: string): User | undefined {
    return this.#users.get(token);
  }

  /** Of a review, which is no kind that is stored. */
  authorizeReview(
    user: User,
    { verb, group, plural }: Pick<Kind, 'group' | 'plural'> & { verb: string },
  ): void {
    const attributes = { verb, group, resource: plural, namespace: undefined, name: undefined };
    this.authorize(user, { group, plural }, attributes);
  }

  /** Throws 403 in the words of RBAC. */
  authorize(user: User, kind: Pick<Kind, 'group' | 'plural'>, attributes: Attributes): void {
    if (this.allows(user, attributes)) return;
    const { verb, group, resource, namespace, name } = attributes;
    const subject = name === undefined ? qualified(kind) : `${qualified(kind)} "${name}"`;
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
    throw new ApiError({
      code: 403,
      reason: 'Forbidden',
      message: `${subject} is forbidden: User "${user.name}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`,
      details: { ...(name !== undefined && { name }), ...(group && { group }), kind: kind.plural },
    });
  }

  #rules(user: User, namespace: string | undefined): readonly Rule[] {
    const bindings = [
      ...this.#store.list(`clusterrolebindings.${rbac}`),
      ...this.#store
        .list(`rolebindings.${rbac}`)
        .filter(({ object }) => namespace !== undefined && object.metadata.namespace === namespace),
    ];
    return bindings
      .map(({ object }) => object)
      .filter((binding) => binds(binding, user))
      .flatMap((binding) => this.#rulesOf(binding));
  }

  #rulesOf(binding: StoredObject): readonly Rule[] {
    const { kind, name } = fieldsOf(binding['roleRef']);
    const role =
      kind === 'Role'
        ? this.#store.get(`roles.${rbac}`, binding.metadata.namespace, String(name))
        : this.#store.get(`clusterroles.${rbac}`, undefined, String(name));
    return listOf(role?.object['rules']) as readonly Rule[];
  }
}

function serviceAccount(namespace: string, name: string): User {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: `system:serviceaccount:${namespace}:${name}`, groups };
}

function binds(binding: StoredObject, user: User): boolean {
  return listOf(binding['subjects']).some((subject) => {
    const { kind, name, namespace } = fieldsOf(subject);
    if (kind === 'ServiceAccount') {
      return (
        user.name ===
        `system:serviceaccount:${textOf(namespace ?? binding.metadata.namespace)}:${textOf(name)}`
      );
    }
    return kind === 'Group' ? user.groups.includes(String(name)) : user.name === name;
  });
}

function covers(rule: Rule, { verb, group, resource, name }: Attributes): boolean {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [] } = rule;
  const subresource = resource.includes('/') ? `*/${resource.split('/')[1]}` : undefined;
  return (
    (verbs.includes('*') || verbs.includes(verb)) &&
    (apiGroups.includes('*') || apiGroups.includes(group)) &&
    (resources.includes('*') ||
      resources.includes(resource) ||
      (subresource !== undefined && resources.includes(subresource))) &&
    (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name)))
  );
}
