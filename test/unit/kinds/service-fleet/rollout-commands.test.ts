import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../../src/resources/index.ts';
import { rolloutCommands } from '../../../../src/kinds/service-fleet/rollout-commands.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { fleetVerbs } from '../../../../src/kinds/service-fleet/schema-commands.ts';
import type { RolloutRecord } from '../../../../src/kinds/service-fleet/state.ts';
import type { RevisionOutcome } from '../../../../src/state/index.ts';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import {
  fleetSpec,
  inputsOf,
  old,
  planOf,
  present,
  replicaIn,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

function rolling(phase: RolloutRecord['phase'], outcome: RevisionOutcome = 'RollingOut'): World {
  const replicas = [0, 1, 2].map((slot) => replicaIn('outdated', slot));
  const state = { update: 2, rollout: { ...rolloutTo(2, startMs, 1), phase } };
  return worldOf(replicas, { revisions: [old, { ...present, outcome }], state });
}

function order(world: World, text: string) {
  const command = parseCommand(text, fleetVerbs, 'folder');
  if (typeof command === 'string') throw new Error(command);
  return rolloutCommands[command.verb as keyof typeof rolloutCommands](inputsOf(world), command);
}

function obeyed(world: World, text: string): World {
  const effect = order(world, text);
  if (effect.result !== 'Done') throw new Error(effect.message);
  return { ...world, state: effect.state };
}

const phases = ['Progressing', 'Paused', 'Analysing', 'RollingBack', 'RolledBack', 'Frozen'] as const;

describe.each([
  ['abort@r2', ['Progressing', 'Paused', 'Analysing'], 'RollingOut'],
  ['freeze@r2', ['Progressing', 'Paused', 'Analysing'], 'RollingOut'],
  ['thaw@r2', ['Frozen'], 'RollingOut'],
  ['retry@r2#1', ['RollingBack', 'RolledBack', 'Frozen'], 'Failed'],
] as const)('%s', (text, allowed, outcome) => {
  test.each(phases)('in the phase %s', (phase) => {
    const isAllowed = (allowed as readonly string[]).includes(phase);
    expect(order(rolling(phase, outcome), text).result).toBe(isAllowed ? 'Done' : 'Outdated');
  });

  test('does nothing to another revision, and nothing without a rollout', () => {
    const [phase] = allowed;
    expect(order(rolling(phase, outcome), text.replace('r2', 'r1')).result).toBe('Outdated');
    const { state: _state, ...stable } = rolling(phase, outcome);
    expect(order({ ...stable, state: { update: 2 } }, text).result).toBe('Outdated');
  });
});

test('an aborted revision fails, and the replicas return', () => {
  expect(planOf(obeyed(rolling('Progressing'), 'abort@r2'))).toMatchObject({
    reason: 'RollingBack',
    message: 'r2 failed: it was aborted; the replicas return to r1',
  });
});

test('a frozen rollout stands still until it is thawed, and its deadline begins anew', () => {
  const frozen = obeyed(rolling('Progressing'), 'freeze@r2');
  expect(planOf({ ...frozen, nowMs: startMs + 86_400_000 })).toMatchObject({
    kind: 'hold',
    reason: 'RolloutFrozen',
  });
  const later = { ...frozen, nowMs: startMs + 86_400_000 };
  const thawed = obeyed(later, 'thaw@r2');
  expect(thawed.state.rollout).toMatchObject({ phase: 'Progressing', progressAt: startMs + 86_400_000 });
  expect(planOf(thawed)).toMatchObject({ kind: 'arrange', reason: 'RollingOut' });
});

test('a failed revision is tried again once for each attempt, and thaw is not enough', () => {
  const failed = rolling('RolledBack', 'Failed');
  expect(order(failed, 'retry@r2#2')).toMatchObject({ result: 'Outdated', message: 'r2 is in attempt 1' });
  expect(order(rolling('Frozen', 'Failed'), 'thaw@r2')).toMatchObject({ result: 'Outdated' });
  const retried = obeyed(failed, 'retry@r2#1');
  expect(retried.state.rollout).toMatchObject({ phase: 'Progressing', attempt: 2, failures: [] });
  expect(planOf(retried)).toMatchObject({ revisions: [{ number: 1 }, { number: 2, outcome: 'RollingOut' }] });
  expect(order(retried, 'retry@r2#1').result).toBe('Outdated');
});

describe('replicas that failed, when the revision is tried again', () => {
  const failed = (slot: number, more: Partial<Replica> = {}): Replica => {
    const replica = replicaIn('updating', slot, { fault: 'ServiceError', mayServe: false, ...more });
    return { ...replica, entry: { ...replica.entry, updated: startMs, earlier: 1 } };
  };
  const retriedWith = (...replicas: Replica[]) => {
    const frozen = rolling('Frozen', 'Failed');
    return obeyed({ ...frozen, replicas, nowMs: startMs + 5000 }, 'retry@r2#1');
  };
  const tokens = ({ state }: World) =>
    ownedBy({ name: 'llm', spec: fleetSpec(), state, revisions: [old, present] }).map(
      ({ spec }) => (spec as { readonly restartToken?: string }).restartToken,
    );

  test('are restarted, and what they failed for before does not count', () => {
    const world = retriedWith(failed(0), replicaIn('updated', 1), replicaIn('outdated', 2));
    expect(world.state.roster).toMatchObject([
      { slot: 0, revision: 2, updated: startMs + 5000, retried: 2 },
      { slot: 1 },
      { slot: 2, revision: 1 },
    ]);
    expect(tokens(world)).toEqual(['r2#2', undefined, undefined]);
    expect(world.state.roster?.[1]).not.toHaveProperty('retried');
  });

  test('need no permission of their own for that, once they have had the revision', () => {
    const world = retriedWith(failed(0, { isSettled: true }));
    expect(world.state.roster?.[0]).toMatchObject({ retried: 2, corrects: startMs + 5000 });
  });

  test('are restarted when they were available, and are not any more', () => {
    const frozen = rolling('Frozen', 'Failed');
    const lost = { ...failed(0), fault: undefined };
    const failures = [
      { slot: 0, reason: 'ProbeFailed' },
      { slot: 1, reason: 'ProbeFailed' },
    ];
    const rollout = { ...rolloutTo(2, startMs, 1), phase: 'Frozen' as const, failures };
    const world = { ...frozen, replicas: [lost, replicaIn('updated', 1)], state: { update: 2, rollout } };
    expect(tokens(obeyed(world, 'retry@r2#1'))).toEqual(['r2#2', undefined]);
  });

  test('have the revision before again when their change was refused, until that is forgotten', () => {
    const refused = failed(2, { fault: 'Refused', mayServe: true });
    const world = retriedWith(replicaIn('updated', 0), replicaIn('updated', 1), refused);
    expect(world.state.roster?.[2]).toMatchObject({ revision: 1, earlier: 2 });
    expect(world.state.roster?.[2]).not.toHaveProperty('updated');
    const spec = fleetSpec({ update: { maxSurge: 0, maxUnavailable: 1 } });
    const revisions = [old, present];
    const before = replicaIn('outdated', 2, { fault: 'Refused' });
    const entry = { ...before.entry, earlier: 2 };
    const next = { ...world, spec, revisions };
    const granted = (replica: Replica) => {
      const plan = planOf({ ...next, replicas: [...world.replicas.slice(0, 2), { ...replica, entry }] });
      return plan.kind === 'arrange' && JSON.stringify(plan.state).includes('"revision":2,"updated"');
    };
    expect(granted(before)).toBe(false);
    expect(granted({ ...before, fault: undefined })).toBe(true);
  });

  test('are not restarted for an attempt at a revision that they leave', () => {
    const refused = failed(2, { fault: 'Refused', mayServe: true });
    const tried = { ...refused, entry: { ...refused.entry, retried: 2 } };
    const world = retriedWith(replicaIn('updated', 0), replicaIn('updated', 1), tried);
    expect(world.state.roster?.[2]).toMatchObject({ revision: 1, earlier: 2 });
    expect(tokens(world)).toEqual([undefined, undefined, undefined]);
  });

  test('are made again when nothing of them was made', () => {
    const world = retriedWith(failed(0, { fault: 'Refused', isMade: false }));
    expect(world.state.roster).toMatchObject([{ slot: 0, phase: 'draining' }]);
  });
});

test('a move of replicas with a Healthy revision can not be aborted', () => {
  expect(order(rolling('Progressing', 'Healthy'), 'abort@r2').result).toBe('Outdated');
});
