import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogWaits, type Log } from '../../../src/base/log-waits.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

/** A disk that takes what is written when it is told to. */
class SlowDisk implements Log {
  written = 0;
  onIt = 0;
  isBroken = false;
  isClosed = false;
  readonly waits: { readonly upTo: number; readonly end: PromiseWithResolvers<void> }[] = [];

  onDisk(): Promise<void> {
    const end = Promise.withResolvers<void>();
    this.waits.push({ upTo: this.written, end });
    return end.promise;
  }

  sync(): void {
    if (this.isBroken) throw new Error('EIO');
    this.onIt = this.written;
  }

  close(): void {
    this.isClosed = true;
  }

  /** The oldest wait ends. */
  confirm(): void {
    const wait = this.waits.shift();
    if (!wait) return;
    this.onIt = Math.max(this.onIt, wait.upTo);
    wait.end.resolve();
  }

  refuse(): void {
    this.isBroken = true;
    this.waits.shift()?.end.reject(new Error('EIO'));
  }
}

function world() {
  const disk = new SlowDisk();
  const crashes: unknown[] = [];
  const durable: number[] = [];
  const clock = new ManualClock();
  const waits = new LogWaits<number>(
    disk,
    clock,
    (error) => crashes.push(error),
    (commits) => {
      for (const commit of commits) expect(commit).toBeLessThanOrEqual(disk.onIt);
      durable.push(...commits);
    },
  );
  const commit = () => {
    disk.written += 1;
    waits.add(disk.written);
  };
  return { clock, disk, crashes, durable, waits, commit };
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test('law: a commit is durable when the disk has it, in order, once, and no wait is without use', async () => {
  const steps = fc.array(fc.constantFrom('commit', 'commit', 'confirm', 'end'), { maxLength: 40 });
  const law = fc.asyncProperty(steps, async (taken) => {
    const { disk, crashes, durable, waits, commit } = world();
    for (const step of taken) {
      if (step === 'commit') commit();
      if (step === 'confirm') disk.confirm();
      if (step === 'end') waits.end();
      const isAll = durable.length === disk.written;
      expect(isAll || step !== 'end').toBe(true);
      await settle();
      expect(disk.waits.length).toBeLessThanOrEqual(1);
      expect(waits.last ?? durable.at(-1) ?? 0).toBe(disk.written);
    }
    for (let wait = 0; wait < 2; wait += 1) {
      disk.confirm();
      await settle();
    }
    expect(durable).toEqual(upTo(disk.written));
    expect([disk.waits, crashes, waits.last]).toEqual([[], [], undefined]);
  });
  await fc.assert(law);
});

test('what is committed during a wait is covered by one more, however much that is', async () => {
  const { disk, durable, commit } = world();
  for (const _ of upTo(100)) commit();
  expect(disk.waits).toHaveLength(1);
  disk.confirm();
  await settle();
  expect(durable).toEqual([1]);
  disk.confirm();
  await settle();
  expect(durable).toEqual(upTo(100));
});

test('how long the disk has been waited for is known', async () => {
  const { clock, disk, waits, commit } = world();
  expect(waits.waitMs).toBe(0);
  commit();
  await clock.advance(700);
  commit();
  expect(waits.waitMs).toBe(700);
  disk.confirm();
  await settle();
  expect(waits.waitMs).toBe(0);
  await clock.advance(50);
  expect(waits.waitMs).toBe(50);
  disk.confirm();
  await settle();
  expect(waits.waitMs).toBe(0);
});

describe('a disk that does not confirm', () => {
  test('ends everything: nothing becomes durable, no further wait begins, and nobody is told that all is well', async () => {
    const { disk, crashes, durable, waits, commit } = world();
    commit();
    commit();
    disk.refuse();
    await settle();
    expect(crashes).toEqual([new Error('EIO')]);
    disk.isBroken = false;
    commit();
    expect(() => waits.end()).toThrow('EIO');
    await settle();
    expect([disk.waits, durable, crashes.length]).toEqual([[], [], 1]);
  });

  test('does so when the wait is a call', () => {
    const { disk, crashes, durable, waits, commit } = world();
    commit();
    disk.isBroken = true;
    expect(() => waits.end()).toThrow('EIO');
    expect([durable, crashes]).toEqual([[], [new Error('EIO')]]);
  });

  test('does so although a call found nothing wrong meanwhile: one of both was told of the error', async () => {
    const { disk, crashes, waits, commit } = world();
    commit();
    waits.end();
    disk.refuse();
    await settle();
    expect(crashes).toEqual([new Error('EIO')]);
  });
});

describe('a log', () => {
  test('is let go of when nothing waits for it any more', async () => {
    const { disk, waits, commit } = world();
    commit();
    waits.end();
    waits.close();
    expect(disk.isClosed).toBe(false);
    disk.confirm();
    await settle();
    expect(disk.isClosed).toBe(true);
  });

  test('that nobody waits for is let go of at once', () => {
    const { disk, waits } = world();
    waits.close();
    expect(disk.isClosed).toBe(true);
  });
});
