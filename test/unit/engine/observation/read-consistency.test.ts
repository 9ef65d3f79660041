import { expect, test } from 'vitest';
import { type Observation, inSync, observed } from '../../../../src/engine/plan/index.ts';
import type { wire } from '../../../../src/api/index.ts';
import { Fleet, type AccountHandle } from '../../../../src/engine/index.ts';
import type { Pass } from '../../../../src/engine/pass.ts';
import { ReadConsistency } from '../../../../src/engine/observation/read-consistency.ts';
import { MemoryStore } from '../../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../../support/desired.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aRecord, aService, owner, said, serviceKey } from '../../../support/plan.ts';

const present = (revision: number): Observation<wire.Service> => ({
  kind: 'present',
  value: { ...aService(), revision },
});
const annotated = (annotation: string) =>
  desiredOf({
    'fleet.yaml': serviceDocument('trainer').replace(
      '{name: trainer}',
      `{name: trainer, annotations: {${annotation}}}`,
    ),
  });

/** A service that had revision 9, and shows another one. */
function worldOf(clock: ManualClock, mode: 'manage' | 'preview', annotation = '') {
  const store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  const record = { ...aRecord(serviceKey), ...observed(aRecord(serviceKey), present(9), inSync(), 0) };
  const fleet = new Fleet(
    store,
    owner,
    annotated(annotation),
    () => false,
    () => clock.wallMs(),
  );
  const trust = new ReadConsistency({ clock, fleet, mode });
  const account = { name: 'default/default' } as AccountHandle;
  const check = (revision: number) => {
    const kind = { record: () => record, observation: () => present(revision) } as unknown as Pass;
    const plan = trust.check(kind, account);
    return plan && said(plan);
  };
  return { check };
}

test('a lower revision is waited out for a minute, and held after that', async () => {
  const clock = new ManualClock();
  const { check } = worldOf(clock, 'manage');
  expect(check(8)).toBe('wait StaleRead');
  await clock.advance(59_000);
  expect(check(8)).toBe('wait StaleRead');
  await clock.advance(1000);
  expect(check(8)).toBe('hold RevisionRegressed');
});

test('a read that is older than another one of the same pass is no more believed than one of an earlier pass', () => {
  const { check } = worldOf(new ManualClock(), 'manage');
  expect(check(11)).toBeUndefined();
  expect(check(10)).toBe('wait StaleRead');
  expect(check(11)).toBeUndefined();
});

test('one read that is new again begins the minute anew', async () => {
  const clock = new ManualClock();
  const { check } = worldOf(clock, 'manage');
  expect(check(8)).toBe('wait StaleRead');
  await clock.advance(59_000);
  expect(check(9)).toBeUndefined();
  await clock.advance(30_000);
  expect(check(8)).toBe('wait StaleRead');
});

test('a preview, which looks once, says what it sees', () => {
  expect(worldOf(new ManualClock(), 'preview').check(8)).toBe('hold RevisionRegressed');
});

test('a person may say until when lower revisions are believed', async () => {
  const clock = new ManualClock();
  const until = new Date(clock.wallMs() + 60_000).toISOString();
  const { check } = worldOf(clock, 'preview', `fleetkeeper.dev/accept-revisions-until: "${until}"`);
  expect(check(8)).toBeUndefined();
  await clock.advance(60_000);
  expect(check(8)).toBe('hold RevisionRegressed');
});
