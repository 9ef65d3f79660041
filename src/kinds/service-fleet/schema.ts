import { z } from 'zod';
import { constrained, implication, listOf, mapOf, withRules } from '../../resources/parts/constraints.ts';
import {
  accountRef,
  command,
  deletionPolicy,
  httpPort,
  image,
  kindSchema,
  longestText,
  nameRef,
  region,
  resources,
  sleepAfterMinutes,
} from '../../resources/parts/fields.ts';
import { countOrShare, replicasAtMost } from './schema-counts.ts';
import { analysis } from './schema-analysis.ts';
import { named } from './schema-lists.ts';
import { placement } from './schema-placement.ts';
import { fleetStorage, isNone, nameWithVolumes, volumeConstraints } from './schema-storage.ts';
import { disruptionWindow, windowForm } from '../../resources/parts/windows.ts';
import { containerServiceFields, givenOrTaken, templateOr } from '../container-service/schema.ts';

/** Slots are numbered from 0, and each one is part of a name. */
export const slotsAtMost = 2048;
const replicaCount = z.int().min(0).max(replicasAtMost);

const templateFields = containerServiceFields
  .omit({
    accountRef: true,
    serviceName: true,
    storage: true,
    desiredState: true,
    replacement: true,
    deletionPolicy: true,
    adopt: true,
  })
  .extend({
    region: region
      .optional()
      .describe('The tier, by a name that the catalog has; not used with `placement`.'),
    image: image.optional().describe(`Image reference; ${templateOr} required.`),
    command: command.optional().describe(`Command and arguments; ${templateOr} not managed.`),
    resources: resources.optional().describe(`What each replica runs with; ${templateOr} required.`),
    httpPort: httpPort
      .optional()
      .describe(`The port that each replica serves; with one it has an endpoint; ${templateOr} not managed.`),
    sleepAfterMinutes: sleepAfterMinutes
      .optional()
      .describe(
        `Idle minutes after which a replica sleeps, 1 to 1440; 0 and null: never; ${templateOr} not managed.`,
      ),
    templateRef: nameRef
      .optional()
      .describe('A ServiceTemplate, or a built-in one, whose values a revision takes when it is made.'),
    templateUpdates: z
      .enum(['Ignore', 'Apply'])
      .default('Ignore')
      .describe('What follows when that template changes: nothing until the next revision, or a rollout.'),
  });
const templateSpec = constrained(templateFields, ...givenOrTaken);
export type ReplicaTemplate = z.infer<typeof templateSpec>;
export type RevisionContent = z.infer<typeof revisionContent>;

/** What reaches a replica only when its turn has come. All other fields reach all replicas at once. */
export const revisionContent = templateFields
  .pick({
    image: true,
    command: true,
    env: true,
    httpPort: true,
    resources: true,
    sleepAfterMinutes: true,
    restartToken: true,
  })
  .extend({
    perReplica: z.strictObject({ sizeGb: z.int() }).optional(),
  });

const template = z.strictObject({
  metadata: z
    .strictObject({
      labels: mapOf(z.string(), z.string().max(253), 256).default({}).describe('Labels of each replica.'),
      annotations: mapOf(z.string(), z.string().max(longestText), 256)
        .default({})
        .describe('Annotations of each replica.'),
    })
    .prefault({})
    .describe('Labels and annotations that each replica gets.'),
  spec: templateSpec.describe('As the spec of a ContainerService.'),
});

const schedule = constrained(
  withRules(
    z
      .strictObject({
        name: z.string().min(1).max(63).describe('Its name, for messages and the status.'),
        ...disruptionWindow.shape,
        replicas: replicaCount.optional().describe('The number of replicas while it is open.'),
        minReplicas: replicaCount.optional().describe('The least number while it is open.'),
        maxReplicas: replicaCount.optional().describe('The greatest number while it is open.'),
      })
      .superRefine(({ cron, durationMinutes, timeZone }, context) => {
        const checked = disruptionWindow.safeParse({ cron, durationMinutes, timeZone });
        // The fields themselves are checked by the shape.
        const more = checked.error?.issues.filter(({ code }) => code === 'custom') ?? [];
        for (const { path, message } of more) context.addIssue({ code: 'custom', path: [...path], message });
      }),
    windowForm.rules,
    windowForm.schemas,
  ),
  {
    holds: ({ replicas, minReplicas, maxReplicas }) =>
      [replicas, minReplicas, maxReplicas].some((count) => count !== undefined),
    rule: 'has(self.replicas) || has(self.minReplicas) || has(self.maxReplicas)',
    schema: (errorMessage) => ({
      anyOf: ['replicas', 'minReplicas', 'maxReplicas'].map((name) => ({ required: [name], errorMessage })),
    }),
    message: 'needs at least one of replicas, minReplicas and maxReplicas',
  },
);

