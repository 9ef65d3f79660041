import { group, managedKinds, traitsOf } from '../../../src/resources/index.ts';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { version } from '../../../src/cli/version.ts';
import {
  containerOf,
  podOf,
  violations,
  type Container,
  type PodSpec,
} from '../../support/manifests/pod-security.ts';
import {
  kustomized,
  ofKind,
  plainFiles,
  whatKustomizeNeeds,
  type Manifest,
} from '../../support/manifests/render.ts';

const need = whatKustomizeNeeds();
if (need) process.stderr.write(`the pods of overlays are NOT tested here: ${need}\n`);

/** Each with the arguments of its operators. */
const base: readonly string[] = ['run', '--source=kubernetes', '--listen=0.0.0.0:8080'];
const overlays: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '.': [base],
  'overlays/monitoring': [base],
  'overlays/sharded': [0, 1, 2].map((shard) => base.concat(`--shard=${shard}/3`)),
  'overlays/sharded-by-namespace': [0, 1, 2].map((shard) =>
    base.concat(`--shard=${shard}/3`, '--shard-by=namespace'),
  ),
  'overlays/single-namespace': [[...base, '--watch-namespaces=$(POD_NAMESPACE)', '--owner=$(POD_NAMESPACE)']],
};
const rendered: readonly (readonly [string, () => readonly Manifest[]])[] = need
  ? [['the files', () => plainFiles()]]
  : Object.keys(overlays).map((folder) => [folder, () => kustomized(folder)]);

describe.each(rendered)('the pods of %s', (_folder, render) => {
  const manifests = render();
  const deployments = ofKind(manifests, 'Deployment');

  test('are there', () => {
    expect(deployments.length).toBeGreaterThan(0);
  });

  test('pass the Pod Security profile "restricted"', () => {
    expect(deployments.flatMap((deployment) => violations(podOf(deployment)))).toEqual([]);
  });

  test('run as 65532, with a root file system that nobody can write to, and a /tmp', () => {
    for (const deployment of deployments) {
      const { securityContext, volumes } = podOf(deployment);
      const container = containerOf(deployment);
      expect(securityContext).toMatchObject({ runAsUser: 65532, runAsGroup: 65532, runAsNonRoot: true });
      expect(container.securityContext?.readOnlyRootFilesystem).toBe(true);
      expect(container.volumeMounts).toEqual([{ name: 'tmp', mountPath: '/tmp' }]);
      expect(volumes).toEqual([{ name: 'tmp', emptyDir: { sizeLimit: expect.any(String) as string } }]);
    }
  });

  test('say what they need, and how much memory is too much', () => {
    for (const deployment of deployments) {
      const { requests, limits } = containerOf(deployment).resources ?? {};
      expect(requests).toEqual({ cpu: expect.any(String) as string, memory: expect.any(String) as string });
      expect(limits).toEqual({ memory: '512Mi' });
    }
  });

  test('are asked for their health, two of each, spread over nodes, one at most missing', () => {
    const budgets = ofKind(manifests, 'PodDisruptionBudget');
    expect(budgets).toHaveLength(deployments.length);
    for (const deployment of deployments) {
      const { replicas, selector } = deployment['spec'] as { replicas: number; selector: unknown };
      const { livenessProbe, readinessProbe } = containerOf(deployment);
      expect(replicas).toBe(2);
      expect([livenessProbe?.httpGet.path, readinessProbe?.httpGet.path]).toEqual(['/healthz', '/readyz']);
      expect(podOf(deployment).topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).toContain(
        'kubernetes.io/hostname',
      );
      expect(budgets.map((budget) => budget['spec'])).toContainEqual(
        expect.objectContaining({ selector, maxUnavailable: 1 }),
      );
    }
  });

  test('have longer to stop than a request to the provider and one to the cluster may take', () => {
    for (const deployment of deployments) {
      expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThan(30 + 30 + 3);
    }
  });

  test('get the token of their ServiceAccount, which nothing else gets by itself', () => {
    const [account] = ofKind(manifests, 'ServiceAccount');
    expect(account?.['automountServiceAccountToken']).toBe(false);
    for (const deployment of deployments) {
      expect(podOf(deployment)).toMatchObject({
        serviceAccountName: account?.metadata.name,
        automountServiceAccountToken: true,
      });
    }
  });

  test('run this version, with the flags of its image and a heap below the memory limit', () => {
    const [, ofImage = ''] = /^ENV NODE_OPTIONS="(.*)"$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    for (const deployment of deployments) {
      const { image, env = [] } = containerOf(deployment);
      expect(image).toBe(`fleetkeeper:${version}`);
      const options = env.find(({ name }) => name === 'NODE_OPTIONS')?.value?.split(' ');
      expect(options).toEqual([
        ...ofImage.split(' '),
        '--max-old-space-size=384',
        '--max-semi-space-size=16',
      ]);
    }
  });
});

