/**
 * Pictures of the page, from a real run: the example fleet with a colleague's change, a broken document, a training run without GPUs to be
 * had, and a rollout that waits for a protected task. It takes six minutes.
 *
 *     npm run docs:pages [-- FOLDER]     every view into FOLDER, light and dark, 1280 and 360 px wide; those of the README into docs/
 *
 * It needs Chromium (Debian: chromium).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, type Browser } from 'playwright-core';
import type { Summary } from '../../src/page/shapes.ts';

const root = path.join(import.meta.dirname, '../..');
const main = path.join(root, 'src/main.ts');
const chosen = process.argv[2];

/** Of the README. */
const shown = new Map([
  ['problems', 'page-problems'],
  ['fleet', 'page-fleet'],
]);

type View = readonly [name: string, hash: string, text: string];

const views: readonly View[] = [
  ['problems', '#/', 'CapacityUnavailable'],
  ['tree', '#/tree', 'checkout'],
  ['objects', '#/objects', 'search'],
  ['object', '#/objects/ContainerService/default/trainer', 'Waits since'],
  ['fleet', '#/fleets/default/checkout', 'Rollout'],
  ['money', '#/money', 'Most expensive'],
  ['accounts', '#/accounts', 'Requests'],
  ['timeline', '#/timeline', 'create-service'],
  ['budget', '#/objects/Budget/default/fleet', 'Conditions'],
  ['money-by-label', '#/money?by=label%3Dteam', 'By label team'],
  ['missing', '#/objects/ContainerService/default/nothing', 'does not exist'],
];

/** Of the control plane. */
const planeViews: readonly View[] = [
  ['plane-accounts', '#/', 'Without funds'],
  ['plane-account', '#/account?name=corner-shop', 'Quotas'],
  ['plane-services', '#/services', 'storefront'],
  ['plane-volumes', '#/volumes', 'attached to'],
  ['plane-ledger', '#/ledger?account=corner-shop', 'compute of'],
  ['plane-faults', '#/faults', 'There is nothing here'],
  ['plane-capacity', '#/capacity', 'h100'],
];

const trainer = `apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: trainer, labels: {team: search}}
spec:
  region: standard
  geography: europe
  image: ghcr.io/corner-shop/trainer:3.1
  resources: {gpuCount: 8, cpu: 64, memoryGb: 512}
`;
const broken = `apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: preview}
spec: {region: standard, image: ghcr.io/corner-shop/preview:1, resources: {cpu: -1, memoryGb: 2}}
`;
const task = `apiVersion: fleetkeeper.dev/v1alpha1
kind: ProtectedTask
metadata: {name: settle-payments}
spec: {serviceRef: {name: checkout-2}}
`;
const config = `regions:
  - name: standard
    geographies:
      - {name: europe, gpus: {h100: 4}}
    prices: {gpuHourMicros: 900000, cpuHourMicros: 12000, memoryGbHourMicros: 1500, storageGbHourMicros: 140}
  - name: economy
    geographies:
      - {name: europe, gpus: {l4: 100}}
    prices: {gpuHourMicros: 400000, cpuHourMicros: 6000, memoryGbHourMicros: 800, storageGbHourMicros: 100}
`;

const children: ChildProcess[] = [];

interface Started {
  readonly url: string;
  /** Of its page, without the slash at the end. */
  readonly page: string;
}

/** Returns the addresses on its first lines. */
async function start(cwd: string, ...args: string[]): Promise<Started> {
  const child = spawn(process.execPath, [main, ...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let url = '';
  for await (const line of createInterface({ input: child.stdout })) {
    url = /^listening on (\S+)$/.exec(line)?.[1] ?? url;
    const [, page] = /^page: (\S+)\/$/.exec(line) ?? [];
    if (page !== undefined) return { url, page };
  }
  throw new Error(`${args[0]} ended before it listened`);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries += 1) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`not within some minutes: ${what}`);
}

