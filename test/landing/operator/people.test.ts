/**
 * What the three roles for people let them do, asked of a real API server: it alone knows how rights, subresources and
 * finalizers go together. The roles are put into a namespace of the test; nothing lies outside of it.
 */
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { managedKinds, resourceTypes, type ManagedKind } from '../../../src/resources/index.ts';
import { documentOf } from '../../unit/crdgen/support.ts';
import { apiServer, type Answer, type Asking } from '../../support/processes/api-server.ts';
import type { Json } from '../../support/processes/fleet.ts';
import { createCluster } from '../../support/processes/kubernetes.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { realCluster } from '../../support/processes/real-cluster.ts';

const isReal = (await realCluster()) !== undefined;
if (!isReal) {
  process.stderr.write(
    '\n*** SKIPPED: rights of people on a real API server: neither KUBEBUILDER_ASSETS nor KUBECONFIG is set ***\n',
  );
}

const people = path.resolve(import.meta.dirname, '../../../manifests/cluster-wide/people.yaml');
const rbac = 'rbac.authorization.k8s.io';

/** A namespace with `viewer`, `editor` and `administrator`, who have what is added to the roles of the cluster. */
async function createWorld() {
  const { api, kubeconfig } = await createCluster(await temporaryFolder());
  const ask = await apiServer(kubeconfig);
  const { namespace } = api;
  const roles = parseAllDocuments(await readFile(people, 'utf8')).map((document): Json => document.toJS());
  for (const [user, standard] of [
    ['viewer', 'view'],
    ['editor', 'edit'],
    ['administrator', 'admin'],
  ] as const) {
    const label = `${rbac}/aggregate-to-${standard}`;
    const rules = roles
      .filter(({ metadata }) => metadata.labels[label] === 'true')
      .flatMap((role) => role.rules);
    const base = `/apis/${rbac}/v1/namespaces/${namespace}`;
    const made = [
      await ask({ method: 'POST', path: `${base}/roles`, body: { metadata: { name: user }, rules } }),
      await ask({
        method: 'POST',
        path: `${base}/rolebindings`,
        body: {
          metadata: { name: user },
          roleRef: { apiGroup: rbac, kind: 'Role', name: user },
          subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
        },
      }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
  }
  const as = (user: string) => (asking: Asking) => ask({ ...asking, as: user });
  return { ask, as, at: (kind: ManagedKind) => pathOf(kind, namespace), namespace };
}

function pathOf(kind: ManagedKind, namespace: string): string {
  const { group, version, plural } = resourceTypes[kind];
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
}

const merge = 'application/merge-patch+json';
const statusOf = ({ status }: Answer) => status;

test.skipIf(!isReal)(
  'each role reads all kinds; who edits writes all but Accounts, who administers these, too',
  async () => {
    const { as, at } = await createWorld();
    for (const [user, mayWrite] of [
      ['viewer', () => false],
      ['editor', (kind: ManagedKind) => kind !== 'Account'],
      ['administrator', () => true],
    ] as const) {
      const ask = as(user);
      for (const kind of managedKinds) {
        const written = mayWrite(kind) ? 201 : 403;
        const rest = mayWrite(kind) ? 200 : 403;
        const body = documentOf(kind, {}, { metadata: { name: user } });
        const one = `${at(kind)}/${user}`;
        const annotated = { metadata: { annotations: { 'fleetkeeper.dev/paused': 'true' } } };
        const done = [
          await ask({ method: 'GET', path: at(kind) }),
          await ask({ method: 'POST', path: at(kind), body }),
          await ask({ method: 'PATCH', path: one, type: merge, body: annotated }),
          await ask({ method: 'DELETE', path: one }),
          await ask({ method: 'DELETE', path: at(kind) }),
        ];
        expect([user, kind, ...done.map(statusOf)]).toEqual([user, kind, 200, written, rest, rest, rest]);
      }
    }
  },
);

test.skipIf(!isReal)(
  'nobody of them writes a status, whichever way, or reads a Secret or a Lease',
  async () => {
    const { ask: own, as, at, namespace } = await createWorld();
    const kind = 'ContainerService';
    const forged = { conditions: [], id: '0f8fad5b-d9cb-469f-a165-70867728950e' };
    expect(statusOf(await own({ method: 'POST', path: at(kind), body: documentOf(kind) }))).toBe(201);
    for (const user of ['viewer', 'editor', 'administrator']) {
      const ask = as(user);
      const refused = [
        await ask({ method: 'PATCH', path: `${at(kind)}/web/status`, type: merge, body: { status: forged } }),
        await ask({ method: 'GET', path: `/api/v1/namespaces/${namespace}/secrets/fleetkeeper-state` }),
        await ask({ method: 'GET', path: `/api/v1/namespaces/${namespace}/secrets` }),
        await ask({ method: 'GET', path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases` }),
      ];
      expect([user, ...refused.map(statusOf)]).toEqual([user, 403, 403, 403, 403]);
    }
    // With the object itself it is sent in vain.
    const editor = as('editor');
    const body = { ...documentOf(kind, {}, { metadata: { name: 'web' } }), status: forged };
    const tried = [
      await editor({ method: 'PATCH', path: `${at(kind)}/web`, type: merge, body: { status: forged } }),
      await editor({
        method: 'PATCH',
        path: `${at(kind)}/web?fieldManager=editor&force=true`,
        type: 'application/apply-patch+yaml',
        body,
      }),
      await editor({
        method: 'POST',
        path: at(kind),
        body: { ...documentOf(kind, {}, { metadata: { name: 'new' } }), status: forged },
      }),
    ];
    expect(tried.map(statusOf)).toEqual([200, 200, 201]);
    for (const answer of tried) expect(answer.body.status?.id).toBeUndefined();
  },
);
