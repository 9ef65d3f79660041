/** Chromium of the machine, driven as a person would. Nothing is downloaded. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { afterAll, onTestFinished, test } from 'vitest';

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
);

/** Set by `.ci/run` where it could install one: then its lack is a failure. */
export const withoutBrowser =
  program === undefined && process.env['FLEETKEEPER_REQUIRE_CHROMIUM'] === undefined;

// oxlint-disable-next-line vitest/no-disabled-tests, vitest/valid-title, vitest/expect-expect -- it makes one
export const testInBrowser = test.skipIf(withoutBrowser);

let browser: Promise<Browser> | undefined;

/** One for all tests of a file. */
export function useBrowser(): void {
  afterAll(async () => {
    await (await browser)?.close();
    browser = undefined;
  });
}

/** A page, and all that the browser complains of while it is open: refused content, errors, failed requests for files. */
export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
}

export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  if (!program) throw new Error('there is no Chromium; on Debian: apt-get install chromium');
  browser ??= chromium.launch({ executablePath: program, args: ['--no-sandbox', '--headless=new'] });
  const context = await (await browser).newContext({ timezoneId: 'UTC', ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, context, complaints };
}

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly node: string;
}

/** Findings that are serious or critical, each with the first element that has it. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // The policy of the page lets no script in, so it is run by the debugger.
  await page.evaluate(axe.source);
  const found = await page.evaluate<readonly Finding[]>(
    'axe.run(document).then(({violations}) => violations.map(({id, impact, nodes}) => ({id, impact, node: nodes[0]?.html ?? ""})))',
  );
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, node }) => `${id}: ${node}`);
}
