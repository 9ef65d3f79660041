/**
 * The image of the Dockerfile, built by podman without a registry: the commands of its build stage run here, in a copy of
 * what .dockerignore lets in, with the installed packages in the place of `npm ci`; what is pulled otherwise
 * (Node, and a base with its libraries and nothing else) is put together from this machine.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Podman } from './podman.ts';

const run = promisify(execFile);

const root = path.resolve(import.meta.dirname, '../../..');
const base = 'gcr.io/distroless/cc-debian12:nonroot';
const tag = 'localhost/fleetkeeper:test';

/** As a cluster with the Pod Security profile "restricted" runs it, and without a network. */
const confined = [
  ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL'],
  ['--security-opt', 'no-new-privileges', '--network', 'none'],
].flat();

export class Image implements AsyncDisposable {
  readonly #podman = new Podman('localhost:1');
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-image-'));

  async build(): Promise<void> {
    await Promise.all([this.#importBase(), this.#runBuildStage()]);
    const node = this.#path('node/usr/local/bin');
    mkdirSync(node, { recursive: true });
    copyFileSync(process.execPath, path.join(node, 'node'));
    const contexts = ['node', 'build'].flatMap((stage) => [
      '--build-context',
      `${stage}=${this.#path(stage)}`,
    ]);
    const options = ['--layers=false', '--pull=never', '--network', 'none', '--tag', tag];
    await this.#podman.run('build', ...options, ...contexts, '--file', path.join(root, 'Dockerfile'), root);
  }

  /** Its stdout; rejects unless it exits with 0. */
  fleetkeeper(...args: string[]): Promise<string> {
    return this.#podman.run('run', ...confined, tag, ...args);
  }

  /** With another program of the image instead; rejects unless it exits with 0. */
  program(name: string, ...args: string[]): Promise<string> {
    return this.#podman.run('run', ...confined, '--entrypoint', name, tag, ...args);
  }

  /** As a pod of a cluster whose API does not answer. */
  async startInPod(args: readonly string[], environment: readonly string[]): Promise<Pod> {
    const account = this.#path('serviceaccount');
    mkdirSync(account);
    for (const name of ['token', 'ca.crt', 'namespace']) writeFileSync(path.join(account, name), `a-${name}`);
    const variables = ['KUBERNETES_SERVICE_HOST=127.0.0.1', 'KUBERNETES_SERVICE_PORT=1', ...environment];
    const volume = `${account}:/var/run/secrets/kubernetes.io/serviceaccount:ro`;
    const options = [...variables.flatMap((each) => ['--env', each]), '--volume', volume, '--tmpfs', '/tmp'];
    const id = await this.#podman.run('run', '--detach', ...confined, ...options, tag, ...args);
    return new Pod(this.#podman, id);
  }

  async inspect(): Promise<unknown> {
    const [image] = JSON.parse(await this.#podman.run('image', 'inspect', tag)) as unknown[];
    return image;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#podman[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #importBase(): Promise<void> {
    const folder = this.#path('base');
    for (const name of ['etc', 'tmp']) mkdirSync(path.join(folder, name), { recursive: true });
    chmodSync(path.join(folder, 'tmp'), 0o1777);
    writeFileSync(
      path.join(folder, 'etc/passwd'),
      'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
    );
    const { stdout } = await run('ldd', [process.execPath]);
    for (const [library] of stdout.matchAll(/\/\S+/g)) {
      mkdirSync(path.join(folder, path.dirname(library)), { recursive: true });
      copyFileSync(realpathSync(library), path.join(folder, library));
    }
    await run('tar', ['-C', folder, '-cf', `${folder}.tar`, '.']);
    await this.#podman.run('import', `${folder}.tar`, base);
  }

  async #runBuildStage(): Promise<void> {
    const cwd = this.#path('build/fleetkeeper');
    mkdirSync(cwd, { recursive: true });
    for (const name of buildContext())
      cpSync(path.join(root, name), path.join(cwd, name), { recursive: true });
    symlinkSync(path.join(root, 'node_modules'), path.join(cwd, 'node_modules'));
    for (const command of buildCommands()) {
      if (command !== 'npm ci') await run('sh', ['-euc', command], { cwd });
    }
    // Packages are no part of the image.
    rmSync(path.join(cwd, 'node_modules'));
  }

  #path(name: string): string {
    return path.join(this.#folder, name);
  }
}

export class Pod {
  readonly #podman: Podman;
  readonly #id: string;

  constructor(podman: Podman, id: string) {
    this.#podman = podman;
    this.#id = id;
  }

  /** What it answers to a probe; empty while it does not. */
  probe(address: string): Promise<string> {
    const ask = `fetch(${JSON.stringify(address)}).then((answer) => answer.text()).then(console.log, () => undefined)`;
    return this.#podman.run('exec', this.#id, '/usr/local/bin/node', '-e', ask);
  }

  /** SIGTERM, and after `graceSeconds` SIGKILL; its exit code. */
  async stop(graceSeconds: number): Promise<number> {
    await this.#podman.run('stop', '--time', String(graceSeconds), this.#id);
    return Number(await this.#podman.run('wait', this.#id));
  }
}

/** What .dockerignore excepts from being ignored. */
function buildContext(): string[] {
  const lines = readFileSync(path.join(root, '.dockerignore'), 'utf8').split('\n');
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
}

/** What the stage `build` of the Dockerfile runs. */
function buildCommands(): string[] {
  const text = readFileSync(path.join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const [, stage = ''] = / AS build\n([^]*?)\nFROM /.exec(text) ?? [];
  return [...stage.matchAll(/^RUN (.*)$/gm)].map(([, command = '']) => command);
}
