/**
 * A whole Kubernetes, with a node that runs Pods, which a test may break: one that `CLUSTER_TOOL` makes of the binaries in
 * `CLUSTER_ASSETS`, for one file of tests; or the cluster of `KUBECONFIG`, into which `CLUSTER_LOAD` loads an image.
 * docs/internals/real-cluster.md has the commands.
 */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fixtureImage, Podman, whatPodmanNeeds } from './podman.ts';

const run = promisify(execFile);

/** What can be made to fail. The node starts the last two again by itself. */
export type Part = 'apiserver' | 'etcd' | 'kubelet' | 'containerd';

/** A kubectl that hangs is no answer. */
const kubectlMs = 180_000;
const outputBytes = 64 * 1024 * 1024;

interface Given {
  readonly assets: string;
  readonly tool: string;
  readonly kubeconfig: string;
  readonly load: string;
}

function given(): Given {
  const of = (name: string) => process.env[name] ?? '';
  return {
    assets: of('CLUSTER_ASSETS'),
    tool: of('CLUSTER_TOOL'),
    kubeconfig: of('KUBECONFIG'),
    load: of('CLUSTER_LOAD'),
  };
}

/** Why no Pod of Fleetkeeper can run here, and what to do; undefined when one can. */
export async function whatNodeNeeds(): Promise<string | undefined> {
  const { assets, tool, kubeconfig, load } = given();
  if (assets === '' && kubeconfig === '') return 'neither CLUSTER_ASSETS nor KUBECONFIG is set';
  if (assets !== '' && !existsSync(tool)) {
    return 'CLUSTER_ASSETS is set, and CLUSTER_TOOL names no program that makes a node of it';
  }
  if (!(await hasKubectl())) return 'there is no kubectl';
  if (assets === '') {
    if (!(await hasNode(kubeconfig))) return 'the cluster of KUBECONFIG has no node that is Ready';
    if (load === '')
      return 'CLUSTER_LOAD is not set: the command that loads an archive of an image into the nodes';
  }
  return whatPodmanNeeds();
}

/** Whether a node is made for the tests, or they are guests of the cluster of `KUBECONFIG`. */
export function whoseNode(): 'own' | 'others' {
  return given().assets === '' ? 'others' : 'own';
}

function hasKubectl(): Promise<boolean> {
  return run('kubectl', ['version', '--client']).then(
    () => true,
    () => false,
  );
}

function hasNode(kubeconfig: string): Promise<boolean> {
  const ready = '{.items[*].status.conditions[?(@.type=="Ready")].status}';
  return run('kubectl', ['--kubeconfig', kubeconfig, 'get', 'nodes', '-o', `jsonpath=${ready}`]).then(
    ({ stdout }) => stdout.includes('True'),
    () => false,
  );
}

export class ClusterNode implements AsyncDisposable {
  readonly kubeconfig: string;
  /** Whether nobody else uses it. Only then may its parts be made to fail. */
  readonly isOwn: boolean;
  readonly #folder: string;

  private constructor(kubeconfig: string, folder: string, isOwn: boolean) {
    this.kubeconfig = kubeconfig;
    this.#folder = folder;
    this.isOwn = isOwn;
  }

  static async start(): Promise<ClusterNode> {
    const { tool, kubeconfig } = given();
    if (whoseNode() === 'others') return new ClusterNode(kubeconfig, '', false);
    const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-node-'));
    // It ends with this process at the latest.
    const { stdout } = await run(tool, ['up', folder, '--with-pid', String(process.pid)]);
    return new ClusterNode(stdout.trim(), folder, true);
  }

  /** Its output; rejects unless it exits with 0. */
  async kubectl(...args: string[]): Promise<string> {
    const options = { timeout: kubectlMs, maxBuffer: outputBytes };
    const { stdout } = await run('kubectl', ['--kubeconfig', this.kubeconfig, ...args], options);
    return stdout;
  }

  /** An archive of an image, so that nodes need no registry. */
  async load(archive: string): Promise<void> {
    if (this.isOwn) await this.#tool('load', archive);
    else await run('sh', ['-c', `${given().load} "$1"`, 'sh', archive]);
  }

  signal(part: Part, signal: 'KILL' | 'STOP' | 'CONT' | 'TERM'): Promise<void> {
    return this.#tool('signal', part, signal);
  }

  /** What a signal has ended, and nothing starts again. */
  startPart(part: 'apiserver' | 'etcd'): Promise<void> {
    return this.#tool('start', part);
  }

  /** A file that the node was made with, such as the keys in `pki`. */
  file(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }

  /** Of this machine, as Pods of the node reach it. */
  async hostAddress(): Promise<string> {
    const internal = '{.items[0].status.addresses[?(@.type=="InternalIP")].address}';
    const node = await this.kubectl('get', 'nodes', '-o', `jsonpath=${internal}`);
    const socket = createSocket('udp4');
    try {
      // Nothing is sent: the route to the node decides which address is used.
      socket.connect(9, node);
      await once(socket, 'connect');
      return socket.address().address;
    } finally {
      socket.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isOwn) return;
    await this.#tool('down');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  async #tool(verb: string, ...args: string[]): Promise<void> {
    if (!this.isOwn) throw new Error(`the cluster of KUBECONFIG has no ${verb}: it needs CLUSTER_ASSETS`);
    await run(given().tool, [verb, this.#folder, ...args], { maxBuffer: outputBytes });
  }
}

/** The image of tests with Pods, for a node that makes no image itself. */
export async function loadFixture(node: ClusterNode): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-fixture-'));
  try {
    await using podman = new Podman('localhost:1');
    await podman.importFixture();
    const archive = path.join(folder, 'fixture.tar');
    await podman.run('save', '--output', archive, fixtureImage);
    await node.load(archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
