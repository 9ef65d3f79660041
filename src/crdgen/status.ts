/**
 * `status` of each kind, as src/status/ writes it. The API server would drop a missing field, and refuse a status
 * beyond a bound. So what the provider shows is bounded by its type only.
 */
import { z } from 'zod';
import { conditionTypes, listOf, type ManagedKind } from '../resources/index.ts';

const text = z.string().optional();
/** That a rule compares: it has to have a bound, that of `toldText`. */
const shownText = z.string().max(500).optional();
const count = z.int().optional();
const time = z.iso.datetime({ offset: true }).optional();
const micros = (what: string) => z.int().optional().describe(`${what}, in micro-USD.`);

/** `metav1.Condition`. */
const condition = z
  .object({
    type: z
      .string()
      .max(316)
      .regex(
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
      )
      .describe(`One of ${conditionTypes.join(', ')}.`),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
      .describe('Why, as a constant.'),
    message: z.string().max(32_768).describe('Why, for people.'),
    lastTransitionTime: z.iso.datetime({ offset: true }).describe('When its status changed last.'),
    observedGeneration: z.int().min(0).optional().describe('Of the spec that it is about.'),
  })
  .describe('One aspect of the state that the object is in.');

const driftEntry = z
  .object({
    path: z.string().describe('The field; env.NAME for a variable.'),
    kind: z
      .string()
      .describe(
        'Changed: the API shows another value than was applied; Missing: the whole was deleted; RevisionMoved: a field that the API hides may have been changed.',
      ),
    desired: z
      .unknown()
      .optional()
      .describe('As declared; never the value of an environment or a credential.'),
    observed: z.unknown().optional().describe('As the API shows it.'),
    since: z.iso.datetime({ offset: true }).describe('When it was first seen.'),
    cause: text.describe("Quotes of the provider's events about it."),
  })
  .describe('Something that somebody else changed.');

