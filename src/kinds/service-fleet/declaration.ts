/** ServiceFleet: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { listOf } from '../../resources/parts/constraints.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { containerService } from '../container-service/declaration.ts';
import { serviceTemplate } from '../service-template/declaration.ts';
import { placementStates } from './schema-placement.ts';
import { fleetHints } from './schema-hints.ts';
import { serviceFleetDocument, type ReplicaTemplate } from './schema.ts';
import { fleetState } from './state.ts';
import { fleetVerbs } from './schema-commands.ts';
import { countAt } from './schema-wanted.ts';

export const serviceFleet = declareKind({
  name: 'ServiceFleet',
  plural: 'servicefleets',
  shortName: 'cflt',
  noun: 'fleet',
  document: serviceFleetDocument,
  hints: fleetHints,
  alsoCalled: ['ReplicaSet', 'Fleet'],
  home: 'accountRef',
  accounts: ({ accountRef, placement }) => [
    ...new Set([
      accountRef.name,
      ...(placement?.candidates ?? []).flatMap((each) => each.accountRef?.name ?? []),
    ]),
  ],
  labelsOfOwned: ({ template }) => template.metadata.labels,
  ownedAt: (spec, { scaled }, atMs) => countAt(spec, atMs, scaled),
  asksOfOwned: ({ template: { spec }, placement }) => ({
    region: placement?.candidates[0]?.region ?? spec.region ?? '',
    geography: placement?.candidates[0]?.geography ?? spec.geography,
    compute: placement?.candidates[0]?.resources ?? spec.resources,
  }),
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  references: ({ template: { spec } }) =>
    spec.templateRef ? [{ kind: serviceTemplate.name, name: spec.templateRef.name }] : [],
  data: ({ template: { spec } }) => containerService.data?.(asService(spec)) ?? [],
  stored: ({ template, ...spec }) => ({
    ...spec,
    template: {
      ...template,
      spec: containerService.stored?.(asService(template.spec)) ?? template.spec,
    },
  }),
  state: fleetState,
  commands: fleetVerbs,
  columns: [
    columns.whole('Replicas', '.status.replicas', 'The number of replicas in the roster.'),
    columns.whole('Desired', '.status.desiredReplicas', 'The number that is wanted now.'),
    columns.whole('Available', '.status.availableReplicas', 'Those that are available.'),
    columns.ready,
    columns.created,
    columns.wide(columns.text('Image', '.spec.template.spec.image', 'Their image.')),
    columns.account,
    columns.reason,
  ],
  selectable: ['.spec.accountRef.name', '.spec.template.spec.templateRef.name'],
  status: z.object({
    ...status.common(),
    replicas: status.count.describe('Replicas in the roster that are wanted.'),
    desiredReplicas: status.count.describe('The number that is wanted now, by document and schedules.'),
    limitedBy: status.text.describe(
      'The Budget that limits it to fewer replicas than document and schedules want (`mode: Shed`).',
    ),
    updatedReplicas: status.count.describe('Those that are as the present template requires.'),
    readyReplicas: status.count.describe('Those that are Ready.'),
    availableReplicas: status.count.describe('Those that have been Ready for `minReadySeconds`.'),
    failedReplicas: status.count.describe('Those that are not Ready, and about which nothing more is done.'),
    drainingReplicas: status.count.describe('Those that drain, or are being deleted.'),
    selector: status.text.describe('The labels of the replicas.'),
    template: status.text.describe('The template that the newest revision took values of.'),
    templateOutdated: status.templateOutdated,
    currentRevision: status.text.describe('The newest revision that all wanted replicas were available at.'),
    updateRevision: status.text.describe('The revision that the document requires.'),
    revisions: z
      .array(
        z.object({
          name: z.string().describe('Its number, after an r.'),
          outcome: z.string().describe('New, RollingOut, Healthy, Failed or Superseded.'),
          at: z.iso.datetime({ offset: true }).describe('Since when it has had this outcome.'),
          image: status.text.describe('Its image.'),
          reason: status.text.describe('Why it failed.'),
        }),
      )
      .meta(listOf.entriesBy('name'))
      .optional()
      .describe('The revisions that are kept.'),
    rollout: z
      .object({
        phase: z.string().describe('Progressing, Paused, Analysing, RollingBack, RolledBack or Frozen.'),
        revision: z.string().describe('The revision that it leads to, or was to lead to.'),
        from: status.text.describe('The newest Healthy revision.'),
        attempt: z.int().describe('How often the revision was tried, from 1.'),
        step: status.count.describe('The step that is under way, from 1.'),
        of: status.count.describe('The number of steps.'),
        kind: status.text.describe('What this step is: replicas, weight, pause or analysis.'),
        analyses: z
          .array(
            z.object({
              step: z.int().describe('Its step, from 1.'),
              passed: z.int().describe('Measurements that passed.'),
              failed: z.int().describe('Measurements that failed.'),
              inconclusive: z.int().describe('Measurements without a result.'),
              message: status.text.describe('What the last measurement found, if it did not pass.'),
            }),
          )
          .max(20)
          .meta(listOf.whole)
          .optional()
          .describe('The analyses that have begun.'),
        since: z.iso.datetime({ offset: true }).describe('When the phase began.'),
        deadline: status.time.describe('When the revision fails without progress.'),
        waitsFor: status.text.describe('What keeps it, so that the deadline stands still.'),
        waitsSince: status.time.describe('Since when it does.'),
        failures: z
          .array(
            z.object({
              slot: z.int().describe('The number of the replica.'),
              reason: z.string().describe('The reason that it shows.'),
              message: status.text.describe('What the provider writes about it, at most 200 characters.'),
            }),
          )
          .max(5)
          .meta(listOf.whole)
          .optional()
          .describe('Replicas that failed with the revision; at most 5.'),
        cause: status.text.describe('Why the revision failed.'),
      })
      .optional()
      .describe('The rollout that is under way, or that has failed.'),
    schedule: status.text.describe('The schedule that decides the number now.'),
    scaled: z
      .object({
        replicas: z.int().describe('The number that the command gives.'),
        until: status.time.describe('When its time is over; absent: it stays until `replicas` is edited.'),
      })
      .optional()
      .describe('The command `scale` that decides the number now.'),
    lastHandledCommand: status.lastHandledCommand,
    placement: z
      .array(
        z.object({
          candidate: z.string().describe('Its name.'),
          replicas: z.int().describe('Wanted replicas that are there.'),
          state: z.enum(placementStates).describe('Whether it is used, or why not.'),
          message: status.text.describe('What is known of that.'),
          retryAt: status.time.describe('When it is used again, if time decides.'),
          hourlyMicros: status.count.describe('The price of one replica, in micro-USD per hour.'),
          basis: status.text.describe('Where the price comes from.'),
        }),
      )
      .max(17)
      .meta(listOf.whole)
      .optional()
      .describe(
        'The candidates in `placement`; `Outdated`: replicas in places that are no candidates any more.',
      ),
    endpoints: z
      .array(
        z.object({
          slot: z.int().describe('The number of the replica.'),
          url: z.string().describe('Where it can be reached.'),
          ready: z.boolean().describe('Whether it is available.'),
          revision: status.text.describe('The revision that it was observed to have.'),
        }),
      )
      .max(100)
      .meta(listOf.whole)
      .optional()
      .describe('Where the replicas can be reached, without those that drain; at most 100.'),
  }),
  transitions: [],
});

const asService = (spec: ReplicaTemplate) => ({ ...spec, ...unusedFields, region: spec.region ?? '' });

/** Of a service, and not in the template of a fleet. */
const unusedFields = {
  accountRef: { name: '' },
  desiredState: 'Running',
  replacement: 'Never',
  deletionPolicy: 'Delete',
} as const;
