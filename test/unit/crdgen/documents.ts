/** What people may write, and what they may not. */
import type { ManagedKind } from '../../../src/resources/index.ts';
import { serviceId } from '../../support/plan.ts';

type Fields = Readonly<Record<string, unknown>>;

const keyRef = { name: 's', key: 'k' };
const secret = { secretKeyRef: keyRef };
const configMap = { configMapKeyRef: keyRef };
const adopt = { id: serviceId };

const one = 'needs exactly one of volumeRef, volumeId and volumeGb';
const missing = 'or a `templateRef` whose template gives it';
/** A spec that folder and cluster refuse with the same words. */
export const refused: readonly (readonly [ManagedKind, Fields, string])[] = [
  ['ContainerService', { image: undefined }, `is missing; add it (a text), ${missing}`],
  [
    'ContainerService',
    { resources: undefined },
    `is missing; add it (a map with cpu and memoryGb), ${missing}`,
  ],
  ...['Nginx:latest', 'Nginx', 'ghcr.io/Acme/web', 'ghcr.io:443/acme/Web:1@sha256:ab'].map(
    (image) => ['ContainerService', { image }, 'has capitals in its repository'] as const,
  ),
  ...['https://ghcr.io/acme/web:1', 'docker://nginx'].map(
    (image) => ['ContainerService', { image }, 'has a scheme'] as const,
  ),
  ...['nginx :1', 'a\tb', '“nginx”', "'nginx'"].map(
    (image) => ['ContainerService', { image }, 'has a blank or a quote in it'] as const,
  ),
  ['ContainerService', { storage: {} }, one],
  ['ContainerService', { storage: { volumeRef: { name: 'data' }, volumeGb: 50 } }, one],
  ['ContainerService', { storage: { volumeId: serviceId, volumeGb: 50 } }, one],
  [
    'ContainerService',
    { storage: { volumeId: serviceId, volumeMode: 'independent' } },
    'is for volumeGb only',
  ],
  [
    'ContainerService',
    { env: [{ name: 'A', value: '1', valueFrom: secret }] },
    'value and valueFrom exclude each other',
  ],
  ...[{}, { ...secret, ...configMap }].map(
    (valueFrom) =>
      [
        'ContainerService',
        { env: [{ name: 'A', valueFrom }] },
        'needs exactly one of secretKeyRef and configMapKeyRef',
      ] as const,
  ),
  [
    'ContainerService',
    { env: [{ name: 'FLEETKEEPER_BEACON_X', value: '1' }] },
    "names starting with FLEETKEEPER_BEACON_ are fleetkeeper's own",
  ],
  ['ImageRegistry', { credentialsSecretRef: undefined }, 'only a registry that is adopted can go without'],
  ...[
    'web',
    'acme/web',
    'ghcr.io/acme/web:1',
    'https://ghcr.io/acme/web',
    'ghcr.io/Acme/web',
    'ghcr.io/',
  ].map(
    (repository) => ['ImageRegistry', { repository }, 'must be one exact repository with its host'] as const,
  ),
  ['ProtectedTask', { until: {} }, 'needs exactly one of jobRef and deadline'],
  [
    'ProtectedTask',
    { until: { jobRef: { name: 'j' }, deadline: '2026-01-01T00:00:00Z' } },
    'needs exactly one of jobRef and deadline',
  ],
  ...(
    [
      ['api.example.com', 'must be an address'],
      ['', 'must be an address'],
      ['https://', 'must be an address'],
      ['ftp://api.example.com', 'must start with https'],
      ['https://me:secret@api.example.com', 'must not hold a user name'],
      ['https://me@api.example.com', 'must not hold a user name'],
      ['https://api.example.com?x=1', 'query or a fragment'],
      ['https://api.example.com/#x', 'query or a fragment'],
      ['https://api.example.com/api', 'without /api'],
      ['https://api.example.com/compute/api/', 'without /api'],
      ['http://api.example.com', 'must be https'],
      ['HTTP://10.0.0.1', 'must be https'],
      ['http://localhost.example.com', 'must be https'],
      ['http://127.0.0.1.example.com', 'must be https'],
      ['http://0.0.0.0', 'must be https'],
    ] as const
  ).map(([url, message]) => ['Account', { url }, message] as const),
  ['Account', { prices: [{ region: 'standard' }] }, 'needs at least one price'],
  ['Account', { refusals: [{ meaning: 'Validation' }] }, 'needs codes, messages or statuses'],
  ['Account', { refusals: [{ meaning: 'Validation', statuses: [500] }] }, 'a refusal has a status'],
  ...['X Api Key', 'X-Api-Key:', 'Schlüssel'].map(
    (name) => ['Account', { credentialsHeader: name }, 'must be the name of a header'] as const,
  ),
  ...[
    'Host',
    'content-length',
    'Content-Type',
    'IDEMPOTENCY-KEY',
    'Cookie',
    'Connection',
    'Transfer-Encoding',
    'Proxy-Authorization',
    'X-Forwarded-For',
  ].map((name) => ['Account', { credentialsHeader: name }, 'can not carry a key'] as const),
  ['Account', { prices: [{ region: 'standard', hourlyMicros: 5 }] }, 'hourlyMicros needs resources'],
];

