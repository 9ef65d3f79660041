import { describe, expect, test } from 'vitest';
import type { ManagedKind } from '../../../src/resources/index.ts';
import { serviceId } from '../../support/plan.ts';
import { clusterVerdict, documentOf } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Situation {
  readonly status?: Fields;
  /** Of the object before the edit. */
  readonly before?: Fields;
}

const there = { id: serviceId };
const held = {
  ...there,
  conditions: [
    {
      type: 'Stalled',
      status: 'True',
      reason: 'ImmutableFieldChanged',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
};

/** What is said to an edit of the spec. */
function edit(kind: ManagedKind, spec: Fields, { status, before = {} }: Situation = {}): readonly string[] {
  const rest = { metadata: { name: 'web' }, ...(status && { status }) };
  const old = documentOf(kind, before, rest);
  return clusterVerdict(kind, documentOf(kind, { ...before, ...spec }, rest), old).refusals;
}

describe('a service that exists keeps', () => {
  const ref = (name: string) => ({ storage: { volumeRef: { name } } });
  const made = (volumeGb: number, volumeMode?: string) => ({ storage: { volumeGb, volumeMode } });
  const rows: readonly (readonly [string, Fields, Fields])[] = [
    ['serviceName', {}, { serviceName: 'other' }],
    ['serviceName', { serviceName: 'other' }, { serviceName: undefined }],
    ['region', {}, { region: 'economy' }],
    ['geography', {}, { geography: 'europe' }],
    ['geography', { geography: 'europe' }, { geography: 'asia' }],
    ['storage', {}, ref('data')],
    ['storage', ref('data'), ref('other')],
    ['storage', ref('data'), made(50)],
    ['storage', made(50), made(51)],
    ['storage', made(50, 'independent'), made(50)],
    ['storage', made(50), { storage: { volumeId: serviceId } }],
    ['storage', { storage: { volumeId: serviceId } }, { storage: { volumeId: serviceId.replace('1', '2') } }],
  ];

  test.each(rows)('its %s: from %j to %j', (field, before, spec) => {
    expect(edit('ContainerService', spec, { status: there, before })).toEqual([
      expect.stringContaining(`${field} can't be changed on a service that exists`),
    ]);
    expect(edit('ContainerService', spec, { before }), 'before it exists').toEqual([]);
    expect(edit('ContainerService', spec, { status: held, before }), 'held for such a change').toEqual([]);
    const replaced = { ...spec, replacement: 'Recreate' };
    expect(edit('ContainerService', replaced, { status: there, before }), 'to be replaced').toEqual([]);
  });

  const free: readonly (readonly [Fields, Fields])[] = [
    [{}, { image: 'ghcr.io/acme/web:2', resources: { cpu: 1, memoryGb: 1 }, desiredState: 'Stopped' }],
    [{}, { serviceName: 'web' }],
    [{ geography: 'auto' }, { geography: undefined }],
    [ref('data'), { storage: undefined }],
    [ref('data'), { storage: { volumeId: serviceId } }],
    [{ adopt: { id: serviceId } }, { serviceName: 'as-it-is-called' }],
    [{ geography: 'europe' }, { geography: undefined }],
    // Whether it is that volume, and that mode, only the provider can tell.
    [made(50), ref('data')],
    [made(50), made(50, 'attached')],
  ];
  test.each(free)('nothing else: from %j to %j', (before, spec) => {
    expect(edit('ContainerService', spec, { status: there, before })).toEqual([]);
  });
});

describe('what is written as the provider shows it is no change', () => {
  const status = { ...there, region: 'eu-standard-1', geography: 'europe' };
  const attached = { ...status, volumeId: serviceId };
  test.each([
    ['ContainerService', {}, { region: 'eu-standard-1', geography: 'europe' }],
    ['ContainerService', { storage: { volumeGb: 50 } }, { storage: { volumeId: serviceId } }],
    ['StorageVolume', {}, { region: 'eu-standard-1', geography: 'europe' }],
  ] as const)('%s: from %j to %j', (kind, before, spec) => {
    expect(edit(kind, spec, { status: kind === 'ContainerService' ? attached : status, before })).toEqual([]);
  });

  test('and what is written otherwise is one', () => {
    const spec = { region: 'eu-standard-2', geography: 'asia' };
    expect(edit('ContainerService', spec, { status })).toHaveLength(2);
    expect(edit('StorageVolume', spec, { status })).toHaveLength(2);
  });
});

test.each(['ContainerService', 'StorageVolume', 'ServiceTemplate', 'ImageRegistry'] as const)(
  'a %s that exists can not move to another account, even to be replaced',
  (kind) => {
    const spec = {
      accountRef: { name: 'other' },
      ...(kind === 'ContainerService' && { replacement: 'Recreate' }),
    };
    const refused = [expect.stringMatching(/^spec\.accountRef: .*that exists can't be changed/)];
    expect(edit(kind, spec, { status: there })).toEqual(refused);
    expect(edit(kind, spec)).toEqual([]);
    expect(edit(kind, spec, { status: held })).toEqual([]);
  },
);

test('a volume that exists keeps region and geography, a registry its repository', () => {
  expect(edit('StorageVolume', { region: 'economy' }, { status: there })).toHaveLength(1);
  expect(edit('StorageVolume', { geography: 'europe' }, { status: there })).toHaveLength(1);
  expect(edit('ImageRegistry', { repository: 'ghcr.io/acme/other' }, { status: there })).toHaveLength(1);
  expect(edit('StorageVolume', { region: 'economy', geography: 'europe' })).toEqual([]);
  expect(edit('ImageRegistry', { repository: 'ghcr.io/acme/other' })).toEqual([]);
});

test('a volume never shrinks, but a growth that was not made yet may be taken back', () => {
  const status = { ...there, sizeGb: 100 };
  const before = { sizeGb: 200 };
  expect(edit('StorageVolume', { sizeGb: 300 }, { status, before })).toEqual([]);
  expect(edit('StorageVolume', { sizeGb: 100 }, { status, before })).toEqual([]);
  expect(edit('StorageVolume', { sizeGb: 99 }, { status, before })).toEqual([
    expect.stringContaining('a volume never shrinks'),
  ]);
  expect(edit('StorageVolume', { sizeGb: 10 }, { before }), 'before it exists').toEqual([]);
});

test('a volume that somebody else grew may be edited otherwise', () => {
  const status = { ...there, sizeGb: 500 };
  expect(edit('StorageVolume', { driftPolicy: 'Report' }, { status })).toEqual([]);
});

test('a task stays with its service', () => {
  expect(edit('ProtectedTask', { serviceRef: { name: 'other' } })).toEqual([
    expect.stringContaining("the service of a task can't be changed"),
  ]);
  expect(edit('ProtectedTask', { released: true })).toEqual([]);
});