describe('the pod of the page', () => {
  const [deployment] = ofKind(plainFiles('components/page'), 'Deployment');
  if (!deployment) throw new Error('components/page has a Deployment');
  const pod = podOf(deployment);
  const container = containerOf(deployment);

  test('passes the Pod Security profile "restricted", writes to /tmp alone, and reads its tokens', () => {
    expect(violations(pod)).toEqual([]);
    expect(pod.securityContext).toMatchObject({ runAsUser: 65532, runAsGroup: 65532, runAsNonRoot: true });
    expect(container.securityContext?.readOnlyRootFilesystem).toBe(true);
    expect(container.volumeMounts).toEqual([
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'tokens', mountPath: '/etc/fleetkeeper-page', readOnly: true },
    ]);
  });

  test('is asked for its health, and runs this version with the flags of its image', () => {
    const { livenessProbe, readinessProbe, image, env = [] } = container;
    expect([livenessProbe?.httpGet.path, readinessProbe?.httpGet.path]).toEqual(['/healthz', '/readyz']);
    expect(image).toBe(`fleetkeeper:${version}`);
    const operator = ofKind(plainFiles(), 'Deployment').map(containerOf)[0];
    const optionsOf = (list: typeof env) => list.find(({ name }) => name === 'NODE_OPTIONS')?.value;
    expect(optionsOf(env)).toBe(optionsOf(operator?.env ?? []));
  });

  test.skipIf(need)('asks in overlays/page for tokens of the cluster, and has no Secret', () => {
    const page = ofKind(kustomized('overlays/page'), 'Deployment').find(
      ({ metadata }) => metadata.name === 'fleetkeeper-page',
    );
    if (!page) throw new Error('overlays/page has a page');
    expect(containerOf(page).args).toEqual([
      'page',
      '--source=kubernetes',
      '--listen=0.0.0.0:8080',
      '--page-host=fleetkeeper-page',
      '--page-host=fleetkeeper-page.fleetkeeper-system.svc',
      '--page-kubernetes-auth',
    ]);
    expect(podOf(page).volumes).toEqual([{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }]);
  });

  test.skipIf(need)('of one namespace lists there alone, by the name that it has there', () => {
    const page = ofKind(kustomized('overlays/page-single-namespace'), 'Deployment').find(
      ({ metadata }) => metadata.name === 'fleetkeeper-page',
    );
    if (!page) throw new Error('the overlay has a page');
    expect(containerOf(page).args).toEqual([
      'page',
      '--source=kubernetes',
      '--listen=0.0.0.0:8080',
      '--page-host=fleetkeeper-page',
      '--page-host=fleetkeeper-page.$(POD_NAMESPACE).svc',
      '--page-token-file=/etc/fleetkeeper-page/tokens',
      '--watch-namespaces=$(POD_NAMESPACE)',
    ]);
    expect(violations(podOf(page))).toEqual([]);
  });
});

test.skipIf(need).each(Object.entries(overlays))('%s runs the operators that it says', (folder, expected) => {
  const deployments = ofKind(kustomized(folder), 'Deployment');
  expect(deployments.map((deployment) => containerOf(deployment).args)).toEqual(expected);
});

test('the namespace of the operator lets in nothing that is less restricted', () => {
  const [namespace] = ofKind(plainFiles(), 'Namespace');
  expect(namespace?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
});

test.skipIf(need)('manifests/ has the definitions of all kinds', () => {
  expect(ofKind(kustomized('.'), 'CustomResourceDefinition').map(({ metadata }) => metadata.name)).toEqual(
    managedKinds.map((kind) => `${traitsOf(kind).plural}.${group}`).sort(),
  );
});

describe('the Pod Security profile', () => {
  const container: Container = {
    name: 'one',
    image: 'one',
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const pod: PodSpec = {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
  };
  const changed = (change: Container['securityContext']): PodSpec => ({
    ...pod,
    containers: [{ ...container, securityContext: { ...container.securityContext, ...change } }],
  });

  test('takes a pod that asks for nothing', () => {
    expect(violations(pod)).toEqual([]);
  });

  test.each<readonly [string, PodSpec]>([
    ['the network of the host', { ...pod, hostNetwork: true }],
    ['a folder of the host', { ...pod, volumes: [{ name: 'all', hostPath: { path: '/' } }] }],
    ['no seccomp profile', { ...pod, securityContext: { runAsNonRoot: true } }],
    ['a privileged container', changed({ privileged: true })],
    ['privileges that grow', changed({ allowPrivilegeEscalation: true })],
    ['root', changed({ runAsUser: 0 })],
    ['capabilities', changed({ capabilities: { drop: [] } })],
    ['more capabilities', changed({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } })],
  ])('refuses %s', (_what, wrong) => {
    expect(violations(wrong)).toHaveLength(1);
  });
});
