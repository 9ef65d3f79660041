import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../../src/resources/index.ts';
import { rolloutCommands } from '../../../../src/kinds/service-fleet/rollout-commands.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { fleetVerbs } from '../../../../src/kinds/service-fleet/schema-commands.ts';
import type { RolloutRecord } from '../../../../src/kinds/service-fleet/state.ts';
import type { RevisionOutcome } from '../../../../src/state/index.ts';
import { inputsOf, old, planOf, present, replicaIn, startMs, worldOf, type World } from './worlds.ts';

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

test('a move of replicas with a Healthy revision can not be aborted', () => {
  expect(order(rolling('Progressing', 'Healthy'), 'abort@r2').result).toBe('Outdated');
});
