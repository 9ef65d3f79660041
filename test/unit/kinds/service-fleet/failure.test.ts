import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holdFor, type Plan } from '../../../../src/engine/plan/index.ts';
import { wakeAfter } from '../../../../src/engine/wake.ts';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { planFleet } from '../../../../src/kinds/service-fleet/plan.ts';
import { isUntried } from '../../../../src/kinds/service-fleet/failure.ts';
import { newRecord } from '../../../../src/state/index.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { FleetState, RolloutRecord } from '../../../../src/kinds/service-fleet/state.ts';
import { troubleOf } from '../../../../src/kinds/service-fleet/trouble.ts';
import {
  after,
  fleetSpec,
  inputsOf,
  old,
  planOf,
  present,
  replicaIn,
  revisionOf,
  rosterAfter,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const failing = (slot: number): Replica =>
  replicaIn('updating', slot, { fault: 'ServiceError', mayServe: false });

function rolling(replicas: readonly Replica[], more: Partial<RolloutRecord> = {}, rest: Partial<World> = {}) {
  const rollout = { ...rolloutTo(2, startMs, 1), ...more };
  return worldOf(replicas, { revisions: [old, present], state: { update: 2, rollout }, ...rest });
}

const stateIn = (plan: Plan) => (plan.kind === 'arrange' ? (plan.state as FleetState) : undefined);
const phaseIn = (plan: Plan) => stateIn(plan)?.rollout?.phase;
const outcomesIn = (plan: Plan) =>
  plan.kind === 'arrange' ? plan.revisions?.map(({ number, outcome }) => `r${number} ${outcome}`) : undefined;

function withFault(replica: Replica): Replica {
  const broken = {
    isSettled: false,
    isReady: false,
    isAvailable: false,
    mayServe: false,
    fault: 'ServiceError',
  };
  return replica.revision?.number === 2 && replica.isMade
    ? { ...replica, ...broken }
    : { ...replica, fault: undefined };
}

const withOther = (replica: Replica): Replica => ({ ...replica, content: 'outdated' });
const withWork = (replica: Replica): Replica => ({ ...replica, protection: 'yes' });

/** Until nothing changes any more. Replicas with the failing revision never work. */
function settledFrom(world: World, steps = 40): { readonly world: World; readonly plan: Plan } {
  let next = world;
  for (let step = 0; step < steps; step += 1) {
    const plan = planOf(next);
    if (plan.kind === 'hold' || plan.kind === 'in-sync') return { world: next, plan };
    const moved = after(next, plan);
    next = { ...moved, replicas: moved.replicas.map(withFault) };
  }
  return { world: next, plan: planOf(next) };
}

const outdated = [replicaIn('outdated', 0), replicaIn('outdated', 1), replicaIn('outdated', 2)];

describe('a revision fails', () => {
  test('when one more replica than failureLimit can not run it', () => {
    const one = rolling([...outdated, failing(3)]);
    expect(phaseIn(planOf(one))).toBe('Progressing');
    const two = rolling([...outdated.slice(0, 2), failing(2), failing(3)]);
    expect(planOf(two)).toMatchObject({
      kind: 'arrange',
      reason: 'RollingBack',
      message:
        'r2 failed: 2 replicas failed: replica 2 (ServiceError), replica 3 (ServiceError); the replicas return to r1',
    });
    expect(outcomesIn(planOf(two))).toEqual(['r1 Healthy', 'r2 Failed']);
    const none = rolling([...outdated, failing(3)], {}, { spec: fleetSpec({ update: { failureLimit: 0 } }) });
    expect(phaseIn(planOf(none))).toBe('RollingBack');
  });

  test('also when those that failed are gone meanwhile', () => {
    const before = { failures: [{ slot: 5, reason: 'ServiceError' }] };
    expect(phaseIn(planOf(rolling([...outdated, failing(3)], before)))).toBe('RollingBack');
  });

  test('when it was available, and then not for a minute', () => {
    const lost = (since: number, isExcused = false) =>
      replicaIn('updated!', 3, { unready: { reason: 'ProbeFailed', since, isExcused } });
    const spec = fleetSpec({ update: { failureLimit: 0 } });
    const phaseWith = (replica: Replica, reached: number[]) =>
      phaseIn(planOf(rolling([...outdated, replica], { reached }, { spec })));
    const now = startMs + 1000;
    expect(phaseWith(lost(now - 60_000), [3])).toBe('RollingBack');
    expect(phaseWith(lost(now - 59_999), [3])).not.toBe('RollingBack');
    expect(phaseWith(lost(now - 60_000), [])).not.toBe('RollingBack');
    expect(phaseWith(lost(now - 60_000, true), [3])).not.toBe('RollingBack');
  });

  test('and not when another one in its slot does not work yet', () => {
    const unready = { reason: 'ProbeFailed', since: startMs - 70_000, isExcused: false };
    const spec = fleetSpec({ update: { failureLimit: 0 } });
    const without = stateIn(planOf(rolling(outdated, { reached: [3], seenAt: 0 }, { spec })));
    expect(without?.rollout).toMatchObject({ reached: [], ran: true });
    const next = rolling([...outdated, replicaIn('updating', 3, { unready })], without?.rollout, { spec });
    expect(phaseIn(planOf(next)) ?? 'Progressing').toBe('Progressing');
  });

  test('without progress for the deadline, and progress begins it anew', () => {
    const coming = replicaIn('updating', 3);
    const at = (nowMs: number, more: Partial<RolloutRecord> = {}) =>
      planOf(rolling([...outdated, coming], { seenAt: nowMs - 1000, ...more }, { nowMs }));
    const end = startMs + 1_800_000;
    expect(phaseIn(at(end - 1))).not.toBe('RollingBack');
    expect(at(end)).toMatchObject({
      message: expect.stringContaining('no replica became available at it for 1800 s'),
    });
    expect(phaseIn(at(end, { progressAt: startMs + 1 }))).not.toBe('RollingBack');
    const available = rolling([...outdated, replicaIn('updated', 3)], { seenAt: end - 1000 }, { nowMs: end });
    expect(stateIn(planOf(available))?.rollout).toMatchObject({
      phase: 'Progressing',
      progressAt: end,
      reached: [3],
    });
  });

  test('by a command', () => {
    expect(planOf(rolling(outdated, { isAborted: true }))).toMatchObject({
      message: 'r2 failed: it was aborted; the replicas return to r1',
    });
  });

  test('never when it is Healthy: replicas that move to another place can not blame it', () => {
    const healthy = { ...present, outcome: 'Healthy' as const };
    const moving = {
      ...rolling([replicaIn('misplaced', 0), failing(1), failing(2)]),
      revisions: [old, healthy],
    };
    expect(phaseIn(planOf({ ...moving, nowMs: startMs + 9_999_999 }))).toBe('Progressing');
  });
});

describe('the deadline stands still', () => {
  const waiting = (excuse: string) => replicaIn('updating', 3, { excuse });

  test.each(['CapacityUnavailable', 'InsufficientFunds', 'LimitReached', 'ApiUnreachable', 'Protected'])(
    'while all replicas under way wait for %s, however long',
    (excuse) => {
      let world = rolling([...outdated, waiting(excuse)]);
      for (let minute = 0; minute < 200; minute += 1) {
        const plan = planOf(world);
        expect(phaseIn(plan) ?? 'Progressing').toBe('Progressing');
        const nowMs = world.nowMs + 60_000;
        world = plan.kind === 'arrange' ? { ...world, state: plan.state, nowMs } : { ...world, nowMs };
      }
      expect(world.state.rollout?.stopped).toEqual({ reason: excuse, since: startMs + 1000 });
    },
  );

  const replacing = fleetSpec({
    replicas: 2,
    update: { mode: 'Replace', maxSurge: 0, maxUnavailable: 1, progressDeadlineSeconds: 600 },
  });
  const draining = (more: Partial<Replica> = {}): Replica => {
    const replica = replicaIn('outdated', 1, more);
    return { ...replica, entry: { ...replica.entry, phase: 'draining' } };
  };
  const inAnHour = (given: World, minutes = 60): World => {
    let world = given;
    for (let minute = 0; minute < minutes; minute += 1) {
      const plan = planOf(world);
      const nowMs = world.nowMs + 60_000;
      world = plan.kind === 'arrange' ? { ...world, state: plan.state, nowMs } : { ...world, nowMs };
    }
    return world;
  };

  test('while nothing is under way at the revision, since one before it does not leave yet', () => {
    const protectedOne = draining({ protection: 'yes', protector: 'the ProtectedTask t' });
    const given = rolling([replicaIn('updated', 0), protectedOne], { reached: [0], surge: 0 });
    const held = inAnHour({ ...given, spec: replacing });
    expect(held.state.rollout).toMatchObject({ phase: 'Progressing', progressAt: startMs });
    expect(held.state.rollout?.stopped).toEqual({ reason: 'ReplicasProtected', since: startMs + 1000 });
    expect(planOf(held)).toMatchObject({
      kind: 'wait',
      reason: 'ReplicasProtected',
      message:
        '1 of 2 replicas wait until others are gone; leaving: replica 1; protected: replica 1 by the ProtectedTask t',
    });
    const left = inAnHour({ ...given, spec: replacing, replicas: [replicaIn('updated', 0), draining()] });
    expect(left.state.rollout?.stopped).toEqual({ reason: 'ReplicasLeaving', since: startMs + 1000 });
  });

  test('and counts on when there is room again', () => {
    const given = rolling([replicaIn('updated', 0), draining({ protection: 'yes' })], {
      reached: [0],
      surge: 0,
    });
    const held = inAnHour({ ...given, spec: replacing });
    const free = { ...held, replicas: [replicaIn('updated', 0)] };
    const added = planOf(free);
    expect(rosterAfter(added)).toMatchObject([{ slot: 0 }, { slot: 1, revision: 2 }]);
    const { rollout } = stateIn(added) ?? {};
    expect(rollout).toMatchObject({ phase: 'Progressing', progressAt: free.nowMs - 1000 });
    expect(rollout).not.toHaveProperty('stopped');
    const coming = {
      ...free,
      state: stateIn(added) ?? {},
      replicas: [replicaIn('updated', 0), replicaIn('updating', 1)],
    };
    expect(inAnHour(coming, 9).state.rollout?.phase).toBe('Progressing');
    expect(inAnHour(coming, 12).state.rollout?.phase).toBe('RollingBack');
  });

  test('while there is no place for the next one', () => {
    const spec = fleetSpec({
      replicas: 3,
      update: { mode: 'Replace', maxSurge: 1, maxUnavailable: 0, progressDeadlineSeconds: 600 },
      placement: { candidates: [{ name: 'template', region: 'standard' }] },
    });
    const retryAt = startMs + 86_400_000;
    const scarcity = { kind: 'waiting', retryAt, message: 'scarce' };
    const markets = { template: { scarcity } } as unknown as World['markets'];
    const held = inAnHour({ ...rolling(outdated), spec, markets });
    expect(held.state.rollout).toMatchObject({
      phase: 'Progressing',
      stopped: { reason: 'CapacityUnavailable', since: startMs + 1000 },
    });
  });

  test('and counts again for as long as was left', () => {
    const stopped = { reason: 'CapacityUnavailable', since: startMs + 600_000 };
    const began = startMs + 10_000_000;
    const resumed = (nowMs: number, more: Partial<RolloutRecord>) =>
      planOf(rolling([...outdated, replicaIn('updating', 3)], more, { nowMs }));
    const plan = resumed(began, { stopped });
    expect(stateIn(plan)?.rollout).toMatchObject({ progressAt: startMs + 9_400_000 });
    expect(stateIn(plan)?.rollout).not.toHaveProperty('stopped');
    const { rollout } = stateIn(plan) ?? {};
    const end = began + 1_200_000;
    expect(phaseIn(resumed(end - 1, { ...rollout, seenAt: end - 2 }))).not.toBe('RollingBack');
    expect(phaseIn(resumed(end, { ...rollout, seenAt: end - 1 }))).toBe('RollingBack');
  });

  test('not while one of them could come forward', () => {
    const excused = replicaIn('updating', 2, { excuse: 'CapacityUnavailable' });
    const world = rolling([...outdated.slice(0, 2), excused, replicaIn('updating', 3)], {
      seenAt: startMs + 1_799_000,
    });
    expect(phaseIn(planOf({ ...world, nowMs: startMs + 1_800_000 }))).toBe('RollingBack');
  });

  test('while no pass was made', () => {
    const world = rolling([...outdated, replicaIn('updating', 3)]);
    expect(phaseIn(planOf({ ...world, nowMs: startMs + 86_400_000 }))).not.toBe('RollingBack');
  });
});

describe('after a failure', () => {
  const failed = [...outdated.slice(0, 2), failing(2), failing(3)];

  test('all replicas have the newest Healthy revision again, and nothing is sent of the failed one', () => {
    const { world, plan } = settledFrom(rolling(failed));
    expect(plan).toMatchObject({ kind: 'hold', reason: 'RolloutFailed' });
    expect(world.replicas.map(({ entry }) => [entry.slot, entry.revision])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(world.state.rollout).toMatchObject({ phase: 'RolledBack', revision: 2 });
  });

  test('with Freeze, without a Healthy one, or with other values of its Secrets, they stay as they are', () => {
    const frozen = fleetSpec({ update: { onFailure: 'Freeze' } });
    expect(phaseIn(planOf(rolling(failed, {}, { spec: frozen })))).toBe('Frozen');
    const first = rolling([failing(0), failing(1)], {}, { revisions: [present] });
    expect(phaseIn(planOf(first))).toBe('Frozen');
    const rotated = rolling(failed, {}, { hasHealthyValues: false });
    expect(phaseIn(planOf(rotated))).toBe('Frozen');
    const next = after(rotated, planOf(rotated));
    expect(planOf(next)).toMatchObject({ kind: 'hold', reason: 'RolloutFrozen' });
  });

  test('a frozen fleet looks again when a draining replica may go: nothing else would wake it', () => {
    const spec = fleetSpec({ update: { onFailure: 'Freeze' }, drain: { graceSeconds: 30 } });
    const world = rolling(failed, { phase: 'Frozen' }, { spec });
    const entry = {
      ...replicaIn('updated', 3).entry,
      phase: 'draining',
      since: world.nowMs,
      cause: 'retire',
    };
    const leaving = replicaIn('updated', 3, { entry: entry as Replica['entry'] });
    const plan = planOf({ ...world, replicas: [...world.replicas, leaving] });
    expect(plan).toMatchObject({ kind: 'hold', reason: 'RolloutFrozen', recheckAfterMs: 30_000 });
    expect(wakeAfter(plan, undefined, world.nowMs)).toEqual({ kind: 'after', delayMs: 30_000 });
  });

  test('a frozen fleet adds replicas with the newest Healthy revision', () => {
    const world = rolling(failed, { phase: 'Frozen', surge: 1 }, { spec: fleetSpec({ replicas: 5 }) });
    const added = rosterAfter(planOf({ ...world, revisions: [old, { ...present, outcome: 'Failed' }] }));
    expect(added.filter(({ slot }) => slot > 3).map(({ revision }) => revision)).toEqual([1]);
  });

  test('replicas that do not work need no floor, and those that do keep it', () => {
    const working = [0, 1].map((slot) => replicaIn('updated', slot));
    const world = rolling([...working, failing(2)], { phase: 'RollingBack', surge: 0 });
    const returned = { ...world, revisions: [old, { ...present, outcome: 'Failed' as const }] };
    const plan = planOf({
      ...returned,
      spec: fleetSpec({ update: { maxUnavailable: 1, maxSurge: 0 } }),
      replicas: returned.replicas.map(withOther),
    });
    expect(rosterAfter(plan).map(({ revision }) => revision)).toEqual([2, 2, 1]);
  });

  test('no window is awaited, and work in a replica is', () => {
    const spec = fleetSpec({
      template: {
        spec: {
          region: 'standard',
          image: 'a:1',
          resources: { cpu: 1, memoryGb: 1 },
          disruption: 'Never',
          disruptionWindows: [{ cron: '0 3 * * *', durationMinutes: 60 }],
        },
      },
    });
    const specIn = (phase: RolloutRecord['phase']) => {
      const rollout = { ...rolloutTo(2, startMs, 0), phase };
      const state = { update: 2, rollout, roster: [replicaIn('updated', 0).entry] };
      return ownedBy({ name: 'llm', spec, state, revisions: [old, present] })[0]?.spec;
    };
    expect(specIn('Progressing')).toMatchObject({
      disruptionWindows: [{ cron: '0 3 * * *' }],
      disruption: 'Never',
    });
    expect(specIn('RollingBack')).toMatchObject({ disruptionWindows: undefined, disruption: 'Never' });
  });

  test('the same content is not sent again, also after another one was there', () => {
    const revisions = [old, { ...present, outcome: 'Failed' as const, reason: 'it was aborted' }];
    const state = { update: 1, rollout: undefined };
    const plan = planOf(
      worldOf(
        outdated.map((one) => ({ ...one, content: 'updated' as const })),
        { revisions, state },
      ),
    );
    expect(stateIn(plan)).toMatchObject({
      update: 2,
      rollout: { phase: 'RolledBack', cause: 'it was aborted' },
    });
    const { world, plan: end } = settledFrom(after(worldOf(outdated, { revisions, state }), plan));
    expect(end).toMatchObject({
      kind: 'hold',
      reason: 'RolloutFailed',
      message: expect.stringContaining('it was aborted'),
    });
    expect(world.replicas.every(({ entry }) => entry.revision === 1)).toBe(true);
  });

  test('the content of the newest Healthy revision ends it', () => {
    const revisions = [
      revisionOf(1, 'a:1', { outcome: 'Healthy' }),
      revisionOf(2, 'a:2', { outcome: 'Failed' }),
    ];
    const rollout = { ...rolloutTo(2, startMs, 0), phase: 'RolledBack' as const };
    const well = outdated.map((one) => ({ ...one, content: 'updated' as const }));
    const plan = planOf(worldOf(well, { revisions, state: { update: 2, rollout } }));
    expect(stateIn(plan)).toMatchObject({ update: 1, rollout: undefined });
  });
});

test('a window that is closed lets nothing be updated that works', () => {
  const closed = rolling(
    outdated,
    { surge: 0 },
    { isWindowClosed: true, spec: fleetSpec({ update: { maxUnavailable: 1 } }) },
  );
  expect(rosterAfter(planOf(closed)).map(({ revision }) => revision)).toEqual([1, 1, 1]);
  const broken = { ...closed, replicas: [...outdated.slice(0, 2), replicaIn('outdated!', 2)] };
  expect(rosterAfter(planOf(broken)).map(({ revision }) => revision)).toEqual([1, 1, 2]);
});

describe('a replica that somebody works in', () => {
  const blocked = replicaIn('updating', 2, { isBlocked: true, excuse: 'Protected' });
  const entry = { ...blocked.entry, earlier: 1, updated: startMs };

  test('keeps its revision for now, and another one is updated once it is available again', () => {
    const others = [...outdated.slice(0, 2), replicaIn('updated', 3)];
    const plan = planOf(rolling([...others, { ...blocked, entry }], { reached: [3] }));
    expect(rosterAfter(plan)).toMatchObject([
      { slot: 0, revision: 1 },
      { slot: 1, revision: 1 },
      { slot: 2, revision: 1, spared: startMs + 1000 },
      { slot: 3, revision: 2 },
    ]);
    const again = withWork(replicaIn('outdated', 2));
    const next = planOf(rolling([...others, again], { reached: [3] }));
    expect(rosterAfter(next).map(({ slot, revision }) => [slot, revision])).toEqual([
      [0, 1],
      [1, 2],
      [2, 1],
      [3, 2],
    ]);
  });

  test('is waited for when there is no other one', () => {
    const spared = outdated.slice(0, 2).map(withWork);
    const world = rolling([...spared, { ...blocked, entry }, replicaIn('updated', 3)], { reached: [3] });
    expect(rosterAfter(planOf(world)).map(({ revision }) => revision)).not.toEqual([1, 2, 1, 2]);
  });
});

test('law: whatever fails, a rollout ends, and a rollback leaves no fewer than the floor', () => {
  const anyUpdate = fc.record({
    maxSurge: fc.constantFrom(1, 2),
    maxUnavailable: fc.constantFrom(0, 1),
    failureLimit: fc.constantFrom(0, 1, 2),
    mode: fc.constantFrom('Auto', 'Replace'),
    onFailure: fc.constantFrom('Rollback', 'Freeze'),
    progressDeadlineSeconds: fc.constantFrom(60, 600),
  });
  fc.assert(
    fc.property(anyUpdate, fc.integer({ min: 1, max: 6 }), (update, replicas) => {
      const given = Array.from({ length: replicas }, (_, slot) => replicaIn('outdated', slot));
      const spec = fleetSpec({ replicas, update });
      const { world, plan } = settledFrom(
        worldOf(given, { spec, revisions: [old, present], state: { update: 2 } }),
        200,
      );
      const expected = update.onFailure === 'Freeze' ? 'RolloutFrozen' : 'RolloutFailed';
      expect(plan).toMatchObject({ kind: 'hold', reason: expected });
      const { wanted } = inputsOf(world);
      const available = world.replicas.filter(
        ({ isAvailable, entry }) => isAvailable && entry.phase === 'wanted',
      );
      expect(available.length).toBeGreaterThanOrEqual(wanted.count - update.maxUnavailable);
    }),
    { numRuns: 200 },
  );
});

describe('what a replica reports', () => {
  const entryAt = (updated: number) => ({ ...replicaIn('updating', 0).entry, updated });
  const reporting = (
    reason: string,
    since: number,
    refusal?: { readonly status: number; readonly at: number },
  ) => {
    const reported = { reason, since };
    const report = { ready: reported, pending: reported, drift: [], linked: [], reconcileAt: undefined };
    const record = { ...newRecord('ContainerService/default/llm-0', 'uid'), report };
    const more = { fingerprint: '', generation: 1, action: 'a', code: 'c', message: 'm' };
    return refusal ? { ...record, refusal: { ...more, ...refusal } } : record;
  };

  test('counts from when it got its revision', () => {
    expect(troubleOf(entryAt(5), reporting('ServiceError', 6), false).fault).toBe('ServiceError');
    expect(troubleOf(entryAt(5), reporting('ServiceError', 5), false).fault).toBeUndefined();
    expect(troubleOf(entryAt(5), reporting('ServiceError', 8), false, { sentAt: 7 }).fault).toBe(
      'ServiceError',
    );
    // Its pass was under way when it got its revision.
    expect(troubleOf(entryAt(5), reporting('ServiceError', 8), false, { sentAt: 4 }).fault).toBeUndefined();
  });

  test.each([
    [400, 'Refused'],
    [422, 'Refused'],
    [403, undefined],
    [409, undefined],
  ])('a refusal with %d is the fault %s', (status, fault) => {
    expect(troubleOf(entryAt(5), reporting('Refused', 1, { status, at: 5 }), false).fault).toBe(fault);
    expect(troubleOf(entryAt(6), reporting('Refused', 1, { status, at: 5 }), false).fault).toBeUndefined();
  });

  test.each([
    'CapacityUnavailable',
    'InsufficientFunds',
    'ApiUnreachable',
    'Forbidden',
    'Protected',
    'OutsideWindow',
  ])('%s is an excuse', (reason) => {
    expect(troubleOf(entryAt(5), reporting(reason, 5), false)).toMatchObject({
      excuse: reason,
      unready: { isExcused: true },
    });
  });
});

describe('a replica that was Ready, and is not', () => {
  const entry = replicaIn('updated', 0).entry;
  const leftAt = startMs + 1000;
  const failingSince = (reasonSince: number | undefined, stateSince: number, kind: object = {}) => {
    const ready = { reason: 'ProbeFailed', since: leftAt, ...(reasonSince ? { reasonSince } : {}) };
    const report = { ready, pending: undefined, drift: [], linked: [], reconcileAt: undefined };
    const seen = { id: 'a', revision: 1, state: 'running', since: stateSince };
    return { ...newRecord('ContainerService/default/llm-0', 'uid'), report, seen, kind };
  };

  test('fails from when nothing is under way any more that may make it Ready', () => {
    const record = failingSince(leftAt + 180_000, startMs);
    expect(troubleOf(entry, record, false).unready).toEqual({
      reason: 'ProbeFailed',
      since: leftAt + 180_000,
      isExcused: false,
    });
    expect(troubleOf(entry, failingSince(undefined, startMs), false).unready?.since).toBe(leftAt);
  });

  test('does not fail while it comes back: it was made again, woke up, or was started since', () => {
    const record = failingSince(leftAt + 180_000, leftAt + 170_000);
    expect(troubleOf(entry, record, false).unready).toMatchObject({ isExcused: true });
    const older = { ...record, seen: { ...record.seen, mayBeOlder: true } as const };
    expect(troubleOf(entry, older, false).unready).toMatchObject({ isExcused: false });
  });

  test('fails all the same when it was restarted for an error of its own', () => {
    const remediation = { restarts: 1, at: leftAt - 200, generation: 1 };
    const record = failingSince(leftAt + 10_000, leftAt + 9000, { remediation });
    expect(troubleOf(entry, record, false).unready).toMatchObject({ isExcused: false });
    const long = { restarts: 1, at: leftAt - 300_000, generation: 1 };
    const other = failingSince(leftAt + 10_000, leftAt + 9000, { remediation: long });
    expect(troubleOf(entry, other, false).unready).toMatchObject({ isExcused: true });
  });

  test('does not fail while its fleet lets it correct what others changed', () => {
    const record = failingSince(undefined, startMs);
    const unready = troubleOf({ ...entry, corrects: leftAt }, record, false).unready;
    expect(unready).toMatchObject({ isExcused: true });
  });
});

describe('a revision that no replica has run', () => {
  const asleep = (slot: number, isAvailable: boolean) =>
    replicaIn('updated', slot, { isAsleep: true, isReady: true, isAvailable });

  test('is known by what its rollout has seen', () => {
    const untried = (more: Partial<RolloutRecord>, revision = present, healthy = old) =>
      isUntried({ rollout: { ...rolloutTo(2, startMs, 0), ...more } }, revision, healthy);
    expect(untried({})).toBe(true);
    expect(untried({ ran: true })).toBe(false);
    expect(untried({ reached: [1] })).toBe(false);
    expect(untried({}, { ...present, outcome: 'Healthy' })).toBe(false);
    expect(untried({}, old)).toBe(false);
    expect(isUntried({ rollout: undefined }, present, old)).toBe(false);
  });

  test('needs no proof when it differs in nothing but when a replica falls asleep', () => {
    const later = { ...present, content: { ...old.content, sleepAfterMinutes: 60 } };
    expect(isUntried({ rollout: rolloutTo(2, startMs, 0) }, later, old)).toBe(false);
  });

  test('has run once a replica is Ready with it and awake, although it falls asleep before it is available', () => {
    const awake = replicaIn('updated', 2, { isReady: true, isAvailable: false });
    const spec = fleetSpec({ update: { maxSurge: 0, maxUnavailable: 1 } });
    const ranAfter = (replica: Replica) =>
      stateIn(planOf(rolling([...outdated.slice(0, 2), replica], { surge: 0 }, { spec })))?.rollout?.ran;
    expect(ranAfter(awake)).toBe(true);
    expect(ranAfter(asleep(2, false))).toBeUndefined();
  });

  test('is not complete while they sleep, its deadline stands still, and it goes on when one has run it', () => {
    const spec = fleetSpec({ update: { maxSurge: 0, maxUnavailable: 1 } });
    const waiting = { ...asleep(2, false), excuse: 'Sleeping' };
    const world = rolling([...outdated.slice(0, 2), waiting], { surge: 0 }, { spec });
    const plan = planOf(world);
    expect(stateIn(plan)?.rollout?.stopped).toMatchObject({ reason: 'Sleeping' });
    expect(rosterAfter(plan).map(({ revision }) => revision)).toEqual([1, 1, 2]);
    const next = rolling([...outdated.slice(0, 2), asleep(2, true)], { surge: 0, ran: true }, { spec });
    expect(rosterAfter(planOf(next)).map(({ revision }) => revision)).toEqual([1, 2, 2]);
  });

  test('has run where replicas were found with it', () => {
    const found = [0, 1, 2].map((slot) => asleep(slot, true));
    const plan = planOf(worldOf(found, { revisions: [present], state: { update: 2 } }));
    expect(stateIn(plan)?.rollout).toMatchObject({ phase: 'Progressing', ran: true });
  });
});

describe('a first revision that has failed', () => {
  const failed = { ...present, outcome: 'Failed' as const };
  const frozen = (more: Partial<World> = {}, outcome = failed.outcome as typeof present.outcome) =>
    rolling(
      [failing(0), failing(1), replicaIn('updated', 2)],
      { phase: 'Frozen', surge: 0 },
      { revisions: [{ ...failed, outcome }], spec: fleetSpec({ replicas: 6 }), ...more },
    );

  test('gets no more replicas, since they would have it, too', () => {
    expect(planOf(frozen())).toMatchObject({ kind: 'hold', reason: 'RolloutFrozen' });
    expect(rosterAfter(planOf(frozen({}, 'RollingOut')))).toHaveLength(6);
  });

  test('is not repaired by others with it', () => {
    const spec = fleetSpec({ repair: { afterSeconds: 60 } });
    const broken = replicaIn('broken', 0, { content: 'updated' });
    const replicas = [broken, replicaIn('updated', 1), replicaIn('updated', 2)];
    expect(rosterAfter(planOf(frozen({ spec, replicas }, 'RollingOut')))[0]).toMatchObject({
      phase: 'draining',
    });
    expect(planOf(frozen({ spec, replicas }))).toMatchObject({ kind: 'hold', reason: 'RolloutFrozen' });
  });

  test('has fewer replicas when fewer are wanted', () => {
    const plan = planOf(frozen({ spec: fleetSpec({ replicas: 1 }) }));
    expect(rosterAfter(plan).filter(({ phase }) => phase === 'draining')).toHaveLength(2);
  });
});

test('a rollback ends although the document needs a Secret that is missing; before and after it, that holds the fleet', () => {
  const problem = holdFor('InvalidReference', 'the Secret llm does not exist');
  const planned = (world: World) => planFleet({ ...inputsOf(world), problem });
  const begun = rolling([...outdated.slice(0, 2), failing(2), failing(3)]);
  expect(planned(begun)).toMatchObject({ kind: 'hold', reason: 'InvalidReference' });
  let world = after(begun, planOf(begun));
  expect(world.state.rollout?.phase).toBe('RollingBack');
  for (let step = 0; step < 40 && world.state.rollout?.phase === 'RollingBack'; step += 1) {
    const plan = planned(world);
    expect(plan).toMatchObject(plan.kind === 'arrange' ? {} : { kind: 'hold', reason: 'InvalidReference' });
    world = after(world, plan);
  }
  expect(world.state.rollout?.phase).toBe('RolledBack');
  const wanted = world.replicas.filter(({ entry }) => entry.phase === 'wanted');
  expect(wanted.map(({ entry }) => entry.revision)).toEqual([1, 1, 1]);
  expect(planned(world)).toMatchObject({ kind: 'hold', reason: 'InvalidReference' });
});
