/**
 * B13: what the page costs its server and its reader. A fleet of 10,000 objects of which 100 change each second; the built page in Chromium.
 *
 * | figure                | how it is measured                                                                              |
 * |-----------------------|-------------------------------------------------------------------------------------------------|
 * | first paint           | a new context: until the browser has painted, until the first problem is there; bytes until then |
 * | CPU of the server     | of its process, with ten open pages of ten views, less that without a page, by the time on the clock |
 * | visible after         | from the change of a record to the frame in which an open page shows it                         |
 * | heap                  | of one page that goes through all views and scrolls, each minute after its garbage is collected |
 *
 * By itself: `node bench/b13-page.ts [MINUTES OF HEAP, 10] [OBJECTS, 10000]`, after `npm run build`. It needs Chromium.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { loadavg } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import {
  PageBrowser,
  used,
  views,
  visibleAfter,
  type FirstPaint,
  type HeapSample,
} from './support/page-browser.ts';
import { markedKey, type PageUsage } from './support/page-server.ts';
import { answerOf, end } from './support/processes.ts';
import { median, shown, summarize, tableOf, type Row } from './support/report.ts';

interface Workload {
  readonly objects: number;
  readonly changesPerSecond: number;
  readonly pages: number;
  readonly minutes: number;
  /** Of CPU, without and with pages. */
  readonly seconds: number;
  readonly repetitions: number;
}

class PageServer {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(objects: number): Promise<PageServer> {
    const child = fork(path.join(import.meta.dirname, 'support/page-server.ts'), [String(objects)]);
    return new PageServer(child, (await answerOf(child)) as string);
  }

