/**
 * With `KUBEBUILDER_ASSETS` (the convention of envtest: a folder with `etcd` and `kube-apiserver`), one real API server for all
 * tests of the run; they find it by `KUBECONFIG`. Nothing but the API runs there: no namespace ends, no garbage is collected.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { Agent, request } from 'undici';

const token = 'token-of-the-tests';
const startMs = 60_000;

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (!assets || process.env['KUBECONFIG']) return undefined;
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-envtest-'));
  const [client, peer, secure] = await Promise.all([freePort(), freePort(), freePort()]);
  const etcdUrl = `http://127.0.0.1:${client}`;
  const etcd = start(path.join(assets, 'etcd'), folder, [
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    '--unsafe-no-fsync',
  ]);
  const key = await writeKeys(folder);
  const server = start(path.join(assets, 'kube-apiserver'), folder, [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${secure}`,
    `--cert-dir=${folder}/certificates`,
    `--token-auth-file=${folder}/tokens.csv`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--disable-admission-plugins=ServiceAccount',
  ]);
  const url = `https://127.0.0.1:${secure}`;
  const stop = async () => {
    await Promise.all([server.end(), etcd.end()]);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url, () => server.failure() ?? etcd.failure());
  } catch (error) {
    await stop();
    throw error;
  }
  process.env['KUBECONFIG'] = await writeKubeconfig(folder, url);
  process.stderr.write(`\n*** Kubernetes: the API server of KUBEBUILDER_ASSETS (${assets}) ***\n`);
  return async () => {
    delete process.env['KUBECONFIG'];
    await stop();
  };
}

interface Started {
  /** What it said before it ended by itself; undefined while it runs. */
  failure(): string | undefined;
  end(): Promise<void>;
}

function start(program: string, folder: string, args: readonly string[]): Started {
  const child: ChildProcess = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  let ended = false;
  child.stderr?.on('data', (part: Buffer) => {
    said = (said + part.toString()).slice(-2000);
  });
  const gone = once(child, 'close').then(
    () => (ended = true),
    (error: Error) => {
      said += error.message;
      ended = true;
    },
  );
  return {
    failure: () => (ended ? `${program} has ended: ${said}` : undefined),
    async end() {
      child.kill('SIGTERM');
      await gone;
    },
  };
}

async function writeKeys(folder: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = path.join(folder, 'service-accounts.key');
  await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await writeFile(path.join(folder, 'tokens.csv'), `${token},tests,tests,system:masters\n`, { mode: 0o600 });
  return file;
}

/** The server makes a certificate of its own, for which nobody vouches. */
async function untilReady(url: string, failure: () => string | undefined): Promise<void> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const untilMs = Date.now() + startMs;
  try {
    for (;;) {
      const problem = failure();
      if (problem !== undefined) throw new Error(problem);
      if (Date.now() > untilMs) throw new Error(`no API server at ${url} within ${startMs / 1000} s`);
      const headers = { authorization: `Bearer ${token}` };
      const isReady = await request(`${url}/readyz`, { dispatcher, headers }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode === 200;
        },
        () => false,
      );
      if (isReady) return;
      await delay(200);
    }
  } finally {
    await dispatcher.close();
  }
}

async function writeKubeconfig(folder: string, server: string): Promise<string> {
  const file = path.join(folder, 'kubeconfig');
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'envtest', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'tests', user: { token } }],
    contexts: [{ name: 'envtest', context: { cluster: 'envtest', user: 'tests' } }],
    'current-context': 'envtest',
  });
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
