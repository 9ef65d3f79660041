/** Answers of the read API about made-up fleets, for tests of views. All times are before `nowMs`. */
import type {
  AccountFacts,
  Budget,
  Fleet,
  Health,
  Money,
  Mutation,
  ObjectAnswer,
  Problem,
  Row,
  Sentence,
  Slot,
  Summary,
  TreeNode,
} from '../../src/page/shapes.ts';

export const nowMs = Date.UTC(2026, 10, 27, 14, 12, 30);
export const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString();

export function sentence(...parts: readonly (string | number)[]): Sentence {
  const made = parts.map((part) => (typeof part === 'string' ? { text: part } : { time: at(part) }));
  const text = made.map((part) => ('time' in part ? part.time : part.text)).join('');
  return { parts: made, text, answer: null };
}

export function row(key: string, more: Partial<Row> = {}): Row {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return {
    key,
    kind,
    namespace,
    name,
    health: 'Healthy',
    severity: 'info',
    reason: 'Running',
    since: at(86_400 * 2),
    turn: null,
    sentence: sentence('Ready since ', 86_400 * 2, ' (Running).'),
    state: 'running',
    account: 'shop/default',
    fleet: null,
    region: 'standard',
    geography: 'europe',
    hourlyMicros: 1_940_000,
    protected: false,
    drift: 0,
    refusals: 0,
    replicas: null,
    ...more,
  };
}

export const waiting = row('ContainerService/shop/trainer', {
  health: 'Waiting',
  severity: 'warning',
  reason: 'NoCapacity',
  since: at(630),
  turn: 'provider',
  state: null,
  hourlyMicros: null,
  refusals: 7,
  sentence: sentence(
    'Waits since ',
    630,
    ': no capacity for 4 GPUs in europe; next attempt ',
    -1110,
    '; refused 7 times; 3 of 4 candidates are full.',
  ),
});

export const broken = row('ContainerService/shop/web', {
  health: 'Held',
  severity: 'critical',
  reason: 'InvalidSpec',
  since: at(7300),
  turn: 'user',
  drift: 1,
  sentence: sentence('Held since ', 7300, ': ports: 8080 is there twice.'),
});

export const suspended = row('ContainerService/shop/notebook', {
  health: 'Suspended',
  reason: 'Paused',
  since: at(4000),
  hourlyMicros: 0,
  sentence: sentence('Suspended since ', 4000, ': its document pauses it.'),
});

const words = ['api', 'batch', 'embed', 'index', 'llm', 'notebook', 'rank', 'search', 'train', 'vision'];

/** `count` objects; with one in `each` that is not healthy. */
export function rows(count: number, each = 9): Row[] {
  const healths: Health[] = ['Waiting', 'Held', 'Stale', 'Working', 'Down'];
  return Array.from({ length: count }, (_, index) => {
    const kind = index % 5 === 4 ? 'StorageVolume' : 'ContainerService';
    const health = index % each === each - 1 ? (healths[index % healths.length] ?? 'Down') : 'Healthy';
    return row(`${kind}/shop/${words[index % words.length]}-${index}`, {
      health,
      reason: health === 'Healthy' ? 'Running' : 'NoCapacity',
      hourlyMicros: kind === 'StorageVolume' ? 14_000 : 1_940_000 - 1000 * (index % 700),
      since: at(3600 * (index % 90) + 40),
      protected: index % 7 === 3,
    });
  });
}

export const problems: readonly Problem[] = [
  {
    id: 'invalid',
    reason: 'InvalidSpec',
    severity: 'critical',
    account: 'shop/default',
    state: 'Open',
    count: 1,
    since: at(7300),
    objects: [broken.key],
    message: 'ports: 8080 is there twice (fleet/web.yaml:14)',
    answer: null,
    mistakes: [],
    health: 'Held',
    meaning: 'The document can not be used.',
    remedy: 'Correct the document. Until then, what exists stays as it is.',
    turn: 'user',
    docs: 'docs/reference/reasons.md',
    command: 'fleetkeeper describe ContainerService/web -n shop --source fleet',
  },
  {
    id: 'capacity',
    reason: 'NoCapacity',
    severity: 'warning',
    account: 'shop/default',
    state: 'Open',
    count: 9,
    since: at(630),
    objects: ['trainer', 'llm-2', 'llm-3', 'llm-4', 'rank-1'].map((name) => `ContainerService/shop/${name}`),
    message: 'no capacity for 4 GPUs in europe; 3 of 4 candidates are full',
    answer: null,
    mistakes: [],
    health: 'Held',
    meaning: 'The provider has no room for it.',
    remedy: 'It is asked for again by itself. Allow other places to have it sooner.',
    turn: 'provider',
    docs: 'docs/concepts/capacity.md',
    command: 'fleetkeeper describe ContainerService/trainer -n shop --source fleet',
  },
];

