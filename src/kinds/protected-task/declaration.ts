/** ProtectedTask: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { containerService } from '../container-service/declaration.ts';
import { unchanged } from '../../resources/parts/transitions.ts';
import { taskHints } from './schema-hints.ts';
import { protectedTaskDocument } from './schema.ts';
import { taskState } from './state.ts';

export const protectedTask = declareKind({
  name: 'ProtectedTask',
  plural: 'protectedtasks',
  shortName: 'ptask',
  noun: 'task',
  document: protectedTaskDocument,
  hints: taskHints,
  alsoCalled: ['Task', 'PodDisruptionBudget'],
  home: { kind: containerService.name, reference: 'serviceRef' },
  countsForBrake: false,
  references: ({ serviceRef }) => [{ kind: containerService.name, name: serviceRef.name }],
  job: ({ until }) => until?.jobRef?.name,
  nameField: 'taskName',
  state: taskState,
  columns: [
    columns.text('Service', '.spec.serviceRef.name', 'The ContainerService that it protects.'),
    columns.state,
    columns.ready,
    columns.created,
    columns.wide(columns.text('Deadline', '.spec.until.deadline', 'When it is over by itself.')),
    columns.wide(columns.text('Job', '.spec.until.jobRef.name', 'The Job with which it is over.')),
    columns.wide(columns.text('Activity', '.status.activityId', 'The id of its activity at the provider.')),
    columns.reason,
  ],
  selectable: ['.spec.serviceRef.name', '.status.state', '.status.activityId'],
  status: z.object({
    ...status.common(),
    state: status.text.describe('registering, held, releasing or released.'),
    activityId: status.text.describe('The id of its activity at the provider.'),
    serviceId: status.text.describe('The id of the service that it protects.'),
    releasedAt: status.time.describe('When the release was acknowledged.'),
  }),
  transitions: [
    {
      // Also of a task that is not registered yet: its activity would go on in one service while the other is protected.
      rule: unchanged('spec.serviceRef.name'),
      message:
        "the service of a task can't be changed; delete the task, and write another one for the other service",
      fieldPath: '.spec.serviceRef',
    },
  ],
});
