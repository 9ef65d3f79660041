/**
 * B4: a cache of 10,000 and 50,000 objects of 1.4 KB, filled over HTTP by a process of its own. Beside our reflector (with the flags of
 * `manifests/`, with a smaller young generation, and with Node as it is) the stock informer, in turns. Memory is the most that the process ever had.
 * The limit is that of a process that
 * only reads and parses the same pages; of memory, with the size of the texts of all objects.
 */
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { ObjectServer, cacheKinds, type CacheKind } from './support/cache-world.ts';
import { median, shown, type Row } from './support/report.ts';

interface Filled {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
}

type KindName = keyof typeof cacheKinds;
const kindNames = Object.keys(cacheKinds) as KindName[];

/** Of an object without its managed fields, as text. */
const objectMb = 1.1e-3;

async function fill(server: ObjectServer, kind: CacheKind): Promise<Filled> {
  const cache = await server.startCache(kind);
  try {
    const { seconds, cpuSeconds } = await cache.sync();
    return { seconds, cpuSeconds, peakMb: (await cache.peakBytes()) / 1e6 };
  } finally {
    await cache.end();
  }
}

async function measure(objects: number, repetitions: number): Promise<Record<KindName, Filled[]>> {
  const filled: Record<KindName, Filled[]> = {
    ours: [],
    oursSmall: [],
    oursByDefault: [],
    bare: [],
    stock: [],
  };
  const server = await ObjectServer.start(objects);
  try {
    // The first start of each fills the cache of compiled code.
    for (const name of kindNames) await fill(server, cacheKinds[name]);
    for (let count = 0; count < repetitions; count += 1) {
      for (const name of kindNames) filled[name].push(await fill(server, cacheKinds[name]));
    }
  } finally {
    await server.end();
  }
  return filled;
}

function rowsOf(
  objects: number,
  filled: Record<KindName, Filled[]>,
  target: { readonly seconds: number; readonly peakMb: number } | undefined,
): Row[] {
  const limitOf = (field: keyof Filled) => median(filled.bare.map((one) => one[field]));
  const row = (what: string, unit: string, field: keyof Filled): Row => ({
    what,
    limit: limitOf(field),
    values: filled.ours.map((one) => one[field]),
    unit,
    beside: kindNames
      .slice(1)
      .map((name) => `${cacheKinds[name].name} ${shown(median(filled[name].map((one) => one[field])))}`)
      .join(', '),
  });
  return [
    {
      ...row(`${shown(objects)} objects: until the cache is filled`, 's', 'seconds'),
      isOfMachine: true,
      ...(target && { target: { atMost: target.seconds } }),
    },
    row('  CPU', 's', 'cpuSeconds'),
    {
      ...row('  memory, at most', 'MB', 'peakMb'),
      limit: limitOf('peakMb') + objects * objectMb,
      ...(target && { target: { atMost: target.peakMb } }),
    },
  ];
}

export const cache: Benchmark = {
  id: 'B4',
  title: 'Cache of a cluster',
  workload: '10,000 and 50,000 objects of 1.4 KB, listed over HTTP into the cache of a process',
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const [few, many] = quick ? [500, 2000] : [10_000, 50_000];
    return [
      ...rowsOf(few, await measure(few, repetitions), undefined),
      ...rowsOf(many, await measure(many, repetitions), { seconds: 1.5, peakMb: 190 }),
    ];
  },
};