const commonFields: Readonly<Record<string, readonly unknown[]>> = {
  accountRef: [{ name: 'lab' }, { name: 'Lab' }, {}],
  driftPolicy: ['Correct', 'Report', 'Ignore'],
  deletionPolicy: ['Delete', 'Retain', 'Keep'],
  adopt: [adopt, { id: 'trainer' }, {}],
  unknown: ['x'],
};
const runFields: Readonly<Record<string, readonly unknown[]>> = {
  image: ['a:1', 'a:LATEST', 'HOST:5000/a:V1', 'Host/a@sha256:AB', 'A', 'h.io/A', 'a b', '', 1],
  command: [[], ['a', 'b'], [1], 'a'],
  resources: [
    { cpu: 1, memoryGb: 0.5 },
    { gpuCount: 0.5, cpu: 1, memoryGb: 1 },
    { cpu: 0, memoryGb: 1 },
    { gpuCount: -1, cpu: 1, memoryGb: 1 },
    { cpu: 1 },
  ],
  httpPort: [1, 65_535, 0, 65_536, 80.5, '80'],
  sleepAfterMinutes: [0, 1, 1440, -1, 1441, 0.5, null],
};
const replica = { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 } };
/** For each field values that are good, and values that are not. */
export const values: Readonly<Record<ManagedKind, Readonly<Record<string, readonly unknown[]>>>> = {
  Account: {
    url: [
      'https://api.example.com/compute/',
      'http://127.0.0.1:8787',
      'http://[::1]:8787/x',
      'http://10.0.0.1',
      'https://a/api',
      'https://https:///api/ ',
      'nowhere',
    ],
    insecure: [true, false, 'yes'],
    prices: [
      [],
      [{ region: 'standard', gpuHourMicros: 1, cpuHourMicros: 0 }],
      [{ region: 'standard', resources: { cpu: 1, memoryGb: 1 }, hourlyMicros: 7 }],
      [{ gpuHourMicros: 1 }],
      [{ region: 'standard', gpuHourMicros: -1 }],
      [{ region: 'standard', gpuHourMicros: 2 ** 53 }],
      [{ region: 'standard', gpuHourMicros: 0.5 }],
    ],
    refusals: [
      [],
      [{ meaning: 'CapacityUnavailable', codes: ['e-1'], messages: ['x'], statuses: [409, 503] }],
      [{ meaning: 'Applied', codes: ['e-1'] }],
      [{ meaning: 'Validation', codes: [] }],
      [{ meaning: 'Validation', statuses: [200] }],
    ],
    credentialsHeader: ['Authorization', 'X-Api-Key', "!#$%&'*+-.^_`|~0aZ", '', 7, 'x'.repeat(129)],
    credentialsSecretRef: [keyRef, { name: 's' }, { name: 's', key: '' }],
    requests: [
      {},
      { burst: 3 },
      { perSecond: 0 },
      { perSecond: 0.1, concurrency: 256 },
      { concurrency: 257 },
      { burst: 1.5 },
      { many: 1 },
    ],
    pollSeconds: [0.2, 3600, 0, 0.1, 3601, '15'],
    minimumBalanceMicros: [0, -5_000_000, 1.5, 2 ** 53 - 1, 2 ** 53, -(2 ** 53)],
    unknown: ['x'],
  },
  ContainerService: {
    ...commonFields,
    ...runFields,
    serviceName: ['web', '', 'w'.repeat(254)],
    region: ['standard', '', 7],
    geography: ['auto', ''],
    env: [
      [],
      [{ name: 'A' }, { name: 'B', value: '' }, { name: 'C', valueFrom: secret }],
      [{ name: 'D', valueFrom: { configMapKeyRef: { ...keyRef, optional: true } } }],
      [{ name: 'A', value: 1 }],
      [{ name: '1A' }],
      [{ name: 'A' }, { name: 'A' }],
      [{ name: 'FLEETKEEPER_BEACON_X' }],
      [{ name: 'A', value: '1', valueFrom: configMap }],
      [{ name: 'A', valueFrom: {} }],
      [{ value: '1' }],
      Array.from({ length: 1025 }, (_, index) => ({ name: `V${index}` })),
    ],
    storage: [
      { volumeRef: { name: 'data' } },
      { volumeId: serviceId },
      { volumeGb: 50 },
      { volumeGb: 50, volumeMode: 'independent' },
      {},
      { volumeGb: 0 },
      { volumeGb: 4097 },
      { volumeId: 'data' },
      { volumeMode: 'independent' },
      { volumeRef: { name: 'data' }, volumeGb: 10 },
    ],
    templateRef: [{ name: 'pytorch' }, {}, { name: 'py torch' }],
    templateUpdates: ['Apply', 'Never'],
    desiredState: ['Running', 'Stopped', 'Sleeping'],
    restartToken: ['', '1', 1],
    readiness: [
      { path: '/healthz' },
      { path: '/a?b=c', periodSeconds: 1 },
      { path: 'healthz' },
      { path: '/a b' },
      { path: '/', timeoutSeconds: 61 },
      {},
    ],
    disruption: ['WhenUnprotected', 'Never', 'Always', 'Sometimes'],
    disruptionWindows: [
      [{ cron: '0 2 * * sat', durationMinutes: 60 }],
      [],
      [{ cron: '0 2 * * sat' }],
      [{ cron: '0 2 * *', durationMinutes: 60 }],
      [{ cron: 'weekly', durationMinutes: 60 }],
      [{ cron: '0 2 * * sat', durationMinutes: 60, timeZone: 'Berlin, Europe' }],
    ],
    onError: [{}, { restarts: 0 }, { restarts: 101 }],
    replacement: ['Never', 'Recreate', 'Maybe'],
  },
  ServiceFleet: {
    accountRef: [{ name: 'lab' }, { name: 'Lab' }],
    replicas: [0, 1000, -1, 1001, 1.5, '3'],
    minReplicas: [0, 1000, 1001],
    maxReplicas: [1, 50, 51, 1000, 0],
    template: [
      { metadata: { labels: { a: 'b' } }, spec: replica },
      { spec: { ...replica, storage: { volumeGb: 10 } } },
      { spec: { image: 'a:1', resources: replica.resources } },
      { spec: { ...replica, image: undefined } },
      {},
    ],
    storage: [
      { scratch: { volumeGb: 10 } },
      { scratch: { volumeGb: 9 } },
      { perReplica: { sizeGb: 10, expansion: 'PauseService', retire: 'Delete' } },
      { perReplica: { sizeGb: 9 } },
      { perReplica: { sizeGb: 10, retire: 'Never' } },
      { perReplica: { sizeGb: 10 }, scratch: { volumeGb: 10 } },
      {},
    ],
    update: [
      {},
      { mode: 'Replace', maxSurge: '25%', maxUnavailable: 1, minReadySeconds: 0 },
      { maxSurge: 0 },
      { maxSurge: 0, maxUnavailable: '25%' },
      { maxSurge: '0%', maxUnavailable: 0 },
      { maxSurge: '101%' },
      { minReadySeconds: 3601 },
      { mode: 'InPlace' },
    ],
    scaleIn: [{ maxPerMinute: 3 }, { maxPerMinute: '10%' }, { maxPerMinute: -1 }, { maxPerMinute: 'all' }],
    drain: [{ graceSeconds: 0 }, { graceSeconds: 3601 }],
    schedules: [
      [],
      [{ name: 'night', cron: '0 22 * * *', durationMinutes: 480, maxReplicas: 0 }],
      [{ name: 'night', cron: '0 22 * * *', durationMinutes: 480 }],
      [0, 1].map((maxReplicas) => ({ name: 'night', cron: '0 22 * * *', durationMinutes: 480, maxReplicas })),
      [{ name: 'night', cron: 'late', durationMinutes: 480, replicas: 1 }],
    ],
    publishEndpoints: [true, 'yes'],
    deletionPolicy: ['Delete', 'Retain', 'Keep'],
    unknown: ['x'],
  },
  StorageVolume: {
    ...commonFields,
    volumeName: ['data', '', 'v'.repeat(48), 'v'.repeat(49)],
    region: ['standard', ''],
    geography: ['auto', ''],
    sizeGb: [10, 4096, 9, 4097, 10.5, '100'],
    expansion: ['Never', 'PauseService', 'Always'],
  },
  ServiceTemplate: {
    ...commonFields,
    ...runFields,
    templateName: ['pytorch', '', 't'.repeat(129)],
    description: ['', 'd'.repeat(4032), 'd'.repeat(4033)],
    containerDiskGb: [1, 4096, 0],
    workspaceGb: [10, 9],
    requiredEnvironment: [[], ['A', 'B'], ['A', 'A'], ['A=1'], ['']],
  },
  ImageRegistry: {
    ...commonFields,
    repository: [
      'ghcr.io/acme/web',
      'GHCR.io/acme/web',
      'localhost:5000/web',
      'localhost/web',
      'docker.io/postgres',
      'a-.io/web',
      'ghcr.io/acme//web',
      'ghcr.io/a__b/c--d.e',
      'ghcr.io/a___b',
      'ghcr.io:123456/web',
    ],
    credentialsSecretRef: [
      { name: 'ghcr' },
      { name: 'ghcr', usernameKey: 'u' },
      { name: 'ghcr', passwordKey: '' },
    ],
  },
  ProtectedTask: {
    serviceRef: [{ name: 'trainer' }, {}, { name: '' }],
    taskName: ['t', '', 't'.repeat(129)],
    released: [true, 'true'],
    until: [
      { jobRef: { name: 'job' } },
      { deadline: '2026-01-01T00:00:00Z' },
      { deadline: '2026-01-01T00:00:00.5+02:00' },
      { deadline: '2026-01-01' },
      { deadline: '2026-13-01T00:00:00Z' },
      { deadline: 'tomorrow' },
      {},
    ],
    unknown: ['x'],
  },
};
