/** The heap of V8 as a parameter, so that a test decides what is in it. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface HeapUse {
  /** Bytes that V8 has from the system for the heap, pages that it keeps for later included. */
  readonly heldBytes: number;
  /** Of these, bytes of what was alive at the last collection or is newer. */
  readonly usedBytes: number;
  /** Milliseconds of CPU that the process has taken since its start. */
  readonly cpuMs: number;
}

export interface Heap {
  use(): HeapUse;
  /** Collects all garbage, and gives all pages back that are free then. Nothing else runs meanwhile: some 2 ms for each MB that is alive. */
  collect(): void;
  /** By how many percent of what is alive the heap may grow from now on, until all garbage is collected. V8 chooses otherwise: 10 to 300. */
  setGrowth(percent: number): void;
}

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

export const systemHeap: Heap = {
  use() {
    const { total_heap_size: heldBytes, used_heap_size: usedBytes } = getHeapStatistics();
    const { user, system } = process.cpuUsage();
    return { heldBytes, usedBytes, cpuMs: (user + system) / 1000 };
  },
  collect() {
    // Contexts that are made from now on have the function.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('globalThis.gc') as Collect | undefined;
    // A V8 without it is no reason to end: then nothing is given back.
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  },
  setGrowth: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
};
