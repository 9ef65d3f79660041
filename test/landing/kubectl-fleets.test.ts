/** A ServiceFleet with the real kubectl on a real API server: what an owner, an autoscaler and a colleague in a hurry do (FLEETS 13, 4). */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, type Json } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { realCluster } from '../support/processes/real-cluster.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

const run = promisify(execFile);

async function whatIsMissing(): Promise<string | undefined> {
  if ((await realCluster()) === undefined) return 'neither KUBEBUILDER_ASSETS nor KUBECONFIG is set';
  return run('kubectl', ['version', '--client']).then(
    () => undefined,
    () => 'there is no kubectl',
  );
}

const missing = await whatIsMissing();
if (missing !== undefined)
  process.stderr.write(`\n*** SKIPPED: ServiceFleets with kubectl on a real API server: ${missing} ***\n`);

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 60 }).start();
  const fleet = await createClusterFleet(folder);
  const { kubeconfig } = fleet.cluster;
  const kubectl = async (...args: string[]) =>
    (await run('kubectl', ['--kubeconfig', kubeconfig, '-n', fleet.namespace, ...args])).stdout;
  const show = async (...args: string[]): Promise<Json> =>
    JSON.parse(await kubectl('get', ...args, '-o', 'json'));
  const apply = async (name: string, document: object) => {
    const file = path.join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(document));
    return kubectl('apply', '-f', file);
  };
  await fleet.write('account.yaml', account(plane.url));
  const names = async () => {
    const { services } = await plane.call('GET', '/api/account');
    return services.map(({ name }: Json) => name).sort();
  };
  return { plane, fleet, folder, kubectl, show, apply, names };
}

const untilAvailable = (count: number) => [
  'wait',
  `--for=jsonpath={.status.availableReplicas}=${count}`,
  'cflt/llm',
  '--timeout=60s',
];

test.skipIf(missing !== undefined)(
  'kubectl and an autoscaler scale it, a replica that somebody deletes comes back, and all of it goes with it',
  { timeout: 240_000 },
  async () => {
    const { plane, fleet, folder, kubectl, show, apply, names } = await world();
    const operator = fleet.run();
    await apply('llm', fleetOf('llm', { replicas: 2 }));
    await kubectl('wait', '--for=condition=Ready', 'cflt/llm', '--timeout=60s');
    expect(await kubectl('get', 'cflt')).toMatch(/^NAME +REPLICAS +DESIRED +AVAILABLE +READY +AGE/);
    const watching = kubectl('get', 'cflt/llm', '--watch', '--request-timeout=20s').catch(
      // It ends by its time limit.
      ({ stdout }: { stdout: string }) => stdout,
    );

    await kubectl('scale', 'cflt/llm', '--replicas=4');
    await kubectl(...untilAvailable(4));
    expect(await names()).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3']);

    // As the horizontal autoscaler does: it reads the scale, counts by the selector, and writes the number.
    const at = `/apis/fleetkeeper.dev/v1alpha1/namespaces/${fleet.namespace}/servicefleets/llm/scale`;
    const scale: Json = JSON.parse(await kubectl('get', '--raw', at));
    expect(scale).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 4 },
      status: { replicas: 4, selector: 'fleetkeeper.dev/fleet=llm' },
    });
    expect((await show('csvc', '-l', scale.status.selector)).items).toHaveLength(4);
    const body = path.join(folder, 'scale.json');
    await writeFile(body, JSON.stringify({ ...scale, spec: { replicas: 3 } }));
    await kubectl('replace', '--raw', at, '-f', body);
    await kubectl(...untilAvailable(3));
    await eventually('three are left', async () => (await names()).length === 3);
    await expect(kubectl('replace', '--raw', at, '-f', body)).rejects.toThrow('Conflict');

    const before: Json = await show('csvc', 'llm-1');
    expect(before.metadata.ownerReferences).toMatchObject([
      { kind: 'ServiceFleet', name: 'llm', controller: true },
    ]);
    await kubectl('delete', 'csvc', 'llm-1', '--timeout=60s');
    await eventually('another one is in its place', async () => {
      const status = (await show('cflt', 'llm')).status;
      const { items } = await show('csvc');
      const isAnother = items.every(({ metadata }: Json) => metadata.uid !== before.metadata.uid);
      return isAnother && status.availableReplicas === 3 && status.drainingReplicas === 0;
    });
    expect((await show('controllerrevisions')).items).toMatchObject([
      { revision: 1, metadata: { ownerReferences: [{ kind: 'ServiceFleet', name: 'llm' }] } },
    ]);

    expect(await kubectl('delete', 'cflt', 'llm', '--timeout=120s')).toContain('"llm" deleted');
    expect([await names(), (await show('csvc')).items]).toEqual([[], []]);
    expect((await watching).trim().split('\n').length).toBeGreaterThan(3);
    expect(
      (await plane.requests())
        .filter(isMutation)
        .every(({ path: asked }) => asked.startsWith('/api/services')),
    ).toBe(true);
    expect((await operator.kill('SIGTERM')).code).toBe(0);
  },
);

test.skipIf(missing !== undefined)(
  'what it must not be is refused with the words of the documents, and what others write into a replica is put right',
  { timeout: 120_000 },
  async () => {
    const { fleet, kubectl, show, apply } = await world();
    const update = { maxSurge: 0, maxUnavailable: 0 };
    await expect(apply('bad', fleetOf('bad', { update }))).rejects.toThrow(
      'maxSurge and maxUnavailable are both 0, so no replica could ever be updated',
    );
    const bare = { spec: { region: 'standard', resources: { cpu: 1, memoryGb: 1 } } };
    await expect(apply('bad', fleetOf('bad', { template: bare }))).rejects.toThrow('is missing; add it');
    const steps = [{ weight: 50 }, { weight: 10 }];
    await expect(apply('bad', fleetOf('bad', { update: { steps } }))).rejects.toThrow('must not be smaller');

    const operator = fleet.run();
    await apply(
      'llm',
      fleetOf('llm', { replicas: 1, template: template({ env: [{ name: 'A', value: '1' }] }) }),
    );
    await kubectl('wait', '--for=condition=Ready', 'cflt/llm', '--timeout=60s');
    await kubectl(
      'patch',
      'csvc',
      'llm-0',
      '--type=merge',
      '-p',
      '{"spec":{"image":"ghcr.io/acme/other:1"}}',
    );
    await eventually('it is as before', async () => {
      const { spec, metadata } = await show('csvc', 'llm-0', '--show-managed-fields');
      const owners = metadata.managedFields.filter(({ fieldsV1 }: Json) => fieldsV1['f:spec']?.['f:image']);
      return spec.image === 'ghcr.io/acme/llm:1' && owners.length === 1;
    });
    await kubectl('delete', 'cflt', 'llm', '--timeout=60s');
    expect((await operator.kill('SIGTERM')).code).toBe(0);
  },
);
