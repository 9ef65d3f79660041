/** Replicas as objects. */
import { expect, test } from 'vitest';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import { annotations } from '../../../../src/resources/index.ts';
import { fleetSpec, place, planOf, replicaIn, startMs, worldOf } from './worlds.ts';

const entry = { slot: 2, phase: 'draining', since: startMs } as const;
const confirmed = (spec: object, volumeGb: number | undefined) => {
  const own = volumeGb === undefined ? place : { ...place, volumeGb };
  const state = { roster: [{ ...entry, place: own }] };
  const [replica] = ownedBy({ name: 'llm', spec: fleetSpec(spec), state, revisions: [] });
  return replica?.annotations[annotations.confirmDataLoss];
};

test('the loss of scratch storage is confirmed for a replica that has some, whatever the document says by now', () => {
  const scratch = { storage: { scratch: { volumeGb: 10 } } };
  expect(confirmed(scratch, 10)).toBe('llm-2');
  expect(confirmed({}, 10)).toBe('llm-2');
  expect(confirmed({}, undefined)).toBeUndefined();
});

const withMetadata = (metadata: object) => fleetSpec({ template: { ...fleetSpec().template, metadata } });

test.each([
  ['annotations', 'fleetkeeper.dev/command', 'retire:1@12345678'],
  ['annotations', 'fleetkeeper.dev/confirm-data-loss', 'llm-2'],
  ['annotations', 'fleetkeeper.dev/resolve', 'applied'],
  ['annotations', 'fleetkeeper.dev/adopt-from', 'other'],
  ['annotations', 'fleetkeeper.dev/draining', '2026-01-01T00:00:00Z'],
  ['labels', 'fleetkeeper.dev/fleet', 'other'],
  ['labels', 'fleetkeeper.dev/owner', 'other'],
])('%s of a template can not give %s to replicas, and the fleet is held', (field, name, value) => {
  const spec = withMetadata({
    labels: { tier: 'gpu' },
    annotations: { note: 'x' },
    [field]: { [name]: value },
  });
  const state = { roster: [{ ...entry, place }] };
  const [replica] = ownedBy({ name: 'llm', spec, state, revisions: [] });
  const given = field === 'labels' ? replica?.labels : replica?.annotations;
  expect(given?.[name]).not.toBe(value);
  expect(planOf(worldOf([replicaIn('updated', 0)], { spec }))).toMatchObject({
    kind: 'hold',
    reason: 'InvalidAnnotation',
    path: ['spec', 'template', 'metadata', field, name],
  });
});

test('names of people reach replicas, and annotations that are meant for many objects', () => {
  const metadata = { labels: { tier: 'gpu' }, annotations: { note: 'x', [annotations.leaveFields]: 'env' } };
  const state = { roster: [{ ...entry, place }] };
  const [replica] = ownedBy({ name: 'llm', spec: withMetadata(metadata), state, revisions: [] });
  expect(replica?.annotations).toEqual(metadata.annotations);
  expect(replica?.labels).toEqual({
    tier: 'gpu',
    'fleetkeeper.dev/fleet': 'llm',
    'fleetkeeper.dev/slot': '2',
  });
});