const isZero = (field: string) => ({ properties: { [field]: { enum: [0, '0%'] } }, required: [field] });

const step = constrained(
  z.strictObject({
    replicas: z
      .int()
      .min(1)
      .max(replicasAtMost)
      .optional()
      .describe('So many replicas get the new revision.'),
    weight: z.int().min(1).max(100).optional().describe('So many per cent of them do, rounded up.'),
    pause: z
      .strictObject({
        seconds: z.int().min(1).max(604_800).optional().describe('Default: until a person promotes it.'),
      })
      .optional()
      .describe('The rollout stands still for so long.'),
    analysis: analysis
      .optional()
      .describe('The rollout stands still while replicas with the new revision are measured.'),
  }),
  {
    holds: ({ replicas, weight, pause, analysis: measured }) =>
      [replicas, weight, pause, measured].filter((given) => given !== undefined).length === 1,
    rule: '[has(self.replicas), has(self.weight), has(self.pause), has(self.analysis)].exists_one(given, given)',
    schema: (errorMessage) => ({
      oneOf: ['replicas', 'weight', 'pause', 'analysis'].map((name) => ({ required: [name] })),
      errorMessage,
    }),
    message: 'needs exactly one of replicas, weight, pause and analysis',
  },
);
export type UpdateStep = z.infer<typeof step>;

const updateSteps = constrained(z.array(step).max(20).meta(listOf.whole), {
  holds: (steps) =>
    neverFalls(steps.map(({ replicas }) => replicas)) && neverFalls(steps.map(({ weight }) => weight)),
  rule: 'self.filter(step, has(step.replicas)).map(step, step.replicas).isSorted() && self.filter(step, has(step.weight)).map(step, step.weight).isSorted()',
  // An editor can't compare two entries.
  schema: () => ({}),
  message: 'replicas and weights of later steps must not be smaller',
});

function neverFalls(counts: readonly (number | undefined)[]): boolean {
  const given = counts.filter((count) => count !== undefined);
  return given.every((count, index) => count >= (given[index - 1] ?? 0));
}

const update = constrained(
  z.strictObject({
    mode: z
      .enum(['Auto', 'InPlace', 'Replace'])
      .default('Auto')
      .describe(
        'Auto: replicas are updated in place, and replaced if their account, region, geography or storage changes. InPlace: never replaced; those whose place is none any more stay there. Replace: always replaced.',
      ),
    maxSurge: countOrShare
      .default(1)
      .describe('Replicas above the wanted number during a rollout; a share is rounded up.'),
    maxUnavailable: countOrShare
      .default(0)
      .describe('Replicas that may be unavailable during a rollout; a share is rounded down.'),
    minReadySeconds: z
      .int()
      .min(0)
      .max(3600)
      .default(30)
      .describe('How long a replica has to be Ready before it counts as available.'),
    steps: updateSteps.optional().describe('Steps that a rollout to a new revision takes; default none.'),
    onFailure: z
      .enum(['Rollback', 'Freeze'])
      .default('Rollback')
      .describe(
        'What follows when a revision fails. Rollback: the replicas return to the newest Healthy one. Freeze: they stay as they are.',
      ),
    progressDeadlineSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .default(1800)
      .describe(
        'A revision fails if no replica becomes available at it for so long. Time in which that is not possible does not count.',
      ),
    failureLimit: z
      .int()
      .min(0)
      .max(replicasAtMost)
      .default(1)
      .describe('Replicas that may fail with a revision; if one more fails, the revision has failed.'),
    revisionHistoryLimit: z
      .int()
      .min(1)
      .max(20)
      .default(5)
      .describe('Earlier revisions of the template that are kept.'),
  }),
  {
    holds: ({ maxSurge, maxUnavailable }) => !isNone(maxSurge) || !isNone(maxUnavailable),
    // An API server judges the default of `update` before it fills in those of its fields.
    rule: "!has(self.maxSurge) || !has(self.maxUnavailable) || !(string(self.maxSurge) in ['0', '0%'] && string(self.maxUnavailable) in ['0', '0%'])",
    schema: (errorMessage) =>
      implication(isZero('maxSurge'), {
        properties: { maxUnavailable: { not: { enum: [0, '0%'] }, errorMessage } },
        required: ['maxUnavailable'],
        errorMessage,
      }),
    message: 'maxSurge and maxUnavailable are both 0, so no replica could ever be updated',
  },
);