  async ask<Answer>(message: number | 'usage' | { readonly mark: string }): Promise<Answer> {
    this.#child.send(message);
    return (await answerOf(this.#child)) as Answer;
  }

  /** Percent of a core, over so many seconds. */
  async cpuPercent(seconds: number): Promise<number> {
    const before = await this.ask<PageUsage>('usage');
    await pause(seconds * 1000);
    const after = await this.ask<PageUsage>('usage');
    return ((after.cpuMs - before.cpuMs) / (after.atMs - before.atMs)) * 100;
  }

  stop(): Promise<void> {
    return end(this.#child);
  }
}

const pause = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });

async function measure(workload: Workload) {
  const { objects, changesPerSecond, pages, minutes, seconds, repetitions } = workload;
  const server = await PageServer.start(objects);
  const browser = await PageBrowser.start(server.url);
  try {
    await browser.firstPaint();
    await server.ask(changesPerSecond);
    const paints: FirstPaint[] = [];
    const cpu: { without: number; with: number }[] = [];
    const delays: number[] = [];
    const opened: Page[] = [];
    for (let round = 0; round < repetitions; round += 1) {
      paints.push(await browser.firstPaint());
      const without = await server.cpuPercent(seconds);
      for (let index = 0; index < pages; index += 1)
        opened.push(await browser.open(views[index % views.length] ?? '#/'));
      await pause(2000);
      cpu.push({ without, with: await server.cpuPercent(seconds) });
      delays.push(...(await delaysOf(server, browser, round)));
      for (const page of opened.splice(0)) await page.context().close();
    }
    const heaps: HeapSample[] = [];
    await used(await browser.open('#/'), minutes, Math.max(3, Math.round(minutes)), (sample) => {
      heaps.push(sample);
      const { minute, heapMb, nodes, listeners } = sample;
      process.stderr.write(
        `B13 heap after ${shown(minute)} min: ${shown(heapMb)} MB, ${nodes} nodes, ${listeners} listeners; load ${loadavg().map(shown).join(' ')}\n`,
      );
    });
    return { paints, cpu, delays, heaps };
  } finally {
    await browser.close();
    await server.stop();
  }
}

async function delaysOf(server: PageServer, browser: PageBrowser, round: number): Promise<number[]> {
  const page = await browser.open(`#/objects/${markedKey}`);
  const delays: number[] = [];
  for (let time = 0; time < 10; time += 1) {
    const region = `region-${round}-${time}-end`;
    delays.push(await visibleAfter(page, region, () => server.ask<number>({ mark: region })));
    // The next one comes at another moment between two events.
    await pause(130 + 70 * time);
  }
  await page.context().close();
  return delays;
}

/** MB per hour, by the line through the samples of the second half: at first, code is compiled and views are made. */
function growthPerHour(heaps: readonly HeapSample[]): number {
  const late = heaps.slice(Math.floor(heaps.length / 2));
  const meanMinute = late.reduce((sum, { minute }) => sum + minute, 0) / late.length;
  const meanMb = late.reduce((sum, { heapMb }) => sum + heapMb, 0) / late.length;
  const [over, under] = late.reduce(
    ([products, squares], { minute, heapMb }) => [
      products + (minute - meanMinute) * (heapMb - meanMb),
      squares + (minute - meanMinute) ** 2,
    ],
    [0, 0],
  );
  return under === 0 ? 0 : (over / under) * 60;
}

async function rowsOf(workload: Workload): Promise<Row[]> {
  const { paints, cpu, delays, heaps } = await measure(workload);
  const last = heaps.at(-1);
  const growth = growthPerHour(heaps);
  const afterHour =
    (last?.heapMb ?? Number.NaN) + Math.max(0, growth) * Math.max(0, 1 - workload.minutes / 60);
  return [
    {
      what: 'first paint',
      values: paints.map(({ paintMs }) => paintMs / 1000),
      unit: 's',
      target: { atMost: 1 },
      isOfMachine: true,
    },
    {
      what: 'first problem shown',
      values: paints.map(({ contentMs }) => contentMs / 1000),
      unit: 's',
      target: { atMost: 1 },
      isOfMachine: true,
    },
    {
      what: 'bytes until then',
      values: paints.map(({ bytes }) => bytes / 1000),
      unit: 'KB',
      target: { atMost: 100 },
    },
    {
      what: `server CPU of ${workload.pages} pages`,
      values: cpu.map((each) => each.with - each.without),
      unit: '% of a core',
      target: { atMost: 2 },
      isOfMachine: true,
      beside: `with ${shown(median(cpu.map((each) => each.with)))} %, without ${shown(median(cpu.map(({ without }) => without)))} %`,
    },
    {
      what: 'a change is visible after',
      values: delays.map((ms) => ms / 1000),
      unit: 's',
      target: { atMost: 2 },
      isOfMachine: true,
      beside: `at most ${shown(Math.max(...delays) / 1000)} s`,
    },
    {
      what: `browser heap after ${shown(workload.minutes)} min`,
      values: heaps.map(({ heapMb }) => heapMb),
      unit: 'MB',
      target: { atMost: 100 },
      beside: `last ${shown(last?.heapMb ?? Number.NaN)} MB, ${last?.nodes} nodes; the second half grows by ${shown(growth)} MB an hour: ${shown(afterHour)} MB after one`,
    },
  ];
}

const full: Omit<Workload, 'repetitions'> = {
  objects: 10_000,
  changesPerSecond: 100,
  pages: 10,
  minutes: 10,
  seconds: 30,
};

export const page: Benchmark = {
  id: 'B13',
  title: 'The page',
  workload: '10,000 objects, 100 changes a second; ten pages in Chromium; one is used for ten minutes',
  repetitions: 3,
  run: ({ repetitions, quick }: BenchmarkOptions) =>
    rowsOf(
      quick ? { ...full, objects: 500, minutes: 0.1, seconds: 2, repetitions } : { ...full, repetitions },
    ),
};

if (process.argv[1] === import.meta.filename) {
  const [minutes = full.minutes, objects = full.objects, seconds = full.seconds] = process.argv
    .slice(2)
    .map(Number);
  const rows = await rowsOf({ ...full, minutes, objects, seconds, repetitions: 3 });
  process.stdout.write(`load average ${loadavg().map(shown).join(' ')}\n${tableOf(rows.map(summarize))}\n`);
}
