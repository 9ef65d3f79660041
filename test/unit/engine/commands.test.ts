import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isOutdated, planCommand, type CommandEffect } from '../../../src/engine/commands.ts';
import type { CommandVerbs } from '../../../src/resources/index.ts';
import type { HandledCommand } from '../../../src/state/index.ts';

const verbs: CommandVerbs = { turn: { argument: /^\d$/, target: /^g\d$/, example: 'turn:1@g1' } };
const object = { verbs, place: 'folder', deleting: false } as const;
const done: CommandEffect = { result: 'Done', message: 'turned', state: {} };

/** An object to which commands are given in both places, as passes see it. */
class World {
  annotation: string | undefined;
  left: string | undefined;
  last: HandledCommand | undefined;
  canDecide = true;
  readonly carriedOut: string[] = [];

  pass(): void {
    const decided = planCommand(this, object, ({ text }) => {
      if (!this.canDecide) return undefined;
      this.carriedOut.push(text);
      return done;
    });
    if (!decided) return;
    this.last = { ...decided.handled, at: 0 };
    // As the store does.
    if (this.left === this.last.command) this.left = undefined;
  }
}

test('a command is carried out once, however many passes see it', () => {
  const world = new World();
  world.annotation = 'turn:1@g1';
  for (let pass = 0; pass < 3; pass += 1) world.pass();
  expect(world.carriedOut).toEqual(['turn:1@g1']);
  expect(world.last).toMatchObject({ command: 'turn:1@g1', result: 'Done', message: 'turned' });
});

test('an annotation that stays is not carried out again because of a command in the state file', () => {
  const world = new World();
  world.annotation = 'turn:1@g1';
  world.pass();
  world.left = 'turn:2@g1';
  for (let pass = 0; pass < 3; pass += 1) world.pass();
  expect(world.carriedOut).toEqual(['turn:1@g1', 'turn:2@g1']);
  expect(world.last).toMatchObject({ command: 'turn:2@g1' });
  world.annotation = 'turn:3@g1';
  world.pass();
  expect(world.carriedOut.at(-1)).toBe('turn:3@g1');
});

test('what a kind can not decide on yet stays given', () => {
  const world = new World();
  world.left = 'turn:1@g1';
  world.canDecide = false;
  world.pass();
  expect([world.last, world.left]).toEqual([undefined, 'turn:1@g1']);
  world.canDecide = true;
  world.pass();
  expect([world.carriedOut, world.left]).toEqual([['turn:1@g1'], undefined]);
});

describe('outdated', () => {
  const decide = (text: string, deleting = false) =>
    planCommand({ annotation: undefined, left: text, last: undefined }, { ...object, deleting }, () => done)
      ?.effect;

  test('a command for an object that is being deleted', () => {
    expect(decide('turn:1@g1', true)).toEqual({
      result: 'Outdated',
      message: 'the object is being deleted',
    });
  });

  test('a command of a later version in the state file', () => {
    expect(decide('somersault@g1')).toMatchObject({ result: 'Outdated' });
  });

  test('is reported as long as the annotation stays, and not after another command', () => {
    const last = { command: 'turn:1@g1', at: 0, result: 'Outdated', message: 'late' } as const;
    expect(isOutdated({ annotation: 'turn:1@g1', last })).toBe(true);
    expect(isOutdated({ annotation: undefined, last })).toBe(false);
    expect(isOutdated({ annotation: 'turn:2@g1', last })).toBe(false);
    expect(isOutdated({ annotation: 'turn:1@g1', last: { ...last, result: 'Done' } })).toBe(false);
  });
});

test('law: no text is carried out twice in a row, wherever it is given (EI7)', () => {
  const text = fc.constantFrom('turn:1@g1', 'turn:2@g1', 'turn:3@g1');
  const step = fc.oneof(
    fc.record({ left: text }),
    fc.record({ annotation: fc.option(text, { nil: undefined }) }),
    fc.record({ canDecide: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const world = new World();
      for (const change of steps) {
        Object.assign(world, change);
        world.pass();
        world.pass();
      }
      for (const [at, each] of world.carriedOut.entries()) expect(each).not.toBe(world.carriedOut[at - 1]);
      // Nothing is left to be done.
      const before = world.carriedOut.length;
      world.canDecide = true;
      for (let pass = 0; pass < 5; pass += 1) world.pass();
      expect(world.carriedOut.length - before).toBeLessThanOrEqual(2);
    }),
  );
});
