/** ContainerService: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind, type DataReference } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { serviceTemplate } from '../service-template/declaration.ts';
import { storageVolume } from '../storage-volume/declaration.ts';
import { serviceHints } from './schema-hints.ts';
import { containerServiceDocument, type EnvironmentEntry } from './schema.ts';
import { serviceTransitions } from './schema-transitions.ts';
import { serviceState } from './state.ts';

export const containerService = declareKind({
  name: 'ContainerService',
  plural: 'containerservices',
  shortName: 'csvc',
  noun: 'service',
  document: containerServiceDocument,
  hints: serviceHints,
  alsoCalled: ['Deployment', 'StatefulSet', 'ReplicaSet', 'Pod', 'Service', 'Container'],
  list: 'services',
  home: 'accountRef',
  references: ({ storage, templateRef }) => [
    ...(storage?.volumeRef ? [{ kind: storageVolume.name, name: storage.volumeRef.name }] : []),
    ...(templateRef ? [{ kind: serviceTemplate.name, name: templateRef.name }] : []),
  ],
  data: ({ env = [] }) =>
    env.flatMap(({ valueFrom }): DataReference[] => {
      const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
      if (secretKeyRef) return [{ kind: 'Secret', name: secretKeyRef.name, keys: [secretKeyRef.key] }];
      return configMapKeyRef
        ? [{ kind: 'ConfigMap', name: configMapKeyRef.name, keys: [configMapKeyRef.key] }]
        : [];
    }),
  asks: ({ region, geography, resources }, { template }) => ({
    region,
    geography,
    compute: resources ?? template?.values.resources,
  }),
  isAtRest: ({ desiredState }) => desiredState === 'Stopped',
  stored: ({ env, ...spec }) => (env ? { ...spec, env: env.map(withoutValue) } : spec),
  nameField: 'serviceName',
  state: serviceState,
  columns: [
    columns.state,
    columns.ready,
    columns.text('Endpoint', '.status.endpoint', 'Where it can be reached.'),
    columns.drift,
    columns.created,
    columns.wide(columns.text('Image', '.spec.image', 'Its image.')),
    columns.wide(columns.whole('Hourly', '.status.hourlyMicros', 'What it costs in an hour, in micro-USD.')),
    columns.account,
    columns.id,
    columns.reason,
  ],
  selectable: [
    ...columns.inAccount,
    '.spec.templateRef.name',
    '.spec.storage.volumeRef.name',
    '.spec.desiredState',
    '.status.state',
  ],
  status: z.object({
    ...status.common(),
    state: status.state('service'),
    endpoint: status.text.describe('Where it can be reached.'),
    region: status.shownText.describe('Its region, as the provider shows it.'),
    geography: status.shownText.describe('Where it is, as the provider resolved it.'),
    hourlyMicros: status.micros('What it costs in an hour now; nothing while it holds no compute'),
    volumeId: status.shownText.describe('The id of the volume that is attached.'),
    template: status.text.describe('The template that it took values of.'),
    templateOutdated: status.templateOutdated,
    registry: status.text.describe('The ImageRegistry that gives access to its image.'),
  }),
  transitions: serviceTransitions,
});

/** Its name and its reference stay. */
function withoutValue({ name, valueFrom }: EnvironmentEntry): Omit<EnvironmentEntry, 'value'> {
  return valueFrom === undefined ? { name } : { name, valueFrom };
}
