/** The first minute of somebody who has Node, the packed file and podman: from an empty folder to containers that answer, and back. */
import { execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { page } from '../../support/processes/container-world.ts';
import { type Engine } from '../../support/processes/docker-world.ts';
import { fixtureImage } from '../../support/processes/podman.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const execute = promisify(execFile);

interface Done {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The package, installed alone in an empty folder, with nothing but the engine's socket in its environment. */
class Newcomer {
  readonly folder: string;
  readonly #environment: Record<string, string>;
  readonly #times: string[] = [];

  private constructor(folder: string, { podman }: Engine) {
    this.folder = folder;
    this.#environment = {
      PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: folder,
      DOCKER_HOST: `unix://${podman.socket}`,
    };
  }

  static async withPackage(engine: Engine): Promise<Newcomer> {
    const folder = await temporaryFolder();
    const { stdout } = await execute('npm', ['pack', '--json', `--pack-destination=${folder}`], {
      cwd: root,
    });
    const [packed] = JSON.parse(stdout) as { filename: string }[];
    const file = path.join(folder, String(packed?.filename));
    await execute('npm', ['install', '--offline', '--no-audit', '--no-fund', '--prefix', folder, file]);
    return new Newcomer(folder, engine);
  }

  get #command(): string[] {
    return [process.execPath, path.join(this.folder, 'node_modules/.bin/fleetkeeper')];
  }

  async run(...args: string[]): Promise<Done> {
    const from = performance.now();
    const [node = '', ...command] = this.#command;
    const place = { cwd: this.folder, env: this.#environment };
    const done = await execute(node, [...command, ...args], place).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Done) => error,
    );
    this.#times.push(`${args[0]} ${((performance.now() - from) / 1000).toFixed(1)} s`);
    return done;
  }

  /** Until the end of the test at the latest. */
  start(...args: string[]) {
    const [node = '', ...command] = this.#command;
    const child = spawn(node, [...command, ...args], { cwd: this.folder, env: this.#environment });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', resolve);
    });
    let stdout = '';
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (stdout += String(chunk)));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    return {
      ended,
      interrupt: () => child.kill('SIGINT'),
      kill: () => child.kill('SIGKILL'),
      output: () => stdout,
      shows: (text: string) => eventually(text, async () => stdout.includes(text)),
    };
  }

  reportTimes(): void {
    process.stderr.write(`\nthe first minute: ${this.#times.join(', ')}\n`);
  }
}

export function testFirstMinute(engine: () => Engine): void {
  describe('with the packed file and podman alone', () => {
    test('a folder is made, applied, watched, kept by dev, and removed again', async () => {
      const { podman } = engine();
      const me = await Newcomer.withPackage(engine());
      const containers = () => podman.lines('ps', '--format', '{{.Image}}');
      const made = await me.run('init', 'shop', '--docker', '--image', fixtureImage, '--port', '8080');
      expect(made).toMatchObject({ code: 0, stderr: '' });
      const source = ['--source', 'shop'];
      expect((await me.run('plan', 'shop')).code).toBe(2);
      const applied = await me.run('apply', '--yes', ...source);
      expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/web +running +True/) });
      expect(await containers()).toEqual([fixtureImage]);
      const endpoint = (await me.run('open', 'web', ...source)).stdout.trim();
      expect(await page({ endpoint })).toContain('start');
      expect((await me.run('plan', ...source)).code).toBe(0);
      expect((await me.run('logs', 'web', ...source)).stdout).toContain('serving');
      expect((await me.run('exec', 'web', ...source, '--', 'echo', 'hello')).stdout).toBe('hello\n');

      const dev = me.start('dev', ...source);
      await dev.shows('ContainerService/default/web: Running');
      const document = path.join(me.folder, 'shop/web.yaml');
      const text = readFileSync(document, 'utf8');
      writeFileSync(document, text.replace(/ {2}# env:\n {2}#( .*)\n/, '  env:\n   $1\n'));
      await eventually('the new environment', async () => {
        const { stdout } = await me.run('exec', 'web', ...source, '--', 'env');
        return stdout.includes('GREETING=hello');
      });
      const beside = await me.run('apply', 'shop', '--yes');
      expect([beside.code, beside.stderr]).toEqual([
        1,
        expect.stringMatching(/fleetkeeper dev.*\n.*notices edits/),
      ]);
      dev.kill();
      await dev.ended;
      expect(await containers()).toEqual([fixtureImage]);
      expect((await me.run('plan', 'shop')).code).toBe(0);

      expect((await me.run('destroy', 'shop', '--yes')).code).toBe(0);
      expect(await podman.lines('ps', '--all', '--format', '{{.Image}}')).toEqual([]);
      me.reportTimes();

      writeFileSync(document, text.replace(fixtureImage, 'localhost/there-is-none:1'));
      const failed = await me.run('apply', 'shop', '--yes');
      const logFile = 'shop/.fleetkeeper/dev/control-plane.log';
      expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(logFile)]);
      expect(readFileSync(path.join(me.folder, logFile), 'utf8')).toContain('there-is-none');
      expect((await me.run('destroy', 'shop', '--yes')).code).toBe(0);
    });

    test('the fleet of examples/real is made, answers, and its worker keeps its volume', async () => {
      const { podman } = engine();
      const me = await Newcomer.withPackage(engine());
      cpSync(path.join(root, 'examples/real'), path.join(me.folder, 'real'), { recursive: true });
      rmSync(path.join(me.folder, 'real/.fleetkeeper'), { recursive: true, force: true });
      const environment = { ENGINE: podman.program(), PATH: process.env['PATH'] };
      await execute('sh', [path.join(root, 'examples/real/images.sh')], { env: environment });
      const source = ['--source', 'real/fleet'];
      const dev = me.start('dev', 'real/fleet');
      await dev.shows('ContainerService/default/worker: Running');
      await dev.shows('ContainerService/default/web: Running');
      const endpoint = (await me.run('open', 'web', ...source)).stdout.trim();
      expect(await page({ endpoint })).toContain('Hello from web');
      await eventually('work in the volume', async () => {
        const { stdout } = await me.run('exec', 'worker', ...source, '--', 'cat', '/workspace/done');
        return stdout.includes('job 1');
      });
      dev.interrupt();
      expect(await dev.ended).toBe(0);
      expect((await podman.lines('ps', '--format', '{{.Image}}')).sort()).toEqual([
        'localhost/fleetkeeper-web:1',
        'localhost/fleetkeeper-worker:1',
      ]);
    });
  });
}
