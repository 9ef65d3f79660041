import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { launch, type Program, temporaryFolder } from '../support/processes/processes.ts';

const accounts = 'accounts: [{name: acme, email: a@b.example, apiKeys: [key-of-acme]}]';

/** A control plane with this configuration. */
async function start(config: string, ...flags: string[]): Promise<Program> {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, 'accounts.yaml'), accounts);
  await writeFile(path.join(folder, 'config.yaml'), config);
  const files = [
    '--accounts',
    path.join(folder, 'accounts.yaml'),
    '--config',
    path.join(folder, 'config.yaml'),
  ];
  const addresses = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  return launch(['control-plane', '--database', ':memory:', ...addresses, ...files, ...flags]);
}

test('a control plane offers what its configuration says, and shows metrics of it and of its process', async () => {
  const program = await start('regions: [{name: edge, geographies: [{name: attic, gpus: {l4: 2}}]}]');
  const [, url = ''] = await program.line(/^listening on (.*)$/);
  const [, admin = ''] = await program.line(/^admin on (.*)$/);
  const catalog = await (await fetch(`${url}/api/catalog`)).json();
  expect(catalog).toMatchObject({ regions: [{ name: 'edge', geographies: ['attic'] }] });
  const metrics = await (await fetch(`${admin}/metrics`)).text();
  expect(metrics).toContain('fleetkeeper_control_plane_gpus{region="edge",geography="attic",model="l4"} 2');
  expect(metrics).toMatch(/^process_cpu_seconds_total /m);
  const [, page = ''] = await program.line(/^page: (.*)$/);
  expect(page).toBe(`${admin}/`);
  const files = ['', 'page/control-plane.js', 'page/style.css', 'page/icon.svg', 'page/main.js'];
  const statuses = await Promise.all(files.map(async (file) => (await fetch(page + file)).status));
  expect(statuses).toEqual([200, 200, 200, 200, 404]);
});

test('a mistake in the configuration is told with file, line and path', async () => {
  const program = await start('browserEnabled: true\nmetricsEnabled: perhaps\n');
  const { code, stdout, stderr } = await program.finished();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^error: .*config\.yaml:2: metricsEnabled: .*boolean/);
});

test('browser sessions have a listener of their own, if the configuration offers them', async () => {
  const program = await start('browserEnabled: true', '--browser-listen', '127.0.0.1:0');
  const [, url = ''] = await program.line(/^browser sessions on (.*)$/);
  const answer = await fetch(`${url}/s/${'a'.repeat(43)}/`);
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('no browser session')]);
  expect(await program.kill('SIGTERM')).toMatchObject({ code: 0, stderr: '' });

  const { code, stderr } = await (await start('', '--browser-listen', '127.0.0.1:0')).finished();
  expect([code, stderr]).toEqual([1, expect.stringContaining('browserEnabled: true')]);
});

test('a client that holds a connection open does not hold the process', async () => {
  const program = await start('');
  const [, url = ''] = await program.line(/^listening on (.*)$/);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /api/account HTTP/1.1\r\nHost: h\r\n');
  expect(await program.kill('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
});