export const account: AccountFacts = {
  account: 'shop/default',
  isShared: false,
  up: true,
  isStale: false,
  readAt: at(4),
  pollSeconds: 15,
  longestPollSeconds: 60,
  failure: null,
  requests: { perSecond: 18.4, limitPerSecond: 20, waiting: 3, throttled: 2, closedUntil: null },
  balanceMicros: 1_204_300_000,
  burnMicrosPerHour: 15_520_000,
  reservedMicrosPerHour: 1_940_000,
  runwaySeconds: 279_000,
  quotas: [
    { resource: 'services', used: 41, limit: 50 },
    { resource: 'gpus', used: 8, limit: 16 },
  ],
  capacity: [
    {
      region: 'standard',
      geography: 'europe',
      gpuCount: 4,
      cpu: 16,
      memoryGb: 128,
      storageGb: 0,
      state: 'Scarce',
      since: at(630),
      failures: 7,
      retryAt: at(-1110),
      message: 'CAPACITY_UNAVAILABLE: no hosts with 4 free GPUs',
    },
  ],
};

export const failing: AccountFacts = {
  ...account,
  account: 'lab/default',
  up: false,
  isStale: true,
  readAt: at(5400),
  failure: { reason: 'Unauthorized', message: 'the API refuses the key (401)' },
  requests: null,
  quotas: [],
  capacity: [],
};

export const budgets: readonly Budget[] = [
  {
    key: 'Budget/shop/search-team',
    mode: 'Gate',
    health: 'Healthy',
    month: '2026-11',
    hourlyMicros: 11_200_000,
    hourlyLimitMicros: 15_000_000,
    reservedMicros: 1_940_000,
    spentMicros: 4_870_000_000,
    forecastMicros: 5_600_000_000,
    monthlyLimitMicros: 6_000_000_000,
    runwayHours: null,
    waiting: 2,
    members: 12,
  },
];

export function summary(more: Partial<Summary> = {}): Summary {
  const { accounts = [account] } = more;
  const runways = accounts.flatMap(({ runwaySeconds }) => runwaySeconds ?? []);
  return {
    version: '0.2.0',
    place: 'folder',
    owner: 'fleet',
    manager: {
      state: 'Running',
      host: 'host-1',
      pid: 4711,
      startedAt: at(90_000),
      seenAt: at(1),
      note: null,
    },
    objects: 214,
    health: { Healthy: 198, Waiting: 9, Held: 1, Working: 4, Suspended: 2 },
    kinds: ['ContainerService', 'StorageVolume', 'ServiceFleet', 'Account', 'ProtectedTask', 'Budget'].map(
      (kind) => ({
        kind,
        count: 30,
        health: { Healthy: 30 },
      }),
    ),
    reasons: [{ reason: 'NoCapacity', count: 9, severity: 'warning' }],
    problems: { total: 2, objects: 10, critical: 1, forPerson: 1, first: [...problems] },
    suspended: [{ reason: 'Paused', count: 2 }],
    brakes: [],
    burnMicrosPerHour: 15_520_000,
    budgets: [...budgets],
    runwaySeconds: runways.length === 0 ? null : Math.min(...runways),
    accounts,
    accountCounts: {
      all: accounts.length,
      current: accounts.filter(({ up, isStale }) => up && !isStale).length,
      unread: accounts.filter(({ readAt }) => readAt === null).length,
    },
    oldestReadAt: at(4),
    notes: [],
    isComplete: true,
    ...more,
  };
}

export function mutation(index: number, more: Partial<Mutation>): Mutation {
  const { reason = null, fields = [] } = more;
  return {
    object: broken.key,
    action: 'restart-service',
    account: 'shop/default',
    at: at(60 + 400 * index),
    finishedAt: at(59 + 400 * index),
    durationMs: 140 * (index + 1),
    reason,
    fields,
    why: fields.length > 0 ? `${reason}: ${fields.join(', ')}` : reason,
    askedBy: 'generation 3 of the document',
    outcome: 'applied',
    targetId: null,
    idempotencyKey: `key-${index}`,
    generation: 3,
    note: null,
    ...more,
  };
}

