/** The conformance suite as a process, and a control plane with everything that it can be told of. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { ServerProcess } from '../server-process.ts';
import { temporaryFolder } from './processes.ts';

/** Whatever is answered. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const suite = path.resolve(import.meta.dirname, '../../conformance/run.ts');
const registry = { repository: '{repository}', username: '{secret}', password: '{secret}' };

/** The suite, pointed at the plane. */
export class Run {
  readonly #child: ChildProcess;
  output = '';

  constructor(plane: Plane, ...flags: readonly string[]) {
    const target = ['--url', plane.url, '--api-key', 'key-of-tester', '--timeout', '30'];
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
    this.#child = spawn(process.execPath, [suite, ...target, ...flags], { stdio });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (part: Buffer) => (this.output += part.toString()));
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  async code(): Promise<number | null> {
    await once(this.#child, 'close');
    return this.#child.exitCode;
  }
}

export class Plane {
  readonly #folder: string;
  readonly #flags: readonly string[];
  #server: ServerProcess | undefined;

  private constructor(folder: string, flags: readonly string[]) {
    this.#folder = folder;
    this.#flags = flags;
  }

  static async start(...flags: readonly string[]): Promise<Plane> {
    const plane = new Plane(await temporaryFolder(), flags);
    onTestFinished(() => plane.kill());
    await plane.start(true);
    return plane;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  /** Starts it, the second time on the same database. */
  async start(isNewcomerVerified: boolean): Promise<void> {
    await this.kill();
    const file = (name: string) => path.join(this.#folder, name);
    await writeFile(file('accounts.yaml'), accountsFile(isNewcomerVerified));
    this.#server = await ServerProcess.start({
      accounts: file('accounts.yaml'),
      database: file('control-plane.db'),
      flags: this.#flags,
    });
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  async call(key: string, method: string, where: string, body?: object): Promise<Json> {
    const response = await fetch(`${this.url}/api/${where}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'idempotency-key': randomUUID(),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.json();
  }

  /** What the account has, besides built-in templates. */
  async countOf(key: string): Promise<number> {
    const { services, volumes } = await this.call(key, 'GET', 'account');
    const { templates } = await this.call(key, 'GET', 'templates');
    const { registries } = await this.call(key, 'GET', 'registries');
    const own = templates.filter(({ builtIn }: Json) => !builtIn);
    return services.length + volumes.length + own.length + registries.length;
  }
}

function accountsFile(isNewcomerVerified: boolean): string {
  const account = (name: string, balanceMicros: number, emailVerified = true) => ({
    name,
    email: `${name}@conformance.example`,
    emailVerified,
    balanceMicros,
    apiKeys: [`key-of-${name}`],
  });
  const plenty = 1_000_000_000_000;
  const accounts = [
    account('tester', plenty),
    account('other', plenty),
    account('newcomer', plenty, isNewcomerVerified),
    account('broke', 0),
  ];
  return JSON.stringify({ accounts });
}

/** The options that give the suite every account, and objects of one that has lost its verified email. */
export async function everyAccount(plane: Plane, image: string): Promise<string[]> {
  const create = async (where: string, body: object): Promise<string> =>
    (await plane.call('key-of-newcomer', 'POST', where, body)).id;
  const place = { name: 'unverified', region: 'standard' };
  const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
  const access = { repository: 'registry.example/app', username: 'u', password: 'p' };
  const options = [
    ['--unverified-service', await create('services', { ...place, image, resources })],
    ['--unverified-volume', await create('volumes', { ...place, sizeGb: 10 })],
    ['--unverified-registry', await create('registries', access)],
    ['--unverified-api-key', 'key-of-newcomer', '--other-api-key', 'key-of-other'],
    ['--broke-api-key', 'key-of-broke', '--registry-spec', JSON.stringify(registry)],
  ];
  await plane.start(false);
  return options.flat();
}
