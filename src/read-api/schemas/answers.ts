/** The answers of the read API, by path. OpenAPI is made of them (openapi.ts). */
import { z } from 'zod';
import { health, intent, micros, objectKeyText, page, problem, row, text, time } from './parts.ts';

const count = z.int();
const byHealth = z.partialRecord(health, count).describe('Numbers of objects.');

export const objects = page(row).extend({ total: count.describe('Objects that match, on all pages.') });

export const problems = page(problem).extend({
  total: count.describe('Problems, on all pages.'),
  objects: count.describe('Objects that have one.'),
  suspended: z
    .array(z.object({ reason: text, count }))
    .describe('Paused, outside a window, or stopped by a brake.'),
});

const quota = z.object({ resource: text, used: count, limit: count });

const capacity = z.object({
  region: text,
  geography: text,
  gpuCount: z.number(),
  cpu: z.number(),
  memoryGb: z.number(),
  storageGb: z.number(),
  state: z.enum(['Granted', 'Scarce']),
  since: time,
  failures: count,
  retryAt: time.nullable(),
  message: text.nullable(),
});

export const accountFacts = z
  .object({
    account: text.describe('NAMESPACE/NAME.'),
    isShared: z.boolean().describe('It is that of the environment, and serves all namespaces.'),
    up: z.boolean(),
    isStale: z.boolean().describe('It was not read lately, so nothing in it counts as healthy.'),
    readAt: time.nullable(),
    pollSeconds: z.number(),
    longestPollSeconds: z.number().describe('The interval while nothing happens in it.'),
    failure: z.object({ reason: text, message: text }).nullable(),
    requests: z
      .object({
        perSecond: z.number().describe('The rate that the limiter has learned.'),
        limitPerSecond: z.number(),
        waiting: count,
        throttled: count.describe('429s since the start of the process.'),
        closedUntil: time.nullable().describe('Until then, the API wants no requests.'),
      })
      .nullable()
      .describe('Null where another process sends them.'),
    balanceMicros: micros.nullable(),
    burnMicrosPerHour: micros.nullable(),
    reservedMicrosPerHour: micros.nullable(),
    runwaySeconds: z.number().nullable(),
    quotas: z.array(quota),
    capacity: z.array(capacity),
  })
  .meta({ id: 'AccountFacts' });

export const budget = z
  .object({
    key: objectKeyText,
    mode: text,
    health,
    month: text.nullable(),
    hourlyMicros: micros.nullable(),
    hourlyLimitMicros: micros.nullable(),
    reservedMicros: micros.nullable(),
    spentMicros: micros.nullable(),
    forecastMicros: micros.nullable(),
    monthlyLimitMicros: micros.nullable(),
    runwayHours: z.number().nullable(),
    waiting: count,
    members: count,
  })
  .meta({ id: 'BudgetFacts' });

export const brake = z
  .object({
    reason: text,
    stops: text.describe('What does not happen meanwhile.'),
    namespace: text.nullable().describe('The part of the source that it is about.'),
    account: text
      .nullable()
      .describe('NAMESPACE/NAME. Null, as the namespace: it is about the whole source.'),
    count: count.describe('Objects that show it.'),
    since: time.nullable(),
    message: text.describe('Why, and how to continue.'),
  })
  .meta({ id: 'Brake' });

export const summary = z.object({
  version: text,
  place: z.enum(['folder', 'cluster']),
  owner: text,
  manager: z.object({
    state: text.describe('Running, Impaired, Silent, Stopped, Lost or Unknown.'),
    host: text.nullable(),
    pid: count.nullable(),
    startedAt: time.nullable(),
    seenAt: time.nullable(),
    note: text.nullable().describe('Why it is not known, or what else to know of it.'),
  }),
  objects: count,
  health: byHealth,
  kinds: z.array(z.object({ kind: text, count, health: byHealth })),
  reasons: z
    .array(z.object({ reason: text, count, severity: z.enum(['info', 'warning', 'critical']) }))
    .describe('Of objects that are not Healthy.'),
  problems: z.object({
    total: count,
    objects: count,
    critical: count,
    forPerson: count.describe('Those that only a person can end, and critical ones.'),
    first: z.array(problem).max(20),
  }),
  suspended: z.array(z.object({ reason: text, count })),
  brakes: z.array(brake).max(50).describe('By which Fleetkeeper has stopped itself.'),
  burnMicrosPerHour: micros.nullable(),
  runwaySeconds: z.number().nullable().describe('Of the balance that ends first.'),
  budgets: z.array(budget).max(100),
  accounts: z
    .array(accountFacts)
    .max(100)
    .describe('Those that were not read lately or fail come first; `accountCounts` has how many there are.'),
  accountCounts: z.object({
    all: count,
    current: count.describe('Read lately, and not failing.'),
    unread: count.describe('Never read.'),
  }),
  oldestReadAt: time
    .nullable()
    .describe('Of the account that was read longest ago; null: one was never read.'),
  notes: z.array(text).describe('What these data do not show.'),
  isComplete: z.boolean().describe('False: a namespace can not be read; `notes` name it.'),
});

const anyMap = z.record(z.string(), z.unknown());

