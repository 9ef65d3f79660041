/**
 * `npm run hostile -- --minutes 5`: one tenant attacks, another one reads and writes. Exit 0: nothing was violated.
 *
 * With `--runtime kubernetes` services are Pods: of the cluster of `--kubeconfig`, whose nodes have `--image`; without that flag of
 * a node as test/support/processes/node.ts finds or makes one.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ClusterNode, loadFixture, whatNodeNeeds } from '../support/processes/node.ts';
import { fixtureImage } from '../support/processes/podman.ts';
import { hostile } from './hostile.ts';
import type { PodOptions } from './pods.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    'quiet-seconds': { type: 'string', default: '20' },
    runtime: { type: 'string', default: 'simulated' },
    kubeconfig: { type: 'string' },
    image: { type: 'string', default: fixtureImage },
  },
});
const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-hostile-'));
const cleaning = new AsyncDisposableStack();
cleaning.defer(() => rm(folder, { recursive: true, force: true }));
try {
  const pods = await podOptions();
  tell(`load average before: ${loads()}`);
  const report = await hostile({
    quietMs: Number(values['quiet-seconds']) * 1000,
    attackMs: Number(values.minutes) * 60_000,
    folder,
    // Where Pods are started on the same machine, they take the processor of whoever answers.
    quietFloorMs: pods ? 25 : 0,
    ...(pods && { pods }),
  });
  tell(
    JSON.stringify(
      report,
      (_, value: unknown) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value),
      2,
    ),
  );
  tell(`load average after: ${loads()}`);
  if (report.violations.length > 0) process.exitCode = 1;
} catch (error) {
  tell(error instanceof Error ? String(error.stack) : String(error));
  process.exitCode = 1;
} finally {
  await cleaning.disposeAsync();
}

async function podOptions(): Promise<PodOptions | undefined> {
  const { runtime, kubeconfig, image } = values;
  if (runtime === 'simulated') return undefined;
  if (runtime !== 'kubernetes') throw new Error('--runtime: simulated or kubernetes');
  if (kubeconfig !== undefined) return { kubeconfig, image };
  const need = await whatNodeNeeds();
  if (need !== undefined)
    throw new Error(`give a cluster with --kubeconfig FILE; there is no other: ${need}`);
  const node = cleaning.use(await ClusterNode.start());
  await loadFixture(node);
  return { kubeconfig: node.kubeconfig, image };
}

function loads(): string {
  return loadavg()
    .map((load) => load.toFixed(1))
    .join(', ');
}

function tell(line: string): void {
  process.stdout.write(`${line}
`);
}
