/** Replicas as objects. */
import { expect, test } from 'vitest';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import { annotations } from '../../../../src/resources/index.ts';
import { fleetSpec, place, startMs } from './worlds.ts';

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
