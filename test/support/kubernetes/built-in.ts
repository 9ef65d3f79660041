/**
 * The built-in kinds. They are stored as they are sent: no schema is checked, and but for what `completions.ts` fills in
 * nothing is defaulted. Controllers of theirs don't run: a Deployment stays without Pods, a Job never ends.
 */
import type { Column, Kind } from './kinds.ts';
import {
  checkEvent,
  checkLease,
  checkNewEvent,
  checkSecret,
  completeNamespace,
  completePod,
  completeSecret,
  completeService,
} from './completions.ts';
import { checkDefinition, completeDefinition } from './definitions.ts';
import { servedEvent, storedEvent } from './event-form.ts';

interface Row extends Partial<Omit<Kind, 'columns'>> {
  readonly kind: string;
  readonly plural: string;
  /** `Name: path`, or `Name date: path`. */
  readonly columns?: readonly string[];
}

const scale = { hasStatus: true, hasGeneration: true } as const;
const cluster = { namespaced: false } as const;

const involvedObject = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields = [...involvedObject.map((field) => `involvedObject.${field}`), 'reason', 'type', 'source'];
const eventTimes = ['eventTime', 'series.lastObservedTime'];
const eventColumns = [
  'Last Seen date: .lastTimestamp',
  'Type: .type',
  'Reason: .reason',
  'Object: .involvedObject.name',
  'Message: .message',
];

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const rows: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    {
      kind: 'Namespace',
      plural: 'namespaces',
      shortNames: ['ns'],
      ...cluster,
      hasStatus: true,
      columns: ['Status: .status.phase'],
      selectable: ['status.phase'],
      complete: completeNamespace,
    },
    {
      kind: 'Secret',
      plural: 'secrets',
      columns: ['Type: .type'],
      selectable: ['type'],
      complete: completeSecret,
      check: checkSecret,
    },
    { kind: 'ConfigMap', plural: 'configmaps', shortNames: ['cm'] },
    {
      kind: 'Event',
      plural: 'events',
      shortNames: ['ev'],
      columns: eventColumns,
      selectable: eventFields,
      microTimes: eventTimes,
      check: checkEvent,
    },
    { kind: 'ServiceAccount', plural: 'serviceaccounts', shortNames: ['sa'] },
    {
      kind: 'Pod',
      plural: 'pods',
      shortNames: ['po'],
      categories: ['all'],
      ...scale,
      columns: ['Status: .status.phase', 'Node: .spec.nodeName'],
      selectable: [
        'spec.nodeName',
        'spec.restartPolicy',
        'spec.serviceAccountName',
        'status.phase',
        'status.podIP',
      ],
      complete: completePod,
    },
    {
      kind: 'Service',
      plural: 'services',
      shortNames: ['svc'],
      categories: ['all'],
      hasStatus: true,
      columns: ['Type: .spec.type', 'Cluster-IP: .spec.clusterIP'],
      complete: completeService,
    },
    { kind: 'ResourceQuota', plural: 'resourcequotas', shortNames: ['quota'], hasStatus: true },
    { kind: 'LimitRange', plural: 'limitranges', shortNames: ['limits'] },
    { kind: 'Node', plural: 'nodes', shortNames: ['no'], ...cluster, hasStatus: true },
    { kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims', shortNames: ['pvc'], hasStatus: true },
  ],
  'apps/v1': [
    {
      kind: 'Deployment',
      plural: 'deployments',
      shortNames: ['deploy'],
      categories: ['all'],
      ...scale,
      columns: ['Ready: .status.readyReplicas', 'Up-to-date: .status.updatedReplicas'],
    },
    { kind: 'ReplicaSet', plural: 'replicasets', shortNames: ['rs'], categories: ['all'], ...scale },
    { kind: 'StatefulSet', plural: 'statefulsets', shortNames: ['sts'], categories: ['all'], ...scale },
    { kind: 'DaemonSet', plural: 'daemonsets', shortNames: ['ds'], categories: ['all'], ...scale },
    {
      kind: 'ControllerRevision',
      plural: 'controllerrevisions',
      columns: ['Revision: .revision'],
    },
  ],
  'batch/v1': [
    {
      kind: 'Job',
      plural: 'jobs',
      categories: ['all'],
      ...scale,
      columns: ['Completions: .status.succeeded'],
      selectable: ['status.successful'],
    },
    { kind: 'CronJob', plural: 'cronjobs', shortNames: ['cj'], categories: ['all'], ...scale },
  ],
  'coordination.k8s.io/v1': [
    {
      kind: 'Lease',
      plural: 'leases',
      columns: ['Holder: .spec.holderIdentity'],
      unconditionalUpdate: false,
      microTimes: ['spec.acquireTime', 'spec.renewTime'],
      check: checkLease,
    },
  ],
  'events.k8s.io/v1': [
    {
      kind: 'Event',
      plural: 'events',
      shortNames: ['ev'],
      storage: 'events',
      columns: eventColumns,
      selectable: [
        'reason',
        'type',
        'reportingController',
        ...involvedObject.map((field) => `regarding.${field}`),
      ],
      microTimes: eventTimes,
      check: checkNewEvent,
      form: { toStored: storedEvent, toServed: servedEvent },
    },
  ],
  'policy/v1': [
    { kind: 'PodDisruptionBudget', plural: 'poddisruptionbudgets', shortNames: ['pdb'], ...scale },
  ],
  'networking.k8s.io/v1': [
    { kind: 'NetworkPolicy', plural: 'networkpolicies', shortNames: ['netpol'], hasGeneration: true },
    { kind: 'Ingress', plural: 'ingresses', shortNames: ['ing'], ...scale },
  ],
  'gateway.networking.k8s.io/v1': [{ kind: 'HTTPRoute', plural: 'httproutes', ...scale }],
  'storage.k8s.io/v1': [{ kind: 'StorageClass', plural: 'storageclasses', shortNames: ['sc'], ...cluster }],
  'rbac.authorization.k8s.io/v1': [
    { kind: 'Role', plural: 'roles' },
    { kind: 'RoleBinding', plural: 'rolebindings', columns: ['Role: .roleRef.name'] },
    { kind: 'ClusterRole', plural: 'clusterroles', ...cluster },
    {
      kind: 'ClusterRoleBinding',
      plural: 'clusterrolebindings',
      ...cluster,
      columns: ['Role: .roleRef.name'],
    },
  ],
  'apiextensions.k8s.io/v1': [
    {
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      ...cluster,
      ...scale,
      unconditionalUpdate: false,
      columns: ['Created At: .metadata.creationTimestamp'],
      complete: completeDefinition,
      check: checkDefinition,
    },
  ],
};

export const kinds: readonly Kind[] = Object.entries(rows).flatMap(([apiVersion, ofVersion]) =>
  ofVersion.map((row) => completed(apiVersion, row)),
);

function completed(apiVersion: string, row: Row): Kind {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return {
    group,
    version,
    singular: row.kind.toLowerCase(),
    listKind: `${row.kind}List`,
    namespaced: true,
    shortNames: [],
    categories: [],
    storage: group ? `${row.plural}.${group}` : row.plural,
    hasStatus: false,
    hasGeneration: false,
    unconditionalUpdate: true,
    selectable: [],
    microTimes: [],
    ...row,
    columns: [...(row.columns ?? []).map(columnOf), age],
  };
}

function columnOf(column: string): Column {
  const [title = '', jsonPath = ''] = column.split(': ');
  return title.endsWith(' date')
    ? { name: title.slice(0, -' date'.length), type: 'date', jsonPath }
    : { name: title, type: 'string', jsonPath };
}
