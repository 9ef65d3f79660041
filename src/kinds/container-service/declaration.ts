/** ContainerService: what all of the code may know of the kind. */
import { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { containerServiceDocument } from './schema.ts';
import { serviceTransitions } from './schema-transitions.ts';

export const containerService = declareKind({
  name: 'ContainerService',
  plural: 'containerservices',
  shortName: 'csvc',
  document: containerServiceDocument,
  list: 'services',
  nameField: 'serviceName',
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
    templateOutdated: z
      .array(z.string())
      .meta(listOf.whole)
      .optional()
      .describe('Fields for which the template gives other values now.'),
    registry: status.text.describe('The ImageRegistry that gives access to its image.'),
  }),
  transitions: serviceTransitions,
});
