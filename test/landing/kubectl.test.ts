/** What a newcomer types, with the real kubectl: definitions, manifests, examples, and the wait until all is Ready. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ControlPlane, apiKey } from '../support/processes/control-plane.ts';
import { createCluster } from '../support/processes/kubernetes.ts';
import { launch, temporaryFolder } from '../support/processes/processes.ts';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');

/** Why there is no kubectl that can be used; kustomize 5 came with 1.27. */
async function whatIsMissing(): Promise<string | undefined> {
  try {
    const { stdout } = await run('kubectl', ['version', '--client', '--output', 'json']);
    const { gitVersion = '' } = JSON.parse(stdout).clientVersion as { gitVersion?: string };
    const minor = Number(/^v1\.(\d+)/.exec(gitVersion)?.[1]);
    return minor >= 27 ? undefined : `kubectl is ${gitVersion}, and 1.27 is needed`;
  } catch {
    return 'there is no kubectl';
  }
}

const missing = await whatIsMissing();
if (missing !== undefined)
  process.stderr.write(`\n*** SKIPPED: the examples with the real kubectl: ${missing} ***\n`);

test.skipIf(missing !== undefined)(
  'kubectl applies definitions, manifests and examples, and waits until all is Ready',
  async () => {
    const folder = await temporaryFolder();
    const { api, kubeconfig, server } = await createCluster(folder);
    const kubectl = async (...args: string[]) =>
      (await run('kubectl', ['--kubeconfig', kubeconfig, ...args], { cwd: root })).stdout;
    const written = await readFile(path.join(root, 'examples/control-plane/accounts.yaml'), 'utf8');
    const accounts = written.replace('example-key-of-a-colleague', apiKey);
    const plane = await new ControlPlane(folder, { timeScale: 60, accounts }).start();
    const examples = path.join(folder, 'examples');
    await mkdir(examples);
    const quickstart = await readFile(path.join(root, 'examples/quickstart.yaml'), 'utf8');
    await writeFile(
      path.join(examples, 'quickstart.yaml'),
      quickstart.replace('http://127.0.0.1:8787', plane.url),
    );

    expect(await kubectl('apply', '-k', 'crds')).toContain('containerservices.fleetkeeper.dev');
    // A real cluster is not ours to install in.
    const tried = server ? [] : ['--dry-run=client'];
    expect(await kubectl('apply', '-k', 'manifests', ...tried)).toContain('deployment.apps/fleetkeeper');
    await kubectl('apply', '-f', examples);
    // A real one has fleets of others, too.
    const watched = server ? [] : ['--watch-namespaces', api.namespace];
    const operator = launch(['run', '--source', 'kubernetes', '--kubeconfig', kubeconfig, ...watched]);
    const waited = await kubectl(
      'wait',
      '--for=condition=Ready',
      'containerservice',
      '--all',
      '--timeout=60s',
    );
    expect(waited).toContain('storefront condition met');

    const table = await kubectl('get', 'containerservices');
    expect(table).toMatch(/^NAME +STATE +READY +ENDPOINT +DRIFT +AGE/);
    expect(table).toMatch(/^storefront +running +True +https:/m);
    expect(await kubectl('describe', 'csvc', 'storefront')).toMatch(/Normal +Created .*create-service/);
    expect((await plane.account()).services).toHaveLength(2);
    expect(await kubectl('delete', '-f', examples, '--timeout=60s')).toContain('"storefront" deleted');
    expect((await plane.account()).services).toEqual([]);
    expect((await operator.kill('SIGTERM')).code).toBe(0);
  },
);
