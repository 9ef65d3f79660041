/**
 * The image as `npm run image` makes it from dist/, built by podman without a registry: only the base, which is pulled otherwise
 * (the libraries of Node and nothing else), is put together from this machine.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Podman } from './podman.ts';

const run = promisify(execFile);

const root = path.resolve(import.meta.dirname, '../../..');
const base = 'localhost/base:test';
/** Its name. */
export const imageTag = 'localhost/fleetkeeper:test';

/** As a cluster with the Pod Security profile "restricted" runs it, and without a network. */
const confined = [
  ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL'],
  ['--security-opt', 'no-new-privileges', '--network', 'none'],
].flat();

export class Image implements AsyncDisposable {
  readonly #podman = new Podman('localhost:1');
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-image-'));

  /** With further options of `npm run image`; returns what it printed. */
  async build(...options: string[]): Promise<string> {
    await this.#importBase();
    const args = ['scripts/image.cjs', '--engine', this.#podman.program(), '--base', base, '--tag', imageTag];
    // What goes into it is put together in one place of this repository: only one build at a time.
    const alone = [root, process.execPath, ...args, ...options];
    const { stdout } = await run('flock', alone, { cwd: root });
    return stdout;
  }

  /** As an archive that container engines and nodes of clusters load. */
  async save(file: string): Promise<void> {
    await this.#podman.run('save', '--output', file, imageTag);
  }

  /** Its stdout; rejects unless it exits with 0. */
  fleetkeeper(...args: string[]): Promise<string> {
    return this.#podman.run('run', ...confined, imageTag, ...args);
  }

  /** With another program of the image instead; rejects unless it exits with 0. */
  program(name: string, ...args: string[]): Promise<string> {
    return this.#podman.run('run', ...confined, '--entrypoint', name, imageTag, ...args);
  }

  /** With a folder of this machine at /fleet, read-only, and a /tmp of its own. */
  async start(folder: string, ...args: string[]): Promise<Pod> {
    const options = ['--volume', `${folder}:/fleet:ro`, '--tmpfs', '/tmp'];
    return new Pod(
      this.#podman,
      await this.#podman.run('run', '--detach', ...confined, ...options, imageTag, ...args),
    );
  }

  /** As a pod of a cluster whose API does not answer. */
  async startInPod(args: readonly string[], environment: readonly string[]): Promise<Pod> {
    const account = this.#path('serviceaccount');
    mkdirSync(account);
    for (const name of ['token', 'ca.crt', 'namespace']) writeFileSync(path.join(account, name), `a-${name}`);
    const variables = ['KUBERNETES_SERVICE_HOST=127.0.0.1', 'KUBERNETES_SERVICE_PORT=1', ...environment];
    const volume = `${account}:/var/run/secrets/kubernetes.io/serviceaccount:ro`;
    const options = [...variables.flatMap((each) => ['--env', each]), '--volume', volume, '--tmpfs', '/tmp'];
    const id = await this.#podman.run('run', '--detach', ...confined, ...options, imageTag, ...args);
    return new Pod(this.#podman, id);
  }

  async inspect(): Promise<{ readonly Size: number; readonly Config: object }> {
    return this.#inspect(imageTag);
  }

  /** Of what is pulled otherwise. */
  async baseBytes(): Promise<number> {
    return (await this.#inspect(base)).Size;
  }

  async #inspect(name: string): Promise<{ readonly Size: number; readonly Config: object }> {
    const [image] = JSON.parse(await this.#podman.run('image', 'inspect', name)) as never[];
    if (!image) throw new Error(`there is no image ${name}`);
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
    return this.exec('/usr/local/bin/node', '-e', ask);
  }

  /** Its stdout; rejects unless it exits with 0. */
  exec(...command: string[]): Promise<string> {
    return this.#podman.run('exec', this.#id, ...command);
  }

  /** Its exit code and output, when it ends by itself. */
  async ended(): Promise<{ readonly code: number; readonly output: string }> {
    const code = Number(await this.#podman.run('wait', this.#id));
    return { code, output: await this.#podman.run('logs', this.#id) };
  }

  /** SIGTERM, and after `graceSeconds` SIGKILL; its exit code. */
  async stop(graceSeconds: number): Promise<number> {
    await this.#podman.run('stop', '--time', String(graceSeconds), this.#id);
    return Number(await this.#podman.run('wait', this.#id));
  }
}
