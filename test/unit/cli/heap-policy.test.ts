import pino from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HeapUse } from '../../../src/base/index.ts';
import { HeapPolicy } from '../../../src/cli/heap-policy.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const megabytes = 1e6;

/** A heap whose free pages go when everything is collected. */
class FakeHeap {
  heldBytes = 270 * megabytes;
  usedBytes = 110 * megabytes;
  cpuMs = 5000;
  collections = 0;
  growthPercent = 0;

  use(): HeapUse {
    return { heldBytes: this.heldBytes, usedBytes: this.usedBytes, cpuMs: this.cpuMs };
  }

  setGrowth(percent: number): void {
    this.growthPercent = percent;
  }

  collect(): void {
    this.collections += 1;
    this.heldBytes = this.usedBytes;
    this.cpuMs += 300;
  }
}

let clock: ManualClock;
let heap: FakeHeap;
let policy: HeapPolicy;

beforeEach(() => {
  clock = new ManualClock();
  heap = new FakeHeap();
  policy = new HeapPolicy({ heap, clock, logger: pino({ enabled: false }) });
});

describe('memory that a burst of work has left', () => {
  test('is given back as soon as the process was quiet for 10 s', async () => {
    await clock.advance(3000);
    heap.cpuMs += 4000;
    await clock.advance(1000);
    heap.cpuMs += 200;
    await clock.advance(9000);
    expect(heap.collections).toBe(0);
    await clock.advance(1000);
    expect(heap).toMatchObject({ collections: 1, heldBytes: 110 * megabytes });
  });

  test.each([
    ['is too little to stop everything for', 173, 110],
    ['is left where that would stop everything for long', 900, 410],
  ])('%s', async (_what, held, used) => {
    Object.assign(heap, { heldBytes: held * megabytes, usedBytes: used * megabytes });
    await clock.advance(3_600_000);
    expect(heap.collections).toBe(0);
  });

  test('is given back at most every ten minutes, whatever comes again', async () => {
    await clock.advance(10_000);
    heap.heldBytes = 300 * megabytes;
    await clock.advance(590_000);
    expect(heap.collections).toBe(1);
    await clock.advance(10_000);
    expect(heap.collections).toBe(2);
  });

  test('is left alone when the process ends', async () => {
    policy.stop();
    await clock.advance(60_000);
    expect(heap.collections).toBe(0);
  });
});

describe('the growth of the heap', () => {
  test('is left to V8 while a small fleet starts', async () => {
    heap.cpuMs += 4000;
    await clock.advance(10_000);
    expect(heap.growthPercent).toBe(0);
  });

  test('is 30 % of what is alive once the process is quiet', async () => {
    await clock.advance(10_000);
    expect(heap.growthPercent).toBe(30);
  });

  test('is that a second after much is in use', async () => {
    heap.usedBytes = 210 * megabytes;
    heap.cpuMs += 4000;
    await clock.advance(1000);
    expect(heap).toMatchObject({ growthPercent: 30, collections: 0 });
  });
});
