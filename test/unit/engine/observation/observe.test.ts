import { describe, expect, test } from 'vitest';
import type { Outcome, wire } from '../../../../src/api/index.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';
import { type Observation, beaconName, ownerId, volumeMark } from '../../../../src/engine/plan/index.ts';
import type { AccountHandle } from '../../../../src/engine/accounts.ts';
import {
  AbsenceProofs,
  identify,
  neverMade,
  usableSnapshot,
  type Observed,
} from '../../../../src/engine/observation/observe.ts';
import { serviceMarks } from '../../../../src/kinds/container-service/marks.ts';
import { volumeMarks } from '../../../../src/kinds/storage-volume/marks.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  aRecord,
  aService,
  aVolume,
  anOwner,
  beacon,
  owner,
  serviceId,
  serviceKey,
  serviceUid,
  volumeId,
  volumeKey,
} from '../../../support/plan.ts';

const otherId = '33333333-3333-4333-8333-333333333333';
const foreignBeacon = beacon(undefined, anOwner('another'));
const bare = (id: string, environmentNames: string[] = []) => aService({ id, environmentNames });

interface Question {
  readonly record?: Partial<ObjectRecord>;
  readonly adoptId?: string;
  readonly adoptFrom?: string;
  readonly awaits?: boolean;
}

function look(services: readonly wire.Service[], question: Question = {}): Observed<wire.Service> {
  const { record, adoptId, adoptFrom, awaits = false } = question;
  const identity = {
    record: aRecord(serviceKey, record),
    owner,
    adoptId,
    adoptFrom,
    takenBy: undefined,
    awaits,
    holderOf: () => undefined,
    others: () => [],
    needsKey: false,
    inCluster: false,
  };
  return identify(identity, new Map(services.map((service) => [service.id, service])), serviceMarks);
}

/** Which one it is, or why none. */
function answer({ observation, found }: Observed<wire.Service>): string {
  const isNew = found === undefined ? '' : ' found';
  if (observation.kind === 'present') return `${observation.value.id}${isNew}`;
  if (observation.kind === 'conflict') return observation.reason;
  return observation.kind === 'absent' ? `absent, ${observation.confirmed ? '' : 'un'}confirmed` : 'pending';
}

const known = { record: { externalId: serviceId } };

describe('which service is ours', () => {
  test('the one that is recorded, with or without our mark', () => {
    expect(answer(look([bare(serviceId), bare(otherId)], known))).toBe(serviceId);
    expect(answer(look([aService(), bare(otherId)], known))).toBe(serviceId);
  });

  test('the one that carries our mark, when the state was lost or the answer to its create', () => {
    expect(answer(look([bare(otherId), aService()]))).toBe(`${serviceId} found`);
  });

  test('never one of the same name', () => {
    expect(answer(look([bare(otherId)]))).toBe('absent, confirmed');
    const sibling = beaconName(owner, '44444444-4444-4444-8444-444444444444', undefined);
    expect(answer(look([bare(otherId, [sibling]), bare(serviceId, [foreignBeacon])]))).toBe(
      'absent, confirmed',
    );
  });

  test('one whose variables are listed twice is still one', () => {
    const { environmentNames, ...ours } = aService();
    expect(
      answer(
        look([{ ...ours, environmentNames: [...(environmentNames ?? []), ...(environmentNames ?? [])] }]),
      ),
    ).toBe(`${serviceId} found`);
  });

  test('two that carry our mark are nobody to act on', () => {
    expect(answer(look([aService(), aService({ id: otherId })]))).toBe('MarkedTwice');
  });

  // COVERAGE 54
  test('a recorded one that is missing from one read is not believed to be gone', () => {
    expect(answer(look([bare(otherId)], known))).toBe('absent, unconfirmed');
  });

  test('a replacement whose create lost its answer is found by its mark, although the old one is recorded', () => {
    const replaced = { record: { externalId: serviceId, deletedByUs: true }, awaits: true };
    expect(answer(look([aService({ id: otherId })], replaced))).toBe(`${otherId} found`);
    expect(answer(look([aService({ id: otherId }), aService({ id: volumeId })], replaced))).toBe(
      'MarkedTwice',
    );
  });

  test('another one with our mark is none of ours while no creation is awaited', () => {
    const { observation, elsewhere } = look([aService({ id: otherId })], known);
    expect([observation, elsewhere]).toEqual([{ kind: 'absent', confirmed: false }, [otherId]]);
  });
});

describe('marks of others', () => {
  test('are never touched, whether the id is recorded or to be adopted', () => {
    const marked = [bare(serviceId, [foreignBeacon])];
    expect(answer(look(marked, known))).toBe('OwnedByAnother');
    expect(answer(look(marked, { adoptId: serviceId }))).toBe('OwnedByAnother');
  });

  test('give way when adopt-from names them, and only them', () => {
    const marked = [bare(serviceId, [foreignBeacon])];
    const from = (adoptFrom: string) => answer(look(marked, { adoptId: serviceId, adoptFrom }));
    expect(from(ownerId('another'))).toBe(`${serviceId} found`);
    expect(from(ownerId('somebody'))).toBe('OwnedByAnother');
    expect(from('')).toBe('OwnedByAnother');
  });

  test('the message says whose it is and what to do', () => {
    const { observation } = look([bare(serviceId, [foreignBeacon])], known);
    expect(observation).toMatchObject({
      message: expect.stringContaining(`fleetkeeper.dev/adopt-from: "${ownerId('another')}"`),
    });
  });
});

