/** ServiceTemplate: what all of the code may know of the kind. */
import { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { fixed, sameAccount } from '../../resources/parts/transitions.ts';
import { templateHints } from './schema-hints.ts';
import { serviceTemplateDocument } from './schema.ts';
import { noState } from '../../resources/parts/kind-state.ts';

export const serviceTemplate = declareKind({
  name: 'ServiceTemplate',
  plural: 'servicetemplates',
  shortName: 'stpl',
  noun: 'template',
  document: serviceTemplateDocument,
  hints: templateHints,
  alsoCalled: ['Template', 'PodTemplate'],
  list: 'templates',
  home: 'accountRef',
  hasBuiltIns: true,
  nameField: 'templateName',
  state: noState,
  columns: [
    columns.ready,
    columns.text('Image', '.spec.image', 'Its image.'),
    columns.drift,
    columns.created,
    columns.account,
    columns.id,
    columns.reason,
  ],
  selectable: columns.inAccount,
  status: z.object({
    ...status.common(),
    services: z
      .array(z.string())
      .meta(listOf.whole)
      .optional()
      .describe('ContainerServices and ServiceFleets that refer to it.'),
    missingEnvironment: z
      .array(
        z
          .object({
            service: z.string().describe('A ContainerService or ServiceFleet.'),
            variables: z.array(z.string()).meta(listOf.whole).describe('The variables that it lacks.'),
          })
          .describe('A service that lacks required variables.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('Services that lack variables of requiredEnvironment.'),
  }),
  transitions: [fixed('template', 'accountRef', sameAccount)],
});