export const mutations: readonly Mutation[] = [
  mutation(0, {
    action: 'create-service',
    object: waiting.key,
    reason: 'Create',
    askedBy: 'scale of the fleet llm: schedule nights',
    outcome: 'refused',
    note: 'CAPACITY_UNAVAILABLE: no hosts with 4 free GPUs',
  }),
  mutation(1, {
    action: 'patch-service',
    object: 'ContainerService/shop/llm-2',
    reason: 'SpecChanged',
    fields: ['image', 'env.LEVEL'],
    askedBy: 'rollout of the fleet llm to revision 3',
  }),
  mutation(2, { reason: 'RestartRequested', fields: ['restartToken'], askedBy: 'restart token 2' }),
  // An earlier version recorded no reason.
  mutation(3, {
    action: 'grow-volume',
    object: 'StorageVolume/shop/data',
    outcome: 'unknown',
    note: 'the connection was cut',
  }),
];

export function objectAnswer(object: Row, more: Partial<ObjectAnswer> = {}): ObjectAnswer {
  return {
    object,
    uid: '019b76e9-5313-7a25-8bbe-75333194145a',
    generation: 3,
    observedGeneration: 3,
    createdAt: at(400_000),
    deletionRequestedAt: null,
    labels: { team: 'search', tier: 'gpu' },
    annotations: {},
    document: { file: 'fleet/trainer.yaml', line: 1 },
    spec: {},
    observed: { endpoint: 'https://trainer.example.test' },
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: object.reason,
        message: 'no capacity for 4 GPUs in europe',
        lastTransitionTime: at(630),
      },
      {
        type: 'Reconciling',
        status: 'True',
        reason: object.reason,
        message: '',
        lastTransitionTime: at(630),
      },
      { type: 'Stalled', status: 'False', reason: 'InSync', message: '', lastTransitionTime: at(90_000) },
      { type: 'Synced', status: 'True', reason: 'InSync', message: '', lastTransitionTime: at(90_000) },
    ],
    drift: [],
    plan: {
      reason: object.reason,
      message: 'no capacity for 4 GPUs in europe',
      since: at(630),
      turn: object.turn,
      meaning: 'The provider has no room for it now.',
      remedy: 'It is asked for again by itself. Allow other places to have it sooner.',
      docs: 'docs/concepts/capacity.md',
      times: [],
    },
    intents: { open: null, newest: [...mutations] },
    activities: [],
    cost: { hourlyMicros: object.hourlyMicros, basis: 'observed' },
    commands: [
      {
        what: 'show all that is recorded',
        text: `fleetkeeper describe ContainerService/${object.name} -n shop --source fleet`,
      },
      {
        what: "show the provider's events",
        text: `fleetkeeper events ${object.name} -n shop --source fleet`,
      },
    ],
    parent: 'Account/shop/default',
    yaml: `apiVersion: fleetkeeper.dev/v1alpha1\nkind: ${object.kind}\nmetadata:\n  name: ${object.name}\n`,
    ...more,
  };
}

function node(id: string, parent: string | null, depth: number, more: Partial<TreeNode> = {}): TreeNode {
  const [kind = '', , name = ''] = id.split('/');
  return {
    id,
    parent,
    depth,
    kind,
    name,
    health: 'Healthy',
    worst: 'Healthy',
    worstCount: 1,
    below: {},
    children: 0,
    hasReplicas: false,
    reason: 'Running',
    sentence: 'Ready.',
    ...more,
  };
}

export const nodes: readonly TreeNode[] = [
  node('Account/shop/default', null, 1, { children: 3, worst: 'Held', worstCount: 1, reason: 'Connected' }),
  node('ServiceFleet/shop/llm', 'Account/shop/default', 2, {
    children: 4,
    hasReplicas: false,
    worst: 'Waiting',
    worstCount: 3,
    health: 'Working',
    reason: 'RollingOut',
  }),
  ...[0, 1, 2, 3].map((slot) =>
    node(
      `ContainerService/shop/llm-${slot}`,
      'ServiceFleet/shop/llm',
      3,
      slot === 0 ? {} : { health: 'Waiting', worst: 'Waiting', reason: 'NoCapacity' },
    ),
  ),
  node(broken.key, 'Account/shop/default', 2, {
    health: 'Held',
    worst: 'Held',
    reason: 'InvalidSpec',
    children: 1,
    hasReplicas: false,
  }),
  node('StorageVolume/shop/data', broken.key, 3, { reason: 'Provisioned' }),
  node(suspended.key, 'Account/shop/default', 2, {
    health: 'Suspended',
    worst: 'Suspended',
    reason: 'Paused',
  }),
];

