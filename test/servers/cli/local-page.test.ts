/** The page of `dev`, `demo` and `run --listen`: where it is, that it is opened, and that it shows the fleet. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CommandLine, run } from '../../unit/cli/support.ts';
import { freePort } from '../api/support.ts';

const documents = `apiVersion: fleetkeeper.dev/v1alpha1
kind: StorageVolume
metadata: {name: data}
spec: {region: standard, sizeGb: 10}
`;

async function folderWith(text: string): Promise<string> {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'fleetkeeper-page-')), 'shop');
  onTestFinished(() => rmSync(path.dirname(folder), { recursive: true, force: true }));
  expect((await run(['init', folder, '--simulated'])).code).toBe(0);
  writeFileSync(path.join(folder, 'web.yaml'), text);
  return folder;
}

const desktopOf = (opened: string[]) => ({
  platform: 'linux',
  launch: (file: string, args: readonly string[]) => void opened.push(`${file} ${args.join(' ')}`),
});
const onDisplay = { DISPLAY: ':0', TERM: 'dumb' };

async function pageOf(line: CommandLine): Promise<string> {
  await line.shows('/\n');
  const [, url = ''] = /^page: (http:\/\/127\.0\.0\.1:\d+\/)$/m.exec(line.stdout) ?? [];
  expect(url).not.toBe('');
  return url;
}

test('`dev` serves its page on loopback, opens it on a terminal, and serves it there again the next time', async () => {
  const folder = await folderWith(documents);
  const opened: string[] = [];
  const options = { terminal: true, environment: onDisplay, desktop: desktopOf(opened) };
  const dev = new CommandLine(['dev', folder], options);
  const page = await pageOf(dev);
  expect(opened).toEqual([`xdg-open ${page}`]);
  expect((await fetch(page)).headers.get('content-type')).toContain('text/html');
  await dev.shows('StorageVolume/default/data: ');
  const summary = await (await fetch(`${page}api/v1/summary`)).json();
  expect(summary).toMatchObject({ place: 'folder', manager: { state: 'Running' } });
  // A name that somebody else gave this machine.
  const status = await new Promise((resolve) => {
    request(page, { headers: { host: 'rebound.example' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
  });
  expect(status).toBe(421);
  dev.stop();
  expect(await dev.ended).toBe(0);
  await expect(fetch(page)).rejects.toThrow('fetch failed');
  const again = new CommandLine(['dev', folder, '--no-open'], options);
  expect(await pageOf(again)).toBe(page);
  again.stop();
  expect(await again.ended).toBe(0);
  expect(opened).toHaveLength(1);
});

test('`demo` prints the address of its page first, and opens nothing without a terminal', async () => {
  const opened: string[] = [];
  const demo = new CommandLine(['demo'], { environment: onDisplay, desktop: desktopOf(opened) });
  const page = await pageOf(demo);
  expect(demo.stdout.startsWith(`page: ${page}\n`)).toBe(true);
  await demo.shows('volume/models');
  const list = async () => JSON.stringify(await (await fetch(`${page}api/v1/objects?limit=200`)).json());
  await expect.poll(list).toContain('StorageVolume/default/models');
  demo.stop();
  await demo.ended;
  expect(opened).toEqual([]);
});

test('`demo --open` opens its page', async () => {
  const opened: string[] = [];
  const demo = new CommandLine(['demo', '--open'], { environment: onDisplay, desktop: desktopOf(opened) });
  expect([`xdg-open ${await pageOf(demo)}`]).toEqual(opened);
  demo.stop();
  await demo.ended;
});

test('`run --listen` prints where its page is, where it has one', async () => {
  const folder = await folderWith(documents);
  const here = new CommandLine(['run', folder, '--listen', '127.0.0.1:0', '--log-level', 'silent'], {});
  const page = await pageOf(here);
  expect(here.stdout).toBe(`listening on ${page.slice(0, -1)}\npage: ${page}\n`);
  here.stop();
  expect(await here.ended).toBe(0);
  const port = await freePort();
  const everywhere = new CommandLine(
    ['run', folder, '--listen', `0.0.0.0:${port}`, '--log-level', 'silent'],
    {},
  );
  await everywhere.shows('listening on');
  everywhere.stop();
  expect(await everywhere.ended).toBe(0);
  expect(everywhere.stdout).not.toContain('page:');
});
