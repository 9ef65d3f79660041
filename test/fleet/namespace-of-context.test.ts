/** Commands about an object of a cluster, without -n: it is in the namespace of the kubeconfig's context, as for kubectl. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInCluster, type Json } from '../support/processes/fleet.ts';
import { namespaceType } from '../support/processes/kubernetes.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

const secretType = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true } as const;

/** The operator is in one namespace, and its objects and the context of who calls are in another one. */
async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  // In a real cluster, each test has namespaces of its own.
  const namespace = fleet.cluster.server ? 'team' : `${fleet.namespace}-team`;
  const ofTeam = (documents: readonly object[]) =>
    documents.map((document: Json) => ({
      ...document,
      metadata: { ...document.metadata, namespace: 'team' },
    }));
  await fleet.write('account.yaml', ofTeam(account(plane.url)));
  await fleet.write('llm.yaml', ofTeam([fleetOf('llm', { replicas: 1 }), service('web')]));
  fleet.run();
  await fleet.untilReady(3);
  const config = parse(await readFile(fleet.cluster.kubeconfig, 'utf8'));
  for (const { context } of config.contexts) context.namespace = namespace;
  const kubeconfig = `${folder}/kubeconfig-of-team`;
  await writeFile(kubeconfig, stringify(config));
  const answer = async (...args: string[]) => {
    const flags = fleet.flags.map((flag) => (flag === fleet.cluster.kubeconfig ? kubeconfig : flag));
    const { code, stdout, stderr } = await fleetkeeper([...args, ...flags]);
    return [code, stderr, stdout];
  };
  return { fleet, namespace, answer };
}

testInCluster('a name without -n is one of the namespace that the context has', async () => {
  const { namespace, answer } = await world();
  expect(await answer('scale', 'llm', '--replicas', '1')).toEqual([0, '', 'llm gets 1 replicas.\n']);
  expect(await answer('status', 'csvc/web')).toEqual([0, '', expect.stringContaining('Running')]);
  expect(await answer('describe', 'csvc/web')).toEqual([0, '', expect.stringContaining(namespace)]);
  expect(await answer('logs', 'web')).toEqual([0, '', expect.stringContaining('acme/app:1')]);
  // What is given counts. Without a name, all namespaces are meant.
  const [code, stderr] = await answer('scale', 'llm', '--replicas', '1', '-n', 'default');
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('no ServiceFleet llm in the namespace default'),
  ]);
  expect(await answer('status', '-n', 'default')).toEqual([0, '', expect.not.stringContaining('web')]);
});

testInCluster('the operator is known from another namespace, if it is in its usual one', async () => {
  const { fleet, answer } = await world();
  const { api, server } = fleet.cluster;
  // A real cluster is shared with other tests.
  if (!server) return;
  const secret = { type: secretType, namespace: fleet.namespace, name: 'fleetkeeper-state' };
  const data = (await api.get(secret))?.['data'];
  expect((await answer('plan', '--target', 'csvc/web'))[2]).toContain('OwnedByAnother');
  const usual = 'fleetkeeper-system';
  await api.create(namespaceType, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: usual } });
  const metadata = { name: secret.name, namespace: usual };
  await api.create(secretType, { apiVersion: 'v1', kind: 'Secret', metadata, data });
  expect(await answer('plan', '--target', 'csvc/web')).toEqual([0, '', expect.any(String)]);
});