describe('adoption', () => {
  test('takes exactly the one that is named', () => {
    expect(answer(look([aService(), bare(otherId)], { adoptId: otherId }))).toBe(`${otherId} found`);
    expect(answer(look([aService()], { adoptId: otherId }))).toBe('AdoptNotFound');
  });

  test('of another one, for an object that stands for one already, is a conflict', () => {
    expect(answer(look([aService(), bare(otherId)], { ...known, adoptId: otherId }))).toBe('AdoptionChanged');
    expect(answer(look([aService()], { ...known, adoptId: serviceId }))).toBe(serviceId);
  });

  test('is spent once what was adopted is gone and was created anew', () => {
    expect(answer(look([aService()], { ...known, adoptId: otherId }))).toBe(serviceId);
  });
});

test('a volume is told by the mark behind its name', () => {
  const foreign = volumeMark(anOwner('another'), serviceUid);
  const look2 = (volumes: readonly wire.Volume[], record: Partial<ObjectRecord> = {}, adoptFrom?: string) => {
    const identity = {
      record: aRecord(volumeKey, record),
      owner,
      adoptId: undefined,
      adoptFrom,
      takenBy: undefined,
      awaits: false,
      holderOf: () => undefined,
      others: () => [],
      needsKey: false,
      inCluster: false,
    };
    return identify(identity, new Map(volumes.map((volume) => [volume.id, volume])), volumeMarks).observation;
  };
  const theirs = aVolume({ name: `dataset${foreign}` });
  expect(look2([aVolume({ id: otherId, name: 'dataset' }), aVolume()])).toMatchObject({
    value: { id: volumeId },
  });
  expect(look2([aVolume({ name: 'dataset' }), theirs])).toMatchObject({ kind: 'absent' });
  expect(look2([theirs], { externalId: volumeId })).toMatchObject({ reason: 'OwnedByAnother' });
  expect(look2([theirs], { externalId: volumeId }, foreign.slice(1, 11))).toMatchObject({ kind: 'present' });
});