export const nothingCounted = {
  spentMicros: null,
  estimatedMicros: null,
  forecastMicros: null,
  countedSince: null,
};

export const money: Money = {
  currency: 'USD',
  by: 'namespace',
  rows: [
    {
      name: 'shop',
      things: 41,
      hourlyMicros: 11_200_000,
      aheadMicros: 840_000_000,
      unpriced: 0,
      spentMicros: 4_870_000_000,
      estimatedMicros: 12_500_000,
      forecastMicros: 5_710_000_000,
      countedSince: at(20 * 86_400),
    },
    {
      name: 'lab',
      things: 7,
      hourlyMicros: 3_880_000,
      aheadMicros: 291_000_000,
      unpriced: 1,
      ...nothingCounted,
    },
  ],
  omitted: 0,
  unmanaged: { things: 1, hourlyMicros: 440_000, aheadMicros: 33_000_000, unpriced: 0, ...nothingCounted },
  total: { things: 49, hourlyMicros: 15_520_000, aheadMicros: 1_164_000_000, unpriced: 1, ...nothingCounted },
  mostExpensive: rows(8),
  budgets: [...budgets],
  accounts: [
    {
      account: 'shop/default',
      balanceMicros: 1_204_300_000,
      burnMicrosPerHour: 15_520_000,
      runwaySeconds: 279_000,
      month: '2026-11',
      spentMicros: 9_800_000_000,
      forecastMicros: 10_964_000_000,
    },
  ],
  priceChanges: [
    {
      account: 'shop/default',
      at: at(3 * 3600),
      region: 'standard',
      geography: 'europe',
      gpuModel: 'h100',
      gpuCount: 4,
      cpu: 16,
      memoryGb: 128,
      storageGb: 0,
      beforeMicros: 1_940_000,
      hourlyMicros: 2_328_000,
    },
  ],
  isComplete: true,
};

export const brake: Summary['brakes'][number] = {
  reason: 'MassChangeBrake',
  stops: 'creations and deletions',
  namespace: null,
  account: 'shop/default',
  count: 3,
  since: at(630),
  message:
    '12 of 40 objects have left the source within a minute: run `fleetkeeper apply --allow-mass-change`',
};

export const fleet: Fleet = {
  object: row('ServiceFleet/shop/llm', {
    health: 'Working',
    reason: 'RollingOut',
    since: at(200),
    sentence: sentence('Works since ', 200, ': revision r7 is at step 2 of 3; 2 of 4 replicas are updated.'),
  }),
  progress: { result: 'Waiting', message: '2 of 4 replicas are updated; the next one drains' },
  counts: { desiredReplicas: 4, availableReplicas: 3, updatedReplicas: 2, drainingReplicas: 1 },
  steps: [{ updated: '25%' }, { pause: { seconds: 300 } }, { updated: '100%' }],
  rollout: { phase: 'Progressing', step: 2, message: 'revision r7 at step 2 of 3' },
  revisions: [
    { name: 'r7', outcome: 'Active', at: at(200), image: 'ghcr.io/acme/llm:7', reason: null },
    {
      name: 'r6',
      outcome: 'Failed',
      at: at(86_000),
      image: 'ghcr.io/acme/llm:6',
      reason: 'the check of / failed 3 times',
    },
    { name: 'r5', outcome: 'Healthy', at: at(400_000), image: 'ghcr.io/acme/llm:5', reason: null },
  ],
  placement: [],
  commands: [
    {
      what: 'return to the last healthy revision',
      text: 'fleetkeeper rollout abort llm -n shop --source fleet',
    },
  ],
};

export const slots: readonly Slot[] = (['Healthy', 'Healthy', 'Working', 'Waiting'] as const).map(
  (health, slot) => ({
    slot,
    key: `ContainerService/shop/llm-${slot}`,
    phase: slot === 2 ? 'draining' : 'wanted',
    since: at(200),
    cause: null,
    revision: 'r7',
    observedRevision: slot < 2 ? 'r7' : 'r5',
    candidate: null,
    region: 'standard',
    geography: slot === 3 ? 'us-west' : 'europe',
    account: 'shop/default',
    ready: slot !== 3,
    health,
    protected: slot === 1,
    url: null,
    sentence: 'Ready.',
  }),
);