function common() {
  return {
    observedGeneration: count.describe('The generation of the spec that this status is about.'),
    id: text.describe('Its id at the provider.'),
    revision: count.describe('Its revision at the provider, as last read.'),
    conditions: z
      .array(condition)
      .max(32)
      .meta(listOf.entriesBy('type'))
      .optional()
      .describe('How it is, after the Kubernetes API conventions.'),
    drift: z
      .array(driftEntry)
      .meta(listOf.whole)
      .optional()
      .describe('What somebody else changed, by field.'),
    duplicates: z
      .array(
        z
          .object({
            id: z.string().describe('Its id at the provider.'),
            name: text.describe('Its name, as the provider shows it.'),
            state: text.describe('Its state, as the provider shows it.'),
            hourlyMicros: micros('What it costs in an hour'),
          })
          .describe('A copy, or a second one.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe("What carries the object's mark and is not what is recorded for it. It is not touched."),
    lastMutation: z
      .object({
        action: z.string().describe('What was asked for, such as create-service.'),
        idempotencyKey: z.string().describe('The Idempotency-Key that it was sent with.'),
        at: z.iso.datetime({ offset: true }).describe('When it was written down, to be sent then.'),
        outcome: z
          .string()
          .describe(
            'pending, applied, refused, not-sent, unknown; after it was unknown not-applied, outdated (its revision has moved), or repeatable (the same request is sent again).',
          ),
      })
      .optional()
      .describe('The last request that was to change something.'),
    lastHandledReconcileAt: text.describe(
      'The value of the annotation fleetkeeper.dev/reconcile-at that was acted upon.',
    ),
    bookkeeping: z
      .looseObject({})
      .meta({ 'x-kubernetes-preserve-unknown-fields': true })
      .optional()
      .describe('What the manager has to remember. Not for others; changing it can cost a second machine.'),
  };
}

const state = (noun: string) => text.describe(`The state of the ${noun}, as the provider shows it.`);

const quota = z
  .object({
    used: z.int().describe('How many there are.'),
    limit: z.int().describe('How many there may be.'),
  })
  .optional();

const statuses = {
  Account: z.object({
    ...common(),
    url: text.describe('The base address in use.'),
    identityPinned: z.boolean().optional().describe('Whether a key of another account would be noticed.'),
    identity: text.describe('Whose account it is: an id, or what stands for the e-mail address.'),
    emailVerified: z
      .boolean()
      .optional()
      .describe('Whether the e-mail address is verified; creating and starting need it (§5).'),
    services: count.describe('Services in the account, whoever made them.'),
    volumes: count.describe('Volumes in the account, whoever made them.'),
    limits: z
      .object({
        volumes: quota.describe('Volumes.'),
        templates: quota.describe('Templates.'),
        registries: quota.describe('Registries.'),
      })
      .optional()
      .describe('What the API limits per account (§8), as far as it was read.'),
    currency: text.describe('Of the amounts.'),
    payment: text.describe('Status of payments in the catalog: enabled or disabled.'),
    balanceMicros: micros('What is left'),
    burnMicrosPerHour: micros('What everything in the account costs in an hour'),
    runwayHours: z
      .number()
      .optional()
      .describe('For how long that lasts, in hours; absent while nothing burns.'),
    moneyAt: time.describe(
      'When these amounts were read. They are updated once a minute, or when the burn changes.',
    ),
    prices: z
      .array(
        z
          .object({
            region: z.string().describe('The tier.'),
            geography: z.string().describe('The group of regions.'),
            gpuModel: text.describe('The model of its GPUs, if it is shown.'),
            gpuCount: z.number().optional().describe('GPUs.'),
            cpu: z.number().optional().describe('Processors.'),
            memoryGb: z.number().optional().describe('Memory in GB.'),
            storageGb: z.number().optional().describe('Storage in GB, of a volume.'),
            hourlyMicros: micros('What it costs in an hour; absent where it runs and shows no price'),
            seenAt: z
              .string()
              .describe('When it was last found worth telling: new, changed, or a day later.'),
          })
          .describe('What something of this size costs at this place.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('What was seen to cost something, newest first; at most 64.'),
    pricesSignature: text.describe(
      'Made by the manager: prices that somebody else has written are not used.',
    ),
  }),
  ContainerService: z.object({
    ...common(),
    state: state('service'),
    endpoint: text.describe('Where it can be reached.'),
    region: shownText.describe('Its region, as the provider shows it.'),
    geography: shownText.describe('Where it is, as the provider resolved it.'),
    hourlyMicros: micros('What it costs in an hour now; nothing while it holds no compute'),
    volumeId: shownText.describe('The id of the volume that is attached.'),
    template: text.describe('The template that it took values of.'),
    templateOutdated: z
      .array(z.string())
      .meta(listOf.whole)
      .optional()
      .describe('Fields for which the template gives other values now.'),
    registry: text.describe('The ImageRegistry that gives access to its image.'),
  }),
  StorageVolume: z.object({
    ...common(),
    state: state('volume'),
    region: shownText.describe('Its region, as the provider shows it.'),
    geography: shownText.describe('Where it is, as the provider resolved it.'),
    sizeGb: count.describe('Its size in GB.'),
    requestedSizeGb: count.describe('The size in GB that it is to have.'),
    provisioned: z.boolean().optional().describe('Whether storage is held for it.'),
    serviceId: text.describe('The id of the service that it is attached to.'),
    hourlyMicros: micros('What it costs in an hour now'),
  }),
  ServiceTemplate: z.object({
    ...common(),
    services: z
      .array(z.string())
      .meta(listOf.whole)
      .optional()
      .describe('ContainerServices that refer to it.'),
    missingEnvironment: z
      .array(
        z
          .object({
            service: z.string().describe('A ContainerService.'),
            variables: z.array(z.string()).meta(listOf.whole).describe('The variables that it lacks.'),
          })
          .describe('A service that lacks required variables.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('Services that lack variables of requiredEnvironment.'),
  }),
  ImageRegistry: z.object({
    ...common(),
    repository: shownText.describe('The repository, as the provider knows it.'),
    linkedServices: z
      .array(
        z
          .object({
            id: z.string().describe('Its id at the provider.'),
            name: text.describe('Its name, if it is known.'),
            state: text.describe('Its state, if it is known.'),
            credentials: z
              .string()
              .describe('Those that its latest launch had: Current, Outdated or Unknown.'),
          })
          .describe('A service with an image of the repository.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('Services with images of the repository.'),
    rotatedAt: time.describe('When the credentials were last rotated, according to the provider.'),
  }),
  ProtectedTask: z.object({
    ...common(),
    state: text.describe('registering, held, releasing or released.'),
    activityId: text.describe('The id of its activity at the provider.'),
    serviceId: text.describe('The id of the service that it protects.'),
    releasedAt: time.describe('When the release was acknowledged.'),
  }),
} as const satisfies Record<ManagedKind, z.ZodType>;

export function statusSchema(kind: ManagedKind): z.ZodType {
  return statuses[kind].describe('What was last seen and done. Written by the manager only.');
}
