/** Account: what all of the code may know of the kind. */
import { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { accountHints } from './schema-hints.ts';
import { accountDocument } from './schema.ts';
import { accountState } from './state.ts';

export const account = declareKind({
  name: 'Account',
  plural: 'accounts',
  shortName: 'facct',
  noun: 'account',
  document: accountDocument,
  hints: accountHints,
  alsoCalled: ['Provider', 'ProviderConfig'],
  home: 'itself',
  countsForBrake: false,
  data: ({ credentialsSecretRef: secret }) =>
    secret ? [{ kind: 'Secret', name: secret.name, keys: [secret.key] }] : [],
  spent: ({ tally }) => tally,
  state: accountState,
  columns: [
    columns.ready,
    columns.condition('Spending', 'SpendingAllowed', 'What costs more may be created, started and grown.'),
    columns.whole('Balance', '.status.balanceMicros', 'What is left, in micro-USD.'),
    columns.whole('Services', '.status.services', 'Services in the account, whoever made them.'),
    columns.whole('Volumes', '.status.volumes', 'Volumes in the account, whoever made them.'),
    columns.created,
    columns.wide(columns.text('URL', '.spec.url', 'Base address of the API.')),
    columns.wide(
      columns.whole('Burn', '.status.burnMicrosPerHour', 'What it costs in an hour, in micro-USD.'),
    ),
    columns.wide({
      name: 'Runway',
      type: 'number',
      jsonPath: '.status.runwayHours',
      description: 'For how many hours the balance lasts.',
    }),
    columns.reason,
  ],
  selectable: [],
  status: z.object({
    ...status.common(),
    url: status.text.describe('The base address in use.'),
    identityPinned: z.boolean().optional().describe('Whether a key of another account would be noticed.'),
    identity: status.text.describe('Whose account it is: an id, or what stands for the e-mail address.'),
    emailVerified: z
      .boolean()
      .optional()
      .describe('Whether the e-mail address is verified; creating and starting need it (§5).'),
    services: status.count.describe('Services in the account, whoever made them.'),
    volumes: status.count.describe('Volumes in the account, whoever made them.'),
    limits: z
      .object({
        volumes: status.quota.describe('Volumes.'),
        templates: status.quota.describe('Templates.'),
        registries: status.quota.describe('Registries.'),
      })
      .optional()
      .describe('What the API limits per account (§8), as far as it was read.'),
    currency: status.text.describe('Of the amounts.'),
    payment: status.text.describe('Status of payments in the catalog: enabled or disabled.'),
    balanceMicros: status.micros('What is left'),
    burnMicrosPerHour: status.micros('What everything in the account costs in an hour'),
    runwayHours: z
      .number()
      .optional()
      .describe('For how long that lasts, in hours; absent while nothing burns.'),
    moneyAt: status.time.describe(
      'When these amounts were read. They are updated once a minute, or when the burn changes.',
    ),
    month: status.text.describe('The month in UTC that the next amounts are about, such as 2026-11.'),
    since: status.time.describe(
      'Since when it is counted: the begin of the month, or when it was counted first.',
    ),
    spentMicros: status.micros('What everything in the account has cost since then'),
    estimatedMicros: status.micros('The part of that which nobody observed, because no manager was running'),
    unattributedMicros: status.micros(
      'What the balance has lost beside that, such as charges for something else',
    ),
    countedAt: status.time.describe(
      'When these amounts were counted. They are updated once a minute while something costs, or when the burn changes.',
    ),
    prices: z
      .array(
        z
          .object({
            region: z.string().describe('The tier.'),
            geography: z.string().describe('The group of regions.'),
            gpuModel: status.text.describe('The model of its GPUs, if it is shown.'),
            gpuCount: z.number().optional().describe('GPUs.'),
            cpu: z.number().optional().describe('Processors.'),
            memoryGb: z.number().optional().describe('Memory in GB.'),
            storageGb: z.number().optional().describe('Storage in GB, of a volume.'),
            hourlyMicros: status.micros('What it costs in an hour; absent where it runs and shows no price'),
            seenAt: z
              .string()
              .describe('When it was last found worth telling: new, changed, or a day later.'),
            beforeMicros: status.micros('What it cost in an hour before its last change by more than 1 %'),
            movedAt: status.time.describe('When that change was seen.'),
          })
          .describe('What something of this size costs at this place.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('What was seen to cost something, newest first; at most 64.'),
    pricesSignature: status.text.describe(
      'Made by the manager: prices that somebody else has written are not used.',
    ),
    capacity: z
      .array(
        z
          .object({
            region: z.string().describe('The tier.'),
            geography: z.string().describe('The group of regions, as it is asked for.'),
            gpuCount: z.number().describe('GPUs.'),
            cpu: z.number().describe('Processors.'),
            memoryGb: z.number().describe('Memory in GB.'),
            storageGb: z.number().describe('New storage in GB.'),
            state: z
              .enum(['Granted', 'Scarce'])
              .describe('Scarce: it was refused for capacity, and not granted since.'),
            since: z.iso.datetime({ offset: true }).describe('When that state began.'),
            at: z.iso.datetime({ offset: true }).describe('When it was refused or granted last.'),
            grantedAt: status.time.describe('When it was granted last.'),
            failures: status.count.describe('Refusals in a row.'),
            retryAt: status.time.describe('Until then no object asks; then one does.'),
            status: status.count.describe('Status of the last refusal.'),
            code: status.text.describe('Its code.'),
            message: status.text.describe('Its message.'),
          })
          .describe('Something of this size at this place.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('For what the provider had capacity, and for what it had none; newest first, at most 32.'),
    capacitySignature: status.text.describe(
      'Made by the manager: entries that somebody else has written are not used.',
    ),
  }),
  transitions: [],
});