describe('absence', () => {
  const missing: Outcome<wire.Service> = {
    kind: 'refused',
    status: 404,
    code: 'not_found',
    message: '',
    meaning: 'NotFound',
    retryAfterMs: undefined,
  };
  const settleMs = 30_000;
  const account = { spec: { visibilitySeconds: 600 } } as AccountHandle;
  const snapshotAt = (startedAtMs: number) => ({ startedAtMs }) as AccountSnapshot;
  const record = aRecord(serviceKey, { externalId: serviceId });

  function start(windowMs = settleMs, youngUntilMs = Number.NEGATIVE_INFINITY) {
    const clock = new ManualClock(0);
    const absenceRule = ({ deletedByUs }: ObjectRecord) => ({
      notBeforeMs: youngUntilMs,
      message: 'young',
      ...(deletedByUs ? { isDeleted: true as const } : {}),
    });
    const absences = new AbsenceProofs({
      clock,
      settleMs: windowMs,
      creations: { absenceRule },
      store: { leftUntil: () => undefined },
      registrations: { evidenceOf: () => undefined },
    });
    const confirm = (read: Outcome<wire.Service> = missing, startedAtMs = clock.monotonicMs(), of = record) =>
      absences.confirm(of, account, snapshotAt(startedAtMs), read, () => undefined);
    return { clock, absences, confirm };
  }

  // COVERAGE 25, 51, 54, 94
  test('is believed when both reads still say so a settle window later', async () => {
    const { clock, confirm } = start();
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: false });
    await clock.advance(settleMs - 1);
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: false });
    await clock.advance(1);
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: true });
  });

  test('of what is young is believed only when it is older, from a read that began then', async () => {
    const { clock, confirm } = start(settleMs, settleMs * 3);
    await confirm();
    await clock.advance(settleMs * 2);
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: false, message: 'young' });
    await clock.advance(settleMs);
    expect(await confirm(missing, settleMs * 3 - 1)).toEqual({ kind: 'absent', confirmed: false });
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: true });
  });

  test('an account read that began before the window was over proves nothing', async () => {
    const { clock, confirm } = start();
    await confirm();
    await clock.advance(settleMs * 2);
    expect(await confirm(missing, settleMs - 1)).toEqual({ kind: 'absent', confirmed: false });
    expect(await confirm(missing, settleMs)).toEqual({ kind: 'absent', confirmed: true });
  });

  test('one read that shows it again starts the window anew', async () => {
    const { clock, confirm } = start();
    await confirm();
    await clock.advance(settleMs);
    const value = aService();
    expect(await confirm({ kind: 'applied', status: 200, value })).toEqual({ kind: 'present', value });
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: false });
  });

  test.each(['deleted', 'Deleted', 'TERMINATED', 'destroyed', 'removed'])(
    'is not contradicted by a read by id that shows it as %s: the account excludes what is deleted',
    async (state) => {
      const { clock, confirm } = start();
      const read = { kind: 'applied', status: 200, value: aService({ state }) } as const;
      expect(await confirm(read)).toEqual({ kind: 'absent', confirmed: false });
      await clock.advance(settleMs);
      expect(await confirm(read)).toEqual({ kind: 'absent', confirmed: true });
      expect(await confirm(read, 0, { ...record, deletedByUs: true })).toEqual({
        kind: 'absent',
        confirmed: true,
      });
    },
  );

  test.each(['deleting', 'undeleted', 'running', ''])(
    'is refuted by one that shows it as "%s"',
    async (state) => {
      const { clock, confirm } = start();
      await confirm();
      await clock.advance(settleMs);
      expect(await confirm({ kind: 'applied', status: 200, value: aService({ state }) })).toMatchObject({
        kind: 'present',
      });
    },
  );

  test('a mutation starts it anew, too', async () => {
    const { clock, absences, confirm } = start();
    await confirm();
    await clock.advance(settleMs);
    absences.forget(serviceKey);
    expect(await confirm()).toEqual({ kind: 'absent', confirmed: false });
  });

  test.each([
    { ...missing, status: 400, code: 'RESOURCE_NOT_FOUND' },
    { ...missing, status: 403, code: 'NotFound' },
    { ...missing, status: 409, code: 'gone' },
    { ...missing, status: 400, code: '40401', message: 'The service does not exist.' },
  ] as const)('is believed in any words that say so: %j', async (read) => {
    const { clock, confirm } = start();
    expect(await confirm(read)).toEqual({ kind: 'absent', confirmed: false });
    await clock.advance(settleMs);
    expect(await confirm(read)).toEqual({ kind: 'absent', confirmed: true });
  });

  test.each([400, 403, 404, 409])(
    'what we deleted is gone when the account leaves it out and the API refuses it with %i',
    async (status) => {
      const { confirm } = start();
      const deleted = aRecord(serviceKey, { externalId: serviceId, deletedByUs: true });
      const read = { ...missing, status, code: 'refused' };
      expect(await confirm(read, 0, deleted)).toEqual({ kind: 'absent', confirmed: true });
    },
  );

  test.each([401, 429, 503])(
    'nothing is known of what we deleted when the API answers %i',
    async (status) => {
      const { confirm } = start();
      const deleted = aRecord(serviceKey, { externalId: serviceId, deletedByUs: true });
      expect(await confirm({ ...missing, status }, 0, deleted)).toMatchObject({ kind: 'pending' });
    },
  );

  // COVERAGE 54, 94
  test.each([
    { ...missing, status: 403, code: 'forbidden' },
    { ...missing, status: 401 },
    { ...missing, status: 503 },
    { kind: 'not-sent', reason: 'connection refused' },
    { kind: 'unknown', reason: 'time-out' },
  ] as const)('a read that did not say 404 proves nothing: %j', async (read) => {
    const { clock, confirm } = start();
    await confirm();
    await clock.advance(settleMs * 2);
    expect(await confirm(read)).toMatchObject({ kind: 'pending' });
  });

  test('what we deleted ourselves is gone at once', async () => {
    const { confirm } = start();
    expect(await confirm(missing, 0, { ...record, deletedByUs: true })).toEqual({
      kind: 'absent',
      confirmed: true,
    });
  });
});

describe('what has no id and is not in an account read', () => {
  const read = (startedAtMs: number, shows: boolean) =>
    ({ startedAtMs, shows }) as unknown as AccountSnapshot;
  const shown = (snapshot: AccountSnapshot): Observation<string> =>
    'shows' in snapshot && snapshot.shows
      ? { kind: 'present', value: 'it' }
      : { kind: 'absent', confirmed: true };
  const conclude = (before: AccountSnapshot | undefined) => neverMade(before, 100, shown).kind;

  test('was never made, when the read before does not show it either', () => {
    expect(conclude(read(100, false))).toBe('absent');
  });

  test('may have been left out, when there was no read before, or it was in that one', () => {
    expect(conclude(undefined)).toBe('pending');
    expect(conclude(read(100, true))).toBe('pending');
  });

  test('may have been made since, when the read before began before our last mutation', () => {
    expect(conclude(read(99, false))).toBe('pending');
  });
});

test('a snapshot counts only if it began after our last mutation', () => {
  const account = (startedAtMs?: number) =>
    ({
      informer: { current: startedAtMs === undefined ? undefined : { startedAtMs } },
    }) as unknown as AccountHandle;
  expect(usableSnapshot(account(), 0)).toHaveProperty('pending');
  expect(usableSnapshot(account(99), 100)).toHaveProperty('pending');
  expect(usableSnapshot(account(100), 100)).toEqual({ snapshot: { startedAtMs: 100 } });
});
