/** Chromium for B13: first paints, pages that stay open, and one that is used for minutes. */
import { existsSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core';
import { fleetName, markedKey } from './page-server.ts';

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
);

/** What ten people look at. */
export const views = [
  '#/',
  '#/objects',
  '#/objects?sort=name&q=service-7',
  '#/objects?health=Waiting',
  `#/objects/${markedKey}`,
  '#/tree?account=team-1/default',
  `#/fleets/${fleetName}`,
  '#/money',
  '#/accounts',
  '#/timeline',
] as const;

export interface FirstPaint {
  /** Until the browser has painted something, and until the first problem is there. */
  readonly paintMs: number;
  readonly contentMs: number;
  /** As they came over the wire, until then. */
  readonly bytes: number;
}

export interface HeapSample {
  readonly minute: number;
  readonly heapMb: number;
  readonly nodes: number;
  readonly listeners: number;
}

export class PageBrowser {
  readonly #browser: Browser;
  readonly #url: string;

  private constructor(browser: Browser, url: string) {
    this.#browser = browser;
    this.#url = url;
  }

  static async start(url: string): Promise<PageBrowser> {
    if (!program) throw new Error('B13 needs Chromium; on Debian: apt-get install chromium');
    const args = ['--no-sandbox', '--headless=new'];
    return new PageBrowser(await chromium.launch({ executablePath: program, args }), url);
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }

  /** Each in a context of its own, which has its own cache and connections. */
  async open(view: string): Promise<Page> {
    const context = await this.#browser.newContext({ timezoneId: 'UTC' });
    const page = await context.newPage();
    await page.goto(`${this.#url}/${view}`);
    await page.locator('h1').first().waitFor();
    return page;
  }

  async firstPaint(): Promise<FirstPaint> {
    const context = await this.#browser.newContext({ timezoneId: 'UTC' });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    // As they came over the wire; of a stream, which does not end, as they are.
    const bytes = new Map<string, number>();
    session.on('Network.dataReceived', ({ requestId, dataLength }) => {
      bytes.set(requestId, (bytes.get(requestId) ?? 0) + dataLength);
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      bytes.set(requestId, encodedDataLength);
    });
    const startedMs = performance.now();
    await page.goto(`${this.#url}/#/`, { waitUntil: 'commit' });
    await page.locator('article').first().waitFor();
    const contentMs = performance.now() - startedMs;
    const seen = [...bytes.values()].reduce((sum, each) => sum + each, 0);
    const paintMs = await page.evaluate<number>(
      'performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN',
    );
    await context.close();
    return { paintMs, contentMs, bytes: seen };
  }
}

/** Milliseconds from `change`, which resolves with the time (Unix milliseconds) at which it was made, until the page shows the text. */
export async function visibleAfter(page: Page, text: string, change: () => Promise<number>): Promise<number> {
  // The page notes the time itself, so that a busy driver does not count.
  const shown = page.evaluate<number>(
    `new Promise((resolve) => {
      const look = () => document.body.textContent.includes(${JSON.stringify(text)})
        ? resolve(Date.now())
        : requestAnimationFrame(look);
      look();
    })`,
  );
  const madeAt = await change();
  return (await shown) - madeAt;
}

/** One page goes through all views again and again, and scrolls; each minute its heap is measured after its garbage is collected. */
export async function used(
  page: Page,
  minutes: number,
  samples: number,
  onSample: (sample: HeapSample) => void,
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const startedMs = performance.now();
  const everyMs = (minutes * 60_000) / samples;
  let round = 0;
  for (let taken = 0; taken < samples; taken += 1) {
    const untilMs = startedMs + (taken + 1) * everyMs;
    while (performance.now() < untilMs) {
      await use(page, views[round % views.length] ?? '#/');
      round += 1;
    }
    onSample(await heapOf(session, (performance.now() - startedMs) / 60_000));
  }
}

async function use(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view.slice(1))}`);
  await page.locator('h1').first().waitFor();
  await page.mouse.wheel(0, 2000);
  await page.waitForTimeout(700);
  await page.mouse.wheel(0, -1000);
  await page.waitForTimeout(300);
}

async function heapOf(session: CDPSession, minute: number): Promise<HeapSample> {
  for (let times = 0; times < 2; times += 1) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN;
  return {
    minute,
    heapMb: of('JSHeapUsedSize') / 1e6,
    nodes: of('Nodes'),
    listeners: of('JSEventListeners'),
  };
}
