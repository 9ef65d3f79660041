/**
 * What manifests allow a ServiceAccount, as the RBAC authorizer of Kubernetes reads them, beside the calls that were
 * made: what is missing, and what nobody needs.
 */
import type { ResourceRequest } from '../kubernetes/paths.ts';
import { ofKind, type Manifest } from './render.ts';

export type Call = Omit<ResourceRequest, 'version'>;

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Grant {
  /** Undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly rule: PolicyRule;
}

interface Binding extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

export function grantsOf(
  manifests: readonly Manifest[],
  account: { namespace: string; name: string },
): Grant[] {
  const bindings = [
    ...ofKind(manifests, 'ClusterRoleBinding'),
    ...ofKind(manifests, 'RoleBinding'),
  ] as Binding[];
  return bindings
    .filter(({ subjects }) =>
      subjects.some(
        ({ kind, name, namespace }) =>
          kind === 'ServiceAccount' && name === account.name && namespace === account.namespace,
      ),
    )
    .flatMap(({ kind, metadata, roleRef }) => {
      const namespace = kind === 'RoleBinding' ? metadata.namespace : undefined;
      return rulesOf(manifests, roleRef, namespace).map((rule) => ({ namespace, rule }));
    });
}

function rulesOf(
  manifests: readonly Manifest[],
  { kind, name }: Binding['roleRef'],
  namespace: string | undefined,
): readonly PolicyRule[] {
  const role = ofKind(manifests, kind).find(
    ({ metadata }) => metadata.name === name && (kind === 'ClusterRole' || metadata.namespace === namespace),
  );
  if (!role) throw new Error(`a binding refers to the ${kind} ${name}, which is not there`);
  return role['rules'] as PolicyRule[];
}

/** What a request has to be allowed: server-side apply of what was not there is a creation, too (answered 201). */
export function callsOf(request: ResourceRequest, status: number): Call[] {
  const isApplied = request.verb === 'patch' && status === 201;
  return isApplied ? [request, { ...request, verb: 'create' }] : [request];
}

export function allowedBy(grants: readonly Grant[], call: Call): boolean {
  return grants.some((grant) => isCovered(grant, call));
}

/** Each right by itself, as far as none of the calls has used it. */
export function unusedRights(grants: readonly Grant[], calls: readonly Call[]): string[] {
  return grants
    .flatMap(singleRights)
    .filter((grant) => !calls.some((call) => isCovered(grant, call)))
    .map(describeGrant);
}

/** The smallest rules for these calls: for a call by name, with that name. */
export function neededRules(calls: readonly Call[]): PolicyRule[] {
  const about = (call: Call) =>
    JSON.stringify([call.group, resourceOf(call), hasName(call) ? [call.name] : []]);
  const verbs = Map.groupBy(calls, about);
  return [...verbs].map(([key, same]) => {
    const [group, resource, resourceNames] = JSON.parse(key) as [string, string, string[]];
    const rule = {
      apiGroups: [group],
      resources: [resource],
      verbs: [...new Set(same.map(({ verb }) => verb))].sort(),
    };
    return resourceNames.length > 0 ? Object.assign(rule, { resourceNames }) : rule;
  });
}

export function describeCall(call: Call): string {
  const { group, verb, namespace, name } = call;
  return describe(verb, group, resourceOf(call), namespace, name);
}

function isCovered({ namespace, rule }: Grant, call: Call): boolean {
  const { apiGroups, resources, resourceNames, verbs } = rule;
  if (namespace !== undefined && namespace !== call.namespace) return false;
  if (!verbs.includes(call.verb) || !apiGroups.includes(call.group)) return false;
  if (!resources.includes(resourceOf(call))) return false;
  return resourceNames === undefined || (hasName(call) && resourceNames.includes(call.name ?? ''));
}

/** The name of what is created is in the body, where the authorizer does not look. */
function hasName({ verb, name }: Call): boolean {
  return verb !== 'create' && name !== undefined;
}

function resourceOf({ plural, subresource }: Call): string {
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

function singleRights({ namespace, rule }: Grant): Grant[] {
  const names = rule.resourceNames?.map((name) => [name]) ?? [undefined];
  return rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          namespace,
          rule: {
            apiGroups: [group],
            resources: [resource],
            verbs: [verb],
            ...(resourceNames ? { resourceNames } : {}),
          },
        })),
      ),
    ),
  );
}

function describeGrant({ namespace, rule }: Grant): string {
  const { verbs, apiGroups, resources, resourceNames } = rule;
  return describe(verbs[0] ?? '', apiGroups[0] ?? '', resources[0] ?? '', namespace, resourceNames?.[0]);
}

function describe(verb: string, group: string, resource: string, namespace?: string, name?: string): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  return [verb, what, name, namespace === undefined ? 'everywhere' : `in ${namespace}`]
    .filter(Boolean)
    .join(' ');
}
