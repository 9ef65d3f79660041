/** Ten fleets as the read API shows them, for the views of the page. What may be called healthy is decided here once more, by the records. */
import { reasons, isReason } from '../../../src/reasons/index.ts';
import type { AccountNow } from '../../../src/read-api/fleet/source.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import {
  condition,
  FakeSource,
  held,
  intentOf,
  readAccount,
  ready,
  recordOf,
  waiting,
  type Described,
} from './support.ts';

export const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script> javascript:alert(1) \u202e 0000-00-00T00:00:00Z`;

const service = (name: string, more: Described = {}, namespace = 'shop') =>
  recordOf(`ContainerService/${namespace}/${name}`, {
    status: { state: 'running', hourlyMicros: 1_940_000 },
    ...more,
  });
const many = (count: number, make: (index: number) => ObjectRecord) =>
  Array.from({ length: count }, (_, index) => make(index));
const read = readAccount('shop/default');
const unread = readAccount('shop/default', { readAt: undefined, ageMs: undefined });
const silent = readAccount('shop/default', { ageMs: 3_600_000, readAt: Date.UTC(2026, 10, 27, 13) });
const pausing = Object.entries(reasons).flatMap(([reason, entry]) =>
  'suspends' in entry && entry.suspends ? [reason] : [],
);

interface Given {
  readonly records: readonly ObjectRecord[];
  readonly accounts?: readonly AccountNow[];
  readonly change?: (source: FakeSource) => void;
}

const fleetKey: ObjectKey = 'ServiceFleet/shop/llm';

const rollingOut = (): readonly ObjectRecord[] => [
  recordOf(fleetKey, {
    conditions: waiting('RollingOut'),
    status: {
      desiredReplicas: 3,
      readyReplicas: 2,
      rollout: { phase: 'Progressing', revision: 'r2', step: 1 },
      revisions: [
        { name: 'r2', outcome: 'Active', at: '2026-11-27T13:50:00Z', image: 'a:2' },
        { name: 'r1', outcome: 'Healthy', at: '2026-11-26T10:00:00Z', image: 'a:1' },
      ],
    },
    kind: {
      roster: [0, 1, 2].map((slot) => ({
        slot,
        phase: slot === 2 ? 'draining' : 'wanted',
        since: 0,
        revision: slot === 0 ? 2 : 1,
        place: { account: 'default', region: 'standard' },
      })),
    },
  }),
  service('llm-0', { derived: { owner: fleetKey } }),
  service('llm-1', { derived: { owner: fleetKey }, conditions: waiting('AwaitsTurn') }),
  service('llm-2', { derived: { owner: fleetKey }, conditions: waiting('Draining') }),
];

const fleets: Readonly<Record<string, () => Given>> = {
  empty: () => ({ records: [] }),
  '10,000 objects': () => ({
    records: many(10_000, (index) =>
      service(`web-${index}`, index % 100 === 7 ? { conditions: waiting('CapacityUnavailable') } : {}),
    ),
    accounts: [read],
  }),
  'all broken': () => ({
    records: many(12, (index) =>
      service(`web-${index}`, {
        conditions: held(['UnknownRegion', 'DataLost', 'InvalidSpec'][index % 3] ?? ''),
      }),
    ),
    accounts: [readAccount('shop/default', { failure: { reason: 'Unauthorized', message: '401' } })],
  }),
  braked: () => ({
    records: ['MassChangeBrake', 'MassDrift', 'MassFailure', 'RemediationBrake'].map((reason, index) =>
      service(`web-${index}`, { conditions: waiting(reason) }),
    ),
    accounts: [read],
  }),
  'rolling out': () => ({ records: rollingOut(), accounts: [read] }),
  'without its manager': () => ({
    records: [service('web'), service('api', { conditions: waiting('CapacityUnavailable') })],
    accounts: [silent],
    change: (source) => {
      source.manager = () =>
        ({
          phase: 'Lost',
          host: 'host-1',
          pid: 7,
          startedAt: 0,
          seenAt: Date.UTC(2026, 10, 27, 13),
        }) as never;
    },
  }),
  'of an account that was never read': () => ({
    records: [service('web'), service('new', { conditions: [] })],
    accounts: [unread],
  }),
  'suspended in every way': () => ({
    records: pausing.flatMap((reason) => [
      service(`held-${reason.toLowerCase()}`, { conditions: held(reason) }),
      // It runs, and nothing of it is changed for now.
      service(`ready-${reason.toLowerCase()}`, {
        conditions: [condition('Ready', 'True', 'Running'), condition('Stalled', 'True', reason)],
      }),
    ]),
    accounts: [read],
  }),
  'with a hostile text in every field': () => ({
    records: [
      service('web', {
        conditions: held('UnknownRegion', { message: hostile }),
        labels: { team: hostile },
        spec: { region: hostile, image: hostile, geography: hostile },
        file: hostile,
        status: {
          state: hostile,
          endpoint: 'javascript:alert(1)',
          drift: [
            {
              path: hostile,
              kind: 'Changed',
              desired: hostile,
              observed: hostile,
              since: '2026-11-27T10:00:00Z',
              cause: hostile,
            },
          ],
        },
      }),
    ],
    accounts: [readAccount('shop/default', { failure: { reason: 'Unauthorized', message: hostile } })],
    change: (source) => {
      const why = { reason: hostile, fields: [hostile], askedBy: { by: 'Rollout', name: hostile } } as const;
      const intent = intentOf('ContainerService/shop/web', { action: hostile, note: hostile, why });
      source.intents.push({ number: 1, intent });
      source.unusable = [
        { key: undefined, file: hostile, line: 1, path: hostile, message: hostile, remedy: hostile },
      ];
    },
  }),
  'of huge numbers': () => ({
    records: [
      service('web', { status: { state: 'running', hourlyMicros: Number.MAX_SAFE_INTEGER } }),
      recordOf('Budget/shop/team', {
        conditions: ready,
        spec: { limits: { hourlyMicros: Number.MAX_SAFE_INTEGER, monthlyMicros: 1 }, mode: 'Gate' },
        status: { hourlyMicros: 1e300, month: '2026-11', spentMicros: Number.MAX_SAFE_INTEGER },
      }),
    ],
    accounts: [
      readAccount('shop/default', {
        balanceMicros: Number.MAX_SAFE_INTEGER,
        runwaySeconds: Number.MAX_SAFE_INTEGER,
        burnMicrosPerHour: Number.MAX_SAFE_INTEGER,
      }),
    ],
  }),
};

export const fleetNames = Object.keys(fleets);

export interface TenthFleet {
  readonly source: FakeSource;
  /** Keys of what must not be shown as healthy: suspended, stale, unknown, waiting, held, being deleted. */
  readonly unhealthy: ReadonlySet<string>;
}

export function fleetNamed(name: string): TenthFleet {
  const { records, accounts = [], change } = fleets[name]?.() ?? { records: [] };
  const source = new FakeSource(records, accounts);
  change?.(source);
  const stale = new Set(
    accounts
      .filter(({ ageMs, failure }) => ageMs === undefined || ageMs > 60_000 || failure)
      .map((each) => each.name),
  );
  const isWell = ({ status, account = '', deletionRequestedAt }: ObjectRecord) =>
    deletionRequestedAt === undefined &&
    !stale.has(account) &&
    (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True') &&
    !(status?.conditions ?? []).some(
      ({ type, status: is, reason }) =>
        (['Stalled', 'Reconciling'].includes(type) && is === 'True') ||
        (isReason(reason) && 'suspends' in reasons[reason]),
    );
  return { source, unhealthy: new Set(records.filter((record) => !isWell(record)).map(({ key }) => key)) };
}
