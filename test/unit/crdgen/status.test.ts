/** The API server drops what a schema does not know, and refuses what it does not fit: the statuses that are really written must pass whole. */
import { describe, expect, test } from 'vitest';
import { type Plan, holdFor, inSync, localTime, waitFor } from '../../../src/engine/plan/index.ts';
import type { TaskInputs } from '../../../src/kinds/protected-task/plan.ts';
import { type StatusInputs, buildStatus } from '../../../src/engine/status/index.ts';
import { nextMoney, observedAccount, spendingStatement } from '../../../src/kinds/account/status.ts';
import {
  observedReferences,
  observedService,
  serviceAllocation,
  serviceHealth,
  templateOutdated,
} from '../../../src/kinds/container-service/status.ts';
import { observedRegistry, registryHealth } from '../../../src/kinds/image-registry/status.ts';
import { observedTask, taskHealth } from '../../../src/kinds/protected-task/status.ts';
import { observedTemplate } from '../../../src/kinds/service-template/status.ts';
import { observedVolume, volumeAllocation, volumeHealth } from '../../../src/kinds/storage-volume/status.ts';
import { objectKey, type ManagedKind } from '../../../src/resources/index.ts';
import type { ObjectRecord, ObjectStatus } from '../../../src/state/index.ts';
import { shownCapacity, shownPrices, type CapacityEntry } from '../../../src/state/index.ts';
import { intentOf } from '../state/support.ts';
import {
  aRecord,
  aService,
  aSpec,
  aVolume,
  now,
  serviceId,
  servicePlan,
  volumeId,
} from '../../support/plan.ts';
import { aLink, aRegistry, aTemplate } from '../../support/shared-kinds.ts';
import { keptStatus } from './support.ts';

const present = <Value>(value: Value) => ({ kind: 'present' as const, value });
const healthy = { ready: 'True', reason: 'Available', message: '' } as const;

function statusOf(
  kind: ManagedKind,
  observed: Record<string, unknown>,
  more: Partial<StatusInputs> = {},
  record: Partial<ObjectRecord> = {},
): ObjectStatus {
  const key = objectKey(kind, 'default', 'web');
  return buildStatus({
    record: aRecord(key, { externalId: serviceId, ...record }),
    plan: inSync(),
    health: healthy,
    lastIntent: intentOf(key, 'key', { outcome: 'applied', createdAt: now }),
    observed,
    revision: 9_007_199_254_740_991,
    reconcileAt: 'now',
    wallMs: now,
    ...more,
  });
}

/** As it comes back from the API server. */
function expectKept(kind: ManagedKind, status: ObjectStatus): void {
  const { kept, refusals } = keptStatus(kind, status);
  expect(refusals).toEqual([]);
  expect(kept).toEqual(JSON.parse(JSON.stringify(status)));
}

const demand = { region: 'standard', geography: 'auto', gpuCount: 1, cpu: 0.5, memoryGb: 8, storageGb: 0 };
const refusal = { status: 409, code: 'no_capacity', message: 'none left' };
const scarce: CapacityEntry = {
  demand,
  state: 'Scarce',
  since: now,
  at: now,
  grantedAt: now,
  failures: 3,
  retryAt: now,
  refusal,
};
const granted: CapacityEntry = {
  demand,
  state: 'Granted',
  since: now,
  at: now,
  grantedAt: now,
  failures: 0,
  retryAt: undefined,
  refusal: undefined,
};

const facts = {
  url: 'https://api.example.com',
  identity: 'acme',
  emailVerified: true,
  sharedWith: [],
  read: {
    at: now,
    balanceMicros: -5,
    currency: 'USD',
    services: new Map([[serviceId, aService({ hourlyMicros: 3_600_000 })]]),
    volumes: new Map([[volumeId, aVolume()]]),
  },
  quotas: (['volumes', 'templates', 'registries'] as const).map((resource) => ({
    resource,
    used: 1,
    limit: 50,
  })),
  payment: 'enabled',
  pricesSignature: 'f00',
  capacity: shownCapacity([scarce, granted]),
  capacitySignature: 'f01',
  prices: shownPrices([
    {
      region: 'standard',
      geography: 'eu-north',
      demand: { compute: { gpuCount: 1, cpu: 8, memoryGb: 32 } },
      gpuModel: 'h100',
      hourlyMicros: 5,
      at: now,
    },
    {
      region: 'standard',
      geography: 'auto',
      demand: { storageGb: 10 },
      gpuModel: undefined,
      hourlyMicros: undefined,
      at: now,
    },
  ]),
};

const outdated = {
  kind: 'resolved',
  name: 'pytorch',
  requiredEnvironment: [],
  outdated: ['image'],
  missing: undefined,
} as const;

