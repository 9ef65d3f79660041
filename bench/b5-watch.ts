/**
 * B5: a watch on 10,000 objects at 1,000 and 5,000 events a second, and a burst of 50,000. Latency is from the write at the server, which
 * is in the event, to the handler; both processes share the clock. Beside our reflector the stock informer, in turns, and as the limit a
 * process that only splits the same watch into lines and parses them.
 */
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import type { Watched } from './support/cache-protocol.ts';
import { ObjectServer, cacheKinds, type CacheKind } from './support/cache-world.ts';
import { median, shown, type Row } from './support/report.ts';

interface Flow {
  readonly perSecond: number;
  readonly seconds: number;
}

interface Run {
  readonly flows: readonly Watched[];
  readonly burst: Watched;
}

async function run(
  server: ObjectServer,
  kind: CacheKind,
  flows: readonly Flow[],
  burst: number,
): Promise<Run> {
  const cache = await server.startCache(kind);
  const watched: Watched[] = [];
  const watch = (events: number, perSecond: number | undefined) =>
    cache.watch(events, () => server.write({ events, perSecond }));
  try {
    await cache.sync();
    // Until the code is compiled for speed.
    await watch(burst / 10, undefined);
    for (const { perSecond, seconds } of flows) watched.push(await watch(perSecond * seconds, perSecond));
    return { flows: watched, burst: await watch(burst, undefined) };
  } finally {
    await cache.end();
  }
}

/** One flow, as each of them handled it in each repetition. */
interface Compared {
  readonly ours: readonly Watched[];
  readonly bare: readonly Watched[];
  readonly stock: readonly Watched[];
}

/** Ours, and the peer's in the same words beside it. */
function row(
  what: string,
  unit: string,
  { ours, bare, stock }: Compared,
  value: (watched: Watched) => number,
): Row {
  return {
    what,
    values: ours.map(value),
    unit,
    limit: median(bare.map(value)),
    beside: `stock informer ${shown(median(stock.map(value)))} ${unit}`,
  };
}

const cpuShare = ({ cpuSeconds, seconds }: Watched) => (100 * cpuSeconds) / seconds;

function rowsOfFlow({ perSecond }: Flow, compared: Compared, isTarget: boolean): Row[] {
  const p99 = row('  p99', 'ms', compared, ({ p99Ms }) => p99Ms);
  const cpu = row('  CPU', '%', compared, cpuShare);
  return [
    row(`${shown(perSecond)} events/s: median latency`, 'ms', compared, ({ medianMs }) => medianMs),
    isTarget ? { ...p99, target: { atMost: 5 }, isOfMachine: true } : p99,
    isTarget ? { ...cpu, target: { atMost: 40 }, isOfMachine: true } : cpu,
  ];
}

function rowsOfBurst(events: number, compared: Compared): Row[] {
  return [
    row(`${shown(events)} events at once: until all are handled`, 's', compared, ({ seconds }) => seconds),
    row('  CPU for one', 'µs', compared, ({ cpuSeconds }) => (cpuSeconds * 1e6) / events),
  ];
}

export const watch: Benchmark = {
  id: 'B5',
  title: 'Watch of a cluster',
  workload:
    '10,000 objects of 1.4 KB; 1,000 and 5,000 events a second for ten seconds each, then 50,000 at once',
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const seconds = quick ? 1 : 10;
    const flows = [
      { perSecond: 1000, seconds },
      { perSecond: 5000, seconds },
    ];
    const [objects, burst] = quick ? [500, 1000] : [10_000, 50_000];
    const [ours, bare, stock]: [Run[], Run[], Run[]] = [[], [], []];
    const server = await ObjectServer.start(objects);
    try {
      for (let count = 0; count < repetitions; count += 1) {
        ours.push(await run(server, cacheKinds.ours, flows, burst));
        bare.push(await run(server, cacheKinds.bare, flows, burst));
        stock.push(await run(server, cacheKinds.stock, flows, burst));
      }
    } finally {
      await server.end();
    }
    const compared = (of: (one: Run) => readonly Watched[]): Compared => ({
      ours: ours.flatMap(of),
      bare: bare.flatMap(of),
      stock: stock.flatMap(of),
    });
    return [
      ...flows.flatMap((flow, index) =>
        rowsOfFlow(
          flow,
          compared((one) => one.flows.slice(index, index + 1)),
          index === 1,
        ),
      ),
      ...rowsOfBurst(
        burst,
        compared((one) => [one.burst]),
      ),
    ];
  },
};
