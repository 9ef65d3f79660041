import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Turns } from '../../../src/control-plane/http/turns.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** Work takes as long as it says; turns of the event loop end when told to. */
class Desk {
  nowMs = 0;
  readonly done: string[] = [];
  readonly #ends: (() => void)[] = [];
  readonly turns = new Turns(Object.assign(new ManualClock(), { monotonicMs: () => this.nowMs }), {
    endOfTurn: (run) => void this.#ends.push(run),
    crash: () => undefined,
  });

  enter(id: string, takesMs: number, name = id): void {
    this.turns.enter(id, () => {
      this.nowMs += takesMs;
      this.done.push(name);
    });
  }

  /** Whether anything was waiting for it. */
  endTurn(): boolean {
    const ends = this.#ends.splice(0);
    for (const end of ends) end();
    return ends.length > 0;
  }
}

test('as long as there is time in the turn, work is done as it comes', () => {
  const desk = new Desk();
  for (let index = 0; index < 5; index += 1) desk.enter('a', 1);
  expect(desk.done).toEqual(['a', 'a', 'a', 'a', 'a']);
});

test('who has one request waits for one turn, not for the backlog of another', () => {
  const desk = new Desk();
  for (let index = 0; index < 500; index += 1) desk.enter('many', 5);
  desk.enter('one', 5);
  const startedMs = desk.nowMs;
  while (!desk.done.includes('one')) desk.endTurn();
  expect(desk.nowMs - startedMs).toBeLessThanOrEqual(20);
});

test('time is divided by what work takes, not by how much work there is', () => {
  const desk = new Desk();
  for (let index = 0; index < 1000; index += 1) desk.enter('long', 4);
  for (let index = 0; index < 1000; index += 1) desk.enter('short', 1);
  for (let turn = 0; turn < 40; turn += 1) desk.endTurn();
  const count = (id: string) => desk.done.filter((one) => one === id).length;
  expect(count('short') / count('long')).toBeGreaterThan(3);
  expect(count('short') / count('long')).toBeLessThan(5);
});

test('who comes back after a pause has saved up no time', () => {
  const desk = new Desk();
  desk.enter('rested', 1);
  for (let index = 0; index < 300; index += 1) desk.enter('busy', 5);
  for (let turn = 0; turn < 100; turn += 1) desk.endTurn();
  const before = desk.done.length;
  for (let index = 0; index < 300; index += 1) desk.enter('rested', 5);
  for (let turn = 0; turn < 20; turn += 1) desk.endTurn();
  const since = desk.done.slice(before);
  expect(since.filter((id) => id === 'busy').length).toBeGreaterThan(since.length / 3);
});

test('what throws does not stop the others, and everything is done in the end', () => {
  const desk = new Desk();
  for (let index = 0; index < 30; index += 1) desk.enter(`account ${index % 7}`, 3, String(index));
  while (desk.endTurn());
  expect(new Set(desk.done).size).toBe(30);
});

test('what is done is kept no longer, though the account always has more that waits', async () => {
  const desk = new Desk();
  const held: WeakRef<object>[] = [];
  const enter = (): void => {
    const request = { body: 'x' };
    held.push(new WeakRef(request));
    desk.turns.enter('busy', () => {
      desk.nowMs += 5;
      desk.done.push(request.body);
    });
  };
  for (let waiting = 0; waiting < 20; waiting += 1) enter();
  for (let turn = 0; turn < 200; turn += 1) {
    enter();
    desk.endTurn();
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // A WeakRef keeps what it refers to until the turn in which it was made is over.
  await expect
    .poll(() => {
      collect();
      return held.filter((request) => request.deref()).length;
    })
    .toBeLessThan(40);
});