export const object = z.object({
  object: row,
  uid: text,
  generation: count,
  observedGeneration: count,
  createdAt: time.nullable(),
  deletionRequestedAt: time.nullable(),
  labels: z.record(z.string(), text),
  annotations: z.record(z.string(), text),
  document: z.object({ file: text, line: count.nullable() }),
  spec: anyMap.describe('Without values of environments.'),
  observed: anyMap.describe('What the status shows.'),
  conditions: z.array(
    z.object({ type: text, status: text, reason: text, message: text, lastTransitionTime: text }),
  ),
  drift: z.array(
    z.object({
      path: text,
      kind: text,
      wanted: z.unknown(),
      actual: z.unknown(),
      since: text,
      cause: text.nullable().describe("Quotes of the provider's events about it."),
      will: z.object({ what: text, at: time.nullable() }).describe('What becomes of it.'),
    }),
  ),
  plan: z.object({
    reason: text,
    message: text,
    since: text.nullable(),
    turn: text.nullable(),
    meaning: text,
    remedy: text,
    docs: text.nullable(),
    times: z.array(z.object({ at: time.nullable(), what: text })),
  }),
  intents: z.object({ open: intent.nullable(), newest: z.array(intent).max(20) }),
  activities: z.array(
    z.object({
      task: text,
      key: objectKeyText,
      activityId: text.nullable(),
      state: text.nullable(),
      isReleased: z.boolean(),
      reason: text.nullable(),
      message: text.nullable(),
      heartbeatAt: time.nullable(),
      renewedBy: text.describe('Who sends its heartbeats.'),
    }),
  ),
  cost: z.object({
    hourlyMicros: micros.nullable(),
    basis: text.describe('observed: the price that the API shows; unknown: it shows none.'),
  }),
  commands: z.array(z.object({ what: text, text })).describe('To copy.'),
  parent: objectKeyText.nullable().describe('Above it in the tree.'),
  yaml: text,
});

export const treeNode = z
  .object({
    id: objectKeyText.describe(
      'KIND/NAMESPACE/NAME; an account has one, whether there is such an object or not.',
    ),
    parent: text.nullable(),
    depth: count,
    kind: text,
    name: text,
    health: health.describe('Its own.'),
    worst: health.describe('The worst of it and of all below it.'),
    worstCount: count.describe('How many of these have that.'),
    below: byHealth,
    children: count.describe('Directly below it, shown or not.'),
    hasReplicas: z.boolean().describe('`/fleets` has it.'),
    reason: text,
    sentence: text,
  })
  .meta({ id: 'TreeNode' });

export const tree = z.object({
  nodes: z.array(treeNode).max(500),
  omitted: count.describe('Nodes within the depth that were left out, because there are more than 500.'),
});

export const timeline = page(intent).extend({
  limits: text.describe('How far back it reaches.'),
});

const costRow = z.object({
  name: text.nullable(),
  things: count,
  hourlyMicros: micros,
  aheadMicros: micros.describe(
    'Until the month ends (UTC), at the burn of now with the schedules of fleets.',
  ),
  unpriced: count,
  spentMicros: micros.nullable().describe('In this month. Null: nobody has counted all of it.'),
  estimatedMicros: micros.nullable().describe('The part of that which nobody observed.'),
  forecastMicros: micros.nullable().describe('Spent, and what is ahead in this month.'),
  countedSince: time.nullable().describe('Since when all of it is counted.'),
});
const sum = costRow.omit({ name: true });
export const money = z.object({
  currency: text,
  by: text,
  rows: z.array(costRow).max(200),
  omitted: count,
  unmanaged: sum,
  total: sum,
  mostExpensive: z.array(row).max(20),
  budgets: z.array(budget).max(100),
  accounts: z.array(
    z.object({
      account: text,
      balanceMicros: micros.nullable(),
      burnMicrosPerHour: micros.nullable(),
      runwaySeconds: z.number().nullable(),
      month: text.nullable().describe('In UTC. Null: nothing was counted yet.'),
      spentMicros: micros.nullable(),
      forecastMicros: micros
        .nullable()
        .describe('Spent, and what is ahead. Null: the month was not counted.'),
    }),
  ),
  priceChanges: z
    .array(
      z.object({
        account: text,
        at: time.describe('When it was seen.'),
        region: text,
        geography: text,
        gpuModel: text.nullable(),
        gpuCount: z.number(),
        cpu: z.number(),
        memoryGb: z.number(),
        storageGb: z.number(),
        beforeMicros: micros,
        hourlyMicros: micros,
      }),
    )
    .max(20)
    .describe('By more than 1 %, newest first; of the last 30 days.'),
  isComplete: z.boolean().describe('False: an account, or a namespace, can not be read.'),
});

const revision = z.object({
  name: text,
  outcome: text,
  at: text,
  image: text.nullable(),
  reason: text.nullable(),
});

const slot = z.object({
  slot: count,
  key: objectKeyText,
  phase: text,
  since: time,
  cause: text.nullable(),
  revision: text.nullable().describe('The one that it is to have.'),
  observedRevision: text.nullable(),
  candidate: text.nullable(),
  region: text,
  geography: text.nullable(),
  account: text,
  ready: z.boolean().describe('Available.'),
  health,
  protected: z.boolean(),
  url: text.nullable(),
  sentence: text,
});

export const fleet = z.object({
  object: row,
  progress: z.object({ result: z.enum(['Stable', 'Failed', 'Paused', 'Waiting']), message: text }),
  counts: z.record(z.string(), count),
  slots: z.array(slot).max(1000),
  steps: z.array(anyMap).describe('Of `update` in the document.'),
  rollout: anyMap.nullable().describe('As in the status.'),
  revisions: z.array(revision),
  placement: z.array(anyMap),
  commands: z.array(z.object({ what: text, text })),
});

export const revisions = z.object({ namespace: text, name: text, revisions: z.array(revision) });

export const endpoints = z.object({
  namespace: text,
  name: text,
  endpoints: z.array(z.object({ slot: count, url: text, ready: z.boolean(), revision: text.optional() })),
});