/** Returns the pages of the manager and of the control plane. */
async function prepare(folder: string): Promise<{ readonly page: string; readonly planePage: string }> {
  const fleet = path.join(folder, 'fleet');
  cpSync(path.join(root, 'examples/fleet'), fleet, { recursive: true });
  writeFileSync(path.join(folder, 'config.yaml'), config);
  const accounts = path.join(root, 'examples/control-plane/accounts.yaml');
  const flags = [
    '--database',
    ':memory:',
    '--accounts',
    accounts,
    '--config',
    path.join(folder, 'config.yaml'),
  ];
  const plane = await start(
    folder,
    'control-plane',
    '--listen',
    '127.0.0.1:0',
    '--admin-listen',
    '127.0.0.1:0',
    '--time-scale',
    '20',
    ...flags,
  );
  edit(fleet, 'account.yaml', 'http://127.0.0.1:8787', plane.url);
  const { url, page } = await start(
    folder,
    'run',
    'fleet',
    '--listen',
    '127.0.0.1:0',
    '--log-level',
    'error',
  );
  const summary = async () => (await (await fetch(`${url}/api/v1/summary`)).json()) as Summary;
  await until('a healthy fleet', async () => {
    const { health, objects } = await summary();
    return objects > 15 && health.Healthy === objects;
  });
  writeFileSync(path.join(fleet, 'task.yaml'), task);
  const stateOf = async (key: string) => {
    const answer = await fetch(`${url}/api/v1/objects/${key}`);
    return ((await answer.json()) as { object: { health: string; reason: string } }).object;
  };
  await until(
    'a task',
    async () => (await stateOf('ProtectedTask/default/settle-payments')).health === 'Healthy',
  );
  writeFileSync(path.join(fleet, 'trainer.yaml'), trainer);
  writeFileSync(path.join(fleet, 'preview.yaml'), broken);
  edit(fleet, 'checkout.yaml', 'checkout:5.2', 'checkout:5.3');
  await until(
    'no capacity',
    async () => (await stateOf('ContainerService/default/trainer')).reason === 'CapacityUnavailable',
  );
  await until('a replica that waits for its task', async () => {
    const { object } = (await (await fetch(`${url}/api/v1/fleets/default/checkout`)).json()) as {
      object: { health: string };
    };
    return object.health !== 'Healthy';
  });
  // What is the provider's turn becomes a problem after five minutes.
  await until('a wait for capacity that lasts', async () =>
    (await summary()).problems.first.some(({ reason }) => reason === 'CapacityUnavailable'),
  );
  return { page, planePage: plane.page };
}

function edit(folder: string, file: string, before: string, after: string): void {
  const name = path.join(folder, file);
  writeFileSync(name, readFileSync(name, 'utf8').replace(before, after));
}

async function take(
  browser: Browser,
  url: string,
  shownViews: readonly View[],
  colorScheme: 'light' | 'dark',
  width: number,
): Promise<void> {
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height: 800 },
    timezoneId: 'Europe/Madrid',
  });
  const page = await context.newPage();
  for (const [name, hash, text] of shownViews) {
    await page.goto(`${url}/${hash}`);
    await page.getByText(text).first().waitFor();
    await page.evaluate('document.fonts.ready.then(() => true)');
    const file = shown.get(name);
    if (file !== undefined && width > 1000)
      await page.screenshot({ path: path.join(root, `docs/${file}-${colorScheme}.png`) });
    if (chosen !== undefined)
      await page.screenshot({
        path: path.join(chosen, `${name}-${colorScheme}-${width}.png`),
        fullPage: true,
      });
  }
  await context.close();
}

const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-pages-'));
if (chosen !== undefined) mkdirSync(chosen, { recursive: true });
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--headless=new'] });
try {
  const { page, planePage } = await prepare(folder);
  for (const width of [1280, 360]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await take(browser, page, views, colorScheme, width);
      if (chosen !== undefined) await take(browser, planePage, planeViews, colorScheme, width);
    }
  }
} finally {
  await browser.close();
  for (const child of children) {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    child.kill();
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
