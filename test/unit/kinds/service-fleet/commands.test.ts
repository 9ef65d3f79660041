import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../../../src/base/index.ts';
import { waitFor } from '../../../../src/engine/plan/index.ts';
import { parseCommand } from '../../../../src/resources/index.ts';
import { fleetCommand } from '../../../../src/kinds/service-fleet/commands.ts';
import { wantedReplicas } from '../../../../src/kinds/service-fleet/counts.ts';
import type { FleetLook } from '../../../../src/kinds/service-fleet/look.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import { fleetVerbs } from '../../../../src/kinds/service-fleet/schema-commands.ts';
import {
  after,
  fleetSpec,
  inputsOf,
  planOf,
  replicaIn,
  rosterAfter,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const uid = (slot: number) => `0000000${slot}-0000-4000-8000-000000000000`;

function lookOf(world: World, more: Partial<FleetLook> = {}): FleetLook {
  const inputs = inputsOf(world);
  return {
    ...inputs,
    unread: undefined,
    isPreview: false,
    shed: undefined,
    name: 'llm',
    generation: 12,
    uids: new Map(world.replicas.map(({ entry: { slot } }) => [slot, uid(slot)])),
    endpoints: [],
    template: { kind: 'none' },
    presentValues: new Sensitive({}),
    ...more,
  };
}

function order(world: World, text: string, more: Partial<FleetLook> = {}) {
  const command = parseCommand(text, fleetVerbs, 'folder');
  if (typeof command === 'string') throw new Error(command);
  return fleetCommand(lookOf(world, more), command);
}

const three = () => worldOf([0, 1, 2].map((slot) => replicaIn('updated', slot)));

function stateAfter(effect: ReturnType<typeof order>): FleetState {
  if (effect?.result !== 'Done') throw new Error(`not carried out: ${effect?.message}`);
  return effect.state;
}

/** The same world after the command. */
function obeyed(world: World, text: string): World {
  const state = stateAfter(order(world, text));
  const entries = new Map((state.roster ?? []).map((entry) => [entry.slot, entry]));
  const replicas = world.replicas.map((replica) => ({
    ...replica,
    entry: entries.get(replica.entry.slot) ?? replica.entry,
  }));
  return { ...world, state, replicas };
}

describe('retire', () => {
  test('the replica drains, and the fleet adds another one in a new slot', () => {
    const world = obeyed(three(), 'retire:1@00000001');
    expect(world.replicas.map(({ entry }) => entry.phase)).toEqual(['wanted', 'draining', 'wanted']);
    expect(rosterAfter(planOf(world)).map(({ slot, phase }) => `${slot} ${phase}`)).toEqual([
      '0 wanted',
      '1 draining',
      '2 wanted',
      '3 wanted',
    ]);
  });

  test('a protected one is not taken back, and no other one drains instead', () => {
    const world = obeyed(three(), 'retire:1@00000001');
    const replicas = world.replicas.map((replica) =>
      replica.entry.slot === 1
        ? { ...replica, protection: 'yes' as const, protector: 'ProtectedTask/a' }
        : replica,
    );
    let next: World = { ...world, spec: fleetSpec({ replicas: 2 }), replicas };
    expect(planOf(next)).toMatchObject({ kind: 'wait', reason: 'ReplicasProtected' });
    // Nor when more are wanted again.
    next = { ...next, spec: fleetSpec({ replicas: 3 }) };
    expect(rosterAfter(planOf(next)).find(({ slot }) => slot === 1)?.phase).toBe('draining');
  });

  test('one that drains already is no longer taken back', () => {
    const draining = replicaIn('updated', 2);
    const world = worldOf([
      replicaIn('updated', 0),
      replicaIn('updated', 1),
      { ...draining, entry: { ...draining.entry, phase: 'draining' } },
    ]);
    expect(rosterAfter(planOf(world)).find(({ slot }) => slot === 2)?.phase).toBe('wanted');
    const retired = obeyed(world, 'retire:2@00000002');
    expect(rosterAfter(planOf(retired)).find(({ slot }) => slot === 2)?.phase).toBe('draining');
  });

  test('ends with the replica gone and as many as are wanted', () => {
    let world = obeyed(three(), 'retire:1@00000001');
    for (let step = 0; step < 10; step += 1) world = after(world, planOf(world));
    expect(world.replicas.map(({ entry }) => `${entry.slot} ${entry.phase}`)).toEqual([
      '0 wanted',
      '2 wanted',
      '3 wanted',
    ]);
  });

  test('waits for the pace of scaleIn', () => {
    const spec = fleetSpec({ scaleIn: { maxPerMinute: 1 } });
    const state = { pace: { at: startMs, of: 3, begun: 1 } };
    expect(order({ ...three(), spec, state }, 'retire:1@00000001')).toBeUndefined();
    const later = { ...three(), spec, state, nowMs: startMs + 61_000 };
    expect(stateAfter(order(later, 'retire:1@00000001')).pace).toMatchObject({ begun: 1 });
  });

  test.each([
    ['another replica has the slot now', 'retire:1@0badc0de'],
    ['no replica has the slot', 'retire:7@00000007'],
  ])('is outdated: %s', (_case, text) => {
    expect(order(three(), text)).toMatchObject({ result: 'Outdated' });
  });

  test('is not decided on before the account is read and the roster is known', () => {
    expect(
      order(three(), 'retire:1@00000001', { unread: waitFor('AwaitingObservation', 'not read yet') }),
    ).toBeUndefined();
    expect(order(three(), 'retire:1@00000001', { isFound: true })).toBeUndefined();
  });
});

describe('scale', () => {
  const minuteMs = 60_000;
  const at = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z/, 'Z');
  const wantedAfter = (world: World, nowMs = world.nowMs) =>
    wantedReplicas(world.spec, nowMs, world.state.scaled).count;

  test('gives another number until `replicas` of the document is edited', () => {
    const world = obeyed(three(), 'scale:9@g12');
    expect(wantedAfter(world)).toBe(9);
    expect(wantedAfter({ ...world, spec: fleetSpec({ replicas: 3, maxReplicas: 8 }) })).toBe(8);
    expect(wantedAfter({ ...world, spec: fleetSpec({ replicas: 4 }) })).toBe(4);
  });

  test('without `replicas` in the document it stays', () => {
    const world = obeyed({ ...three(), spec: fleetSpec({ replicas: undefined }) }, 'scale:9@g12');
    expect(wantedAfter(world)).toBe(9);
  });

  test('for a time: then the number before counts again, also that of a command', () => {
    const nowMs = startMs + 1000;
    const until = at(nowMs + 10 * minuteMs);
    const world = obeyed({ ...three(), nowMs }, `scale:9:${until}@g12`);
    expect(wantedReplicas(world.spec, nowMs, world.state.scaled)).toMatchObject({
      count: 9,
      changesAt: Date.parse(until),
      from: `command scale until ${until}, replicas of the document: 3`,
    });
    expect(wantedAfter(world, nowMs + 11 * minuteMs)).toBe(3);
    const stays = obeyed({ ...three(), nowMs }, 'scale:5@g12');
    const both = obeyed(stays, `scale:9:${until}@g12`);
    expect([wantedAfter(both, nowMs), wantedAfter(both, nowMs + 11 * minuteMs)]).toEqual([9, 5]);
    // One that stays ends the one for a time.
    expect(wantedAfter(obeyed(both, 'scale:2@g12'), nowMs)).toBe(2);
  });

  test('a schedule that gives a number counts before it, and limits do', () => {
    const open = { name: 'day', cron: '* * * * *', durationMinutes: 10 };
    const scheduled = (schedule: object) => fleetSpec({ schedules: [{ ...open, ...schedule }] });
    const scaled = obeyed(three(), 'scale:9@g12').state.scaled;
    expect(wantedReplicas(scheduled({ replicas: 1 }), startMs, scaled)).toMatchObject({
      count: 1,
      scaled: undefined,
    });
    expect(wantedReplicas(scheduled({ maxReplicas: 0 }), startMs, scaled).count).toBe(0);
  });

  test('shows what it changes, and where the number is from', () => {
    expect(order(three(), 'scale:9@g12')).toMatchObject({
      change: 'scale',
      message: '9 replicas',
      differences: [
        {
          path: 'replicas',
          desired: 9,
          observed: 3,
          from: 'command scale, replicas of the document: 3',
        },
      ],
    });
    expect(order({ ...three(), spec: fleetSpec({ maxReplicas: 5 }) }, 'scale:9@g12')).toMatchObject({
      message: '9 replicas; limits and schedules make that 5',
    });
  });

  test.each([
    ['the document was edited', 'scale:9@g11', /generation 12, not 11/],
    ['its time is over', `scale:9:${at(startMs - minuteMs)}@g12`, /its time was over/],
  ])('is outdated: %s', (_case, text, message) => {
    const effect = order(three(), text);
    expect(effect).toMatchObject({ result: 'Outdated' });
    expect(effect?.message).toMatch(message);
  });
});
