/** The unit of systemd: how hard it is, and that the manager reports to what listens at NOTIFY_SOCKET. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { eventually, launch, temporaryFolder } from '../support/processes/processes.ts';

const root = path.resolve(import.meta.dirname, '../..');
const unit = path.join(root, 'contrib/systemd/fleetkeeper.service');
const run = promisify(execFile);
const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const isWithoutSystemd = !has('systemd-notify', '--version') || !has('systemd-analyze', '--version');
/** A listener at a datagram socket of Unix, which Node has none of. */
const isWithoutPerl = !has('perl', '-MIO::Socket::UNIX', '-e', '1');
const needs = 'needs systemd and perl (Debian: systemd, perl-base)';

test.skipIf(isWithoutSystemd)('the unit exposes less than 2.0 of 10', async () => {
  const arguments_ = ['security', '--offline=true', '--threshold=20', '--no-pager', unit];
  // It fails above the threshold.
  const { stdout } = await run('systemd-analyze', arguments_);
  expect(stdout).toMatch(/Overall exposure level for fleetkeeper\.service: 1\.\d/);
});

test('the unit reads each variable that its environment file gives, and no key from it', async () => {
  const file = await readFile(path.join(root, 'contrib/systemd/fleetkeeper.env'), 'utf8');
  const names = [...file.matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  expect(names).toEqual(['FLEETKEEPER_API_URL', 'FLEETKEEPER_LISTEN']);
  expect(await readFile(unit, 'utf8')).toContain('LoadCredential=api-key:');
});

test.skipIf(isWithoutSystemd || isWithoutPerl)(
  `a manager reports that it is ready, lives and stops; ${needs}`,
  async () => {
    const folder = await temporaryFolder();
    const socket = path.join(folder, 'notify');
    const listener = `
      my $socket = IO::Socket::UNIX->new(Local => $ARGV[0], Type => SOCK_DGRAM) or die $!;
      $| = 1; print "listening\\n";
      while (1) { $socket->recv(my $message, 4096); $message =~ s/\\n/ /g; print "$message\\n"; }`;
    const perl = spawn('perl', ['-MIO::Socket::UNIX', '-MSocket', '-e', listener, socket]);
    onTestFinished(() => void perl.kill());
    let heard = '';
    perl.stdout.on('data', (chunk) => (heard += String(chunk)));
    await eventually('the listener', async () => heard.includes('listening'));

    const fleet = path.join(folder, 'fleet');
    await mkdir(fleet);
    await writeFile(path.join(fleet, 'note.txt'), 'no document yet');
    const state = path.join(folder, 'state.db');
    const manager = launch(['run', '--source', fleet, '--state', state], {
      NOTIFY_SOCKET: socket,
      WATCHDOG_USEC: '400000',
    });
    await eventually('READY=1', async () => /READY=1 STATUS=managing /.test(heard));
    await eventually('two signs of life', async () => heard.split('WATCHDOG=1').length > 2);

    expect((await manager.kill('SIGTERM')).code).toBe(0);
    await eventually('STOPPING=1', async () => heard.includes('STOPPING=1'));
  },
);
