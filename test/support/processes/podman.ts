/** A podman service of its own: storage, networks and configuration in a temporary folder, nothing shared. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An image of the engine's own: anybody may use it, and it is never pulled. */
export const fixtureImage = 'localhost/fixture:1';

/**
 * The command of the image. Adds a line to its volume, and serves that: a start that happened twice would be seen.
 * PORT is where it listens (8080).
 */
const serve = `#!/bin/sh
mkdir -p /workspace/www
echo "start \${GREETING:-}" >> /workspace/www/index.html
echo "serving"
echo "complaining" >&2
trap 'echo "ending"; exit 0' TERM
httpd -f -p "\${PORT:-8080}" -h /workspace/www &
wait
`;

const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file));

/** Why no container can be run here, and what to do; undefined when one was run. */
export async function whatPodmanNeeds(): Promise<string | undefined> {
  const programs = { podman: 'podman', iptables: 'iptables', ...(isOldControlGroups() && { runc: 'runc' }) };
  const missing = [
    process.getuid?.() !== 0 && 'to be root',
    !busybox && 'busybox-static',
    ...(await Promise.all(
      Object.entries(programs).map(async ([program, name]) => !(await isInstalled(program)) && name),
    )),
  ].filter((name) => typeof name === 'string');
  if (missing.length > 0) {
    return `it needs ${missing.join(', ')}; as root on Debian: apt-get install podman runc iptables busybox-static`;
  }
  const podman = new Podman('localhost:1');
  try {
    await podman.importFixture();
    await podman.run('network', 'create', 'probe');
    await podman.run('run', '--rm', '--network', 'probe', fixtureImage, 'true');
    return undefined;
  } catch (error) {
    return `podman is installed, and can't run a container on this machine: ${String(error)}`;
  } finally {
    await podman[Symbol.asyncDispose]();
  }
}

async function isInstalled(program: string): Promise<boolean> {
  try {
    await run('sh', ['-c', `command -v ${program}`], {
      env: { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
    });
    return true;
  } catch {
    return false;
  }
}

/** Version 1 of control groups, which crun and systemd's manager can't be relied on to serve. */
function isOldControlGroups(): boolean {
  return !existsSync('/sys/fs/cgroup/cgroup.controllers');
}

export class Podman implements AsyncDisposable {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-podman-'));
  #service: ChildProcess | undefined;

  /** `insecureRegistry`: HOST:PORT of one that speaks plain HTTP. */
  constructor(insecureRegistry: string) {
    writeFileSync(
      this.#path('containers.conf'),
      '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]\n',
    );
    writeFileSync(
      this.#path('registries.conf'),
      `unqualified-search-registries = []\n[[registry]]\nlocation = "${insecureRegistry}"\ninsecure = true\n`,
    );
  }

  get socket(): string {
    return this.#path('podman.sock');
  }

  /** Its service, unless it runs already. */
  async start(): Promise<void> {
    if (this.#service) return;
    const [program = '', ...args] = this.#command('system', 'service', '--time=0', `unix://${this.socket}`);
    const service = spawn(program, args, { ...this.#place, stdio: 'ignore' });
    this.#service = service;
    while (!(await answers(this.socket))) {
      if (service.exitCode !== null) throw new Error(`podman's service ended with ${service.exitCode}`);
      await delay(50);
    }
  }

  async stop(): Promise<void> {
    const service = this.#service;
    if (!service) return;
    this.#service = undefined;
    const ended = once(service, 'close');
    service.kill('SIGTERM');
    await ended;
    rmSync(this.socket, { force: true });
  }

  /** A program that is its command line, for who wants to call podman by itself. */
  program(): string {
    const file = this.#path('podman');
    const exports = Object.entries(this.#place.env).map(([name, value]) => `export ${name}='${value}'\n`);
    const script = `cd '${this.#folder}'\nexec ${this.#command().join(' ')} "$@"\n`;
    writeFileSync(file, ['#!/bin/sh\n', ...exports, script].join(''), { mode: 0o755 });
    return file;
  }

  /** The command line; its output without the last line end. */
  async run(...args: string[]): Promise<string> {
    const [program = '', ...all] = this.#command(...args);
    const { stdout } = await run(program, all, this.#place);
    return stdout.trimEnd();
  }

  async lines(...args: string[]): Promise<string[]> {
    return (await this.run(...args)).split('\n').filter(Boolean);
  }

  /** A tar of the root of the fixture's file system. */
  async fixtureTar(): Promise<string> {
    const root = this.#path('fixture');
    const tar = `${root}.tar`;
    if (existsSync(tar)) return tar;
    mkdirSync(path.join(root, 'bin'), { recursive: true });
    mkdirSync(path.join(root, 'tmp'));
    copyFileSync(busybox ?? '', path.join(root, 'bin/busybox'));
    const applets =
      'cat cut dd echo env grep head hostname httpd id kill ls mkdir nc ps sh sleep tail tr true wc yes';
    for (const applet of applets.split(' ')) symlinkSync('busybox', path.join(root, 'bin', applet));
    writeFileSync(path.join(root, 'bin/serve'), serve, { mode: 0o755 });
    await run('tar', ['-C', root, '-cf', tar, '.']);
    return tar;
  }

  async importFixture(): Promise<void> {
    await this.run('import', '--change', 'CMD ["serve"]', await this.fixtureTar(), fixtureImage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run('rm', '--all', '--force', '--time', '0');
    await this.run('network', 'prune', '--force');
    await this.stop();
    // A podman that was killed leaves this mounted.
    await run('umount', ['--quiet', this.#path('root/overlay')]).catch(() => undefined);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #path(name: string): string {
    return path.join(this.#folder, name);
  }

  /** Its folder, because conmon leaves a file where it is; and its environment. */
  get #place(): { cwd: string; env: Record<string, string> } {
    const env = {
      PATH: `${process.env['PATH']}:/usr/sbin:/sbin`,
      HOME: this.#folder,
      CONTAINERS_CONF: this.#path('containers.conf'),
      CONTAINERS_REGISTRIES_CONF: this.#path('registries.conf'),
    };
    return { cwd: this.#folder, env };
  }

  #command(...args: string[]): string[] {
    const groups = isOldControlGroups() ? ['--runtime', 'runc'] : [];
    return [
      ['podman', ...groups, '--cgroup-manager', 'cgroupfs', '--root', this.#path('root')],
      ['--runroot', this.#path('runroot'), '--tmpdir', this.#path('tmp')],
      ['--network-config-dir', this.#path('networks'), ...args],
    ].flat();
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping' }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.on('error', () => resolve(false));
    ping.end();
  });
}