const registration = { serviceId, activityId: volumeId, releaseKey: 'key' };
const task = (record: Partial<ObjectRecord>): TaskInputs => ({
  object: {
    name: 'run',
    annotations: {},
    spec: { serviceRef: { name: 'web' }, released: false },
    deleting: false,
  },
  record: aRecord(objectKey('ProtectedTask', 'default', 'run'), record),
  service: { kind: 'there', id: serviceId },
  lease: { phase: 'held', failure: undefined, expiresInMs: 300_000 },
  job: 'running',
  time: localTime(now),
});

describe('nothing of a status is lost', () => {
  test('of a service', () => {
    const service = aService({
      endpoint: 'https://web.example',
      hourlyMicros: 1,
      volumeId,
      geography: 'eu-1',
    });
    const reported = {
      ...observedService(present(service)),
      ...observedReferences(outdated, { kind: 'usable', name: 'ghcr' }),
    };
    const status = statusOf('ContainerService', reported, {
      health: serviceHealth(aSpec(), present(service), undefined),
      more: [...serviceAllocation(present(service)), ...templateOutdated(outdated)],
    });
    expect(Object.keys(status)).toEqual(
      expect.arrayContaining([
        'state',
        'endpoint',
        'geography',
        'hourlyMicros',
        'volumeId',
        'template',
        'registry',
      ]),
    );
    expectKept('ContainerService', status);
  });

  test('of a volume', () => {
    const volume = aVolume({ requestedSizeGb: 200, serviceId, provisioned: true, hourlyMicros: 3 });
    const status = statusOf('StorageVolume', observedVolume(present(volume)), {
      health: volumeHealth(present(volume)),
      more: volumeAllocation(present(volume)),
    });
    expect(Object.keys(status)).toEqual(
      expect.arrayContaining(['sizeGb', 'requestedSizeGb', 'provisioned', 'serviceId']),
    );
    expectKept('StorageVolume', status);
  });

  test('of a template', () => {
    const users = [
      { name: 'web', missing: ['TOKEN'] },
      { name: 'api', missing: [] },
    ];
    expectKept('ServiceTemplate', statusOf('ServiceTemplate', observedTemplate(present(aTemplate()), users)));
  });

  test('of a registry', () => {
    const linked = [aLink('running'), aLink(undefined, { name: undefined, credentials: 'Unknown' })];
    const registry = present(aRegistry({ rotatedAt: now }));
    const reported = observedRegistry(registry, 'ghcr.io/acme/web', linked);
    expectKept(
      'ImageRegistry',
      statusOf('ImageRegistry', reported, { health: registryHealth(registry, linked) }),
    );
  });

  test('of an account', () => {
    const more = { more: [['SpendingAllowed', spendingStatement(undefined)]] } as const;
    const status = statusOf('Account', observedAccount(facts, nextMoney(facts, undefined)), more);
    expect(status).toMatchObject({ runwayHours: expect.any(Number), limits: { registries: { used: 1 } } });
    expectKept('Account', status);
  });

  test.each([{}, { registration }, { registration, releasedAt: now }])('of a task with %j', (kind) => {
    const inputs = task({ kind });
    expectKept(
      'ProtectedTask',
      statusOf('ProtectedTask', observedTask(inputs), { health: taskHealth(inputs) }),
    );
  });

  const command = {
    path: 'command',
    desired: ['a'],
    observed: null,
    drift: true,
    cause: 'bob was here',
  } as const;
  const whole = { path: 'service', desired: serviceId, observed: null, drift: true } as const;
  const size = { path: 'resources', desired: { cpu: 1 }, observed: { cpu: 2 }, drift: true } as const;
  const plans: readonly Plan[] = [
    servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: aService({ image: 'b:1' }) }),
    servicePlan({ service: 'gone' }),
    inSync([command, whole, size]),
    waitFor('Protected', 'a task is under way'),
    waitFor('OutcomeUnknown', 'looking', { stalled: true }),
    holdFor('ImmutableFieldChanged', 'x'.repeat(100_000), { path: ['spec', 'region'] }),
  ];
  test.each(
    plans.map((plan) => [plan.kind === 'in-sync' || plan.kind === 'act' ? plan.kind : plan.reason, plan]),
  )('when the plan is %s', (_name, plan) => {
    const key = objectKey('ContainerService', 'default', 'web');
    const lastIntent = intentOf(key, 'key', { outcome: 'unknown', createdAt: now });
    expectKept('ContainerService', statusOf('ContainerService', {}, { plan, lastIntent }));
  });
});

test('what the manager has to remember is kept, whatever it is', () => {
  const bookkeeping = { record: { applied: { image: 'digest' }, seen: null }, intents: [{ any: [1, null] }] };
  expectKept('ContainerService', { ...statusOf('ContainerService', {}), bookkeeping });
});

test('a status that nobody writes is told from one that is', () => {
  expect(keptStatus('ContainerService', { mistyped: 1 }).kept).toEqual({});
});