const fleetFields = z.strictObject({
  accountRef: accountRef.describe('The Account that the replicas live in.'),
  replicas: replicaCount.default(1).describe('The number of replicas.'),
  minReplicas: replicaCount.default(0).describe('The least number, whatever asks for fewer.'),
  maxReplicas: z
    .int()
    .min(1)
    .max(replicasAtMost)
    .default(replicasAtMost)
    .describe('The greatest number, whatever asks for more.'),
  template: template.describe('What each replica is: a ContainerService with the name NAME-SLOT.'),
  storage: fleetStorage.optional().describe('Storage of each replica; default none.'),
  update: update.prefault({}).describe('How a changed template reaches the replicas.'),
  scaleIn: z
    .strictObject({
      maxPerMinute: countOrShare
        .default('25%')
        .describe('Replicas whose removal may begin per minute; a share is rounded up; at least 1.'),
    })
    .prefault({})
    .describe('The pace of all removals.'),
  drain: z
    .strictObject({
      graceSeconds: z
        .int()
        .min(0)
        .max(3600)
        .default(30)
        .describe('Seconds between leaving the endpoints and the removal.'),
      overlap: countOrShare
        .optional()
        .describe(
          'How many replicas that drain, and that somebody works in, others may be added beside; a share is rounded up. Default: as update.maxSurge.',
        ),
    })
    .prefault({})
    .describe('How a replica leaves.'),
  repair: z
    .strictObject({
      afterSeconds: z
        .int()
        .min(60)
        .max(86_400)
        .default(600)
        .describe('How long a replica has to be broken before it is replaced.'),
      mode: z
        .enum(['Replace', 'Report'])
        .default('Replace')
        .describe('Replace: a replica that stays broken is replaced. Report: it is only shown.'),
      maxPercent: z
        .int()
        .min(1)
        .max(100)
        .default(20)
        .describe(
          'Per cent of the wanted replicas that may be replaced at once, rounded down; at least one. If more than twice as many fail, none is.',
        ),
    })
    .prefault({})
    .describe('What becomes of replicas that stay broken.'),
  placement: placement
    .optional()
    .describe('Places for replicas; default the region and geography of the template.'),
  schedules: named(z.array(schedule).max(32), 'schedule')
    .optional()
    .describe('Times with other counts of replicas; the first open one decides.'),
  publishEndpoints: z
    .boolean()
    .default(false)
    .describe(
      'In a cluster: the ConfigMap NAME-endpoints has the addresses of all replicas. No effect in a folder.',
    ),
  deletionPolicy: deletionPolicy
    .default('Delete')
    .describe(
      'What becomes of the replicas when this object is deleted: they are deleted, or stay, unmanaged.',
    ),
});

const needsPlace = {
  holds: ({ placement: places, template: { spec } }: z.infer<typeof fleetFields>) =>
    places !== undefined || spec.region !== undefined,
  rule: 'has(self.placement) || has(self.template.spec.region)',
  schema: (errorMessage: string) =>
    implication(
      { not: { required: ['placement'] } },
      { properties: { template: { properties: { spec: { required: ['region'], errorMessage } } } } },
    ),
  message: 'required without placement',
  field: 'template.spec.region',
};

const serviceFleetSpec = constrained(
  fleetFields,
  needsPlace,
  {
    holds: ({ minReplicas, maxReplicas }) => minReplicas <= maxReplicas,
    rule: 'self.minReplicas <= self.maxReplicas',
    // An editor can't compare two fields.
    schema: () => ({}),
    message: 'minReplicas is greater than maxReplicas',
  },
  ...volumeConstraints,
);
export type ServiceFleetSpec = z.infer<typeof serviceFleetSpec>;
export type FleetSchedule = z.infer<typeof schedule>;

const longestName = 63;

export const serviceFleetDocument = constrained(
  kindSchema(
    'ServiceFleet',
    serviceFleetSpec,
    'Interchangeable replicas of one template, which are scaled and updated without disturbing their work.',
  ),
  {
    holds: ({ metadata: { name } }) => name.length <= longestName,
    rule: `self.metadata.name.size() <= ${longestName}`,
    schema: (errorMessage) => ({
      properties: { metadata: { properties: { name: { pattern: `^.{0,${longestName}}$`, errorMessage } } } },
    }),
    message: `at most ${longestName} characters, because it is the value of a label`,
    field: 'metadata.name',
  },
  nameWithVolumes,
);
