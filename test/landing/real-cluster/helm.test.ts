/**
 * The Helm charts as charts/fleetkeeper/README.md has them: an older version installed, upgraded, divided into shards, removed, and taken over
 * from kustomize, while a fleet lives on. The control plane is a process of this machine.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { chartsFolder } from '../../support/helm/chart.ts';
import { helm, whatHelmNeeds } from '../../support/helm/program.ts';
import { isMutation, keysWithTwoBodies } from '../../support/processes/control-plane.ts';
import { account, service, volume, type Json } from '../../support/processes/fleet.ts';
import { imageTag } from '../../support/processes/image.ts';
import {
  Installed,
  isWithoutNode,
  loadImage,
  system,
  writeKustomization,
  type Shop,
} from '../../support/processes/installed.ts';
import { ClusterNode, whoseNode } from '../../support/processes/node.ts';
import { eventually, nowMs } from '../../support/processes/processes.ts';

const need = whatHelmNeeds();
if (need)
  process.stderr.write(`\n*** SKIPPED: no Helm chart is installed in a real cluster here: ${need} ***\n`);

/** It installs for the whole cluster, so only in one of its own. */
const isUnasked = isWithoutNode || need !== undefined || whoseNode() === 'others';

const namespace = 'shop';
const definitions = 'fleetkeeper-crds';
const operator = 'fleetkeeper';
const reuse = ['--reset-then-reuse-values', '--wait', '--timeout=3m'];
const isOurs = 'app.kubernetes.io/name=fleetkeeper';
const newer = { quietPollSeconds: 30 };

/** Exactly once, or the file is not what this test was written for. */
function without(file: string, part: RegExp): void {
  const text = readFileSync(file, 'utf8');
  expect(text.match(part)).toHaveLength(1);
  writeFileSync(file, text.replace(part, ''));
}

/** The charts before they had one of the values, and the kinds one of their fields. Returns their folder. */
function olderCharts(folder: string): string {
  const older = path.join(folder, 'older');
  cpSync(chartsFolder, older, { recursive: true });
  without(path.join(older, operator, 'values.yaml'), /^notifications:\n(?: .*\n)+/gm);
  without(
    path.join(older, operator, 'templates/operators.yaml'),
    /^ *\{\{- if \$\.Values\.notifications\.allowPrivate \}\}\n.*\n *\{\{- end \}\}\n/gm,
  );
  const accounts = path.join(older, definitions, 'templates/accounts.yaml');
  const [header = '', ...lines] = readFileSync(accounts, 'utf8').split('\n');
  const definition: Json = parse(lines.join('\n'));
  const { spec } = definition.spec.versions[0].schema.openAPIV3Schema.properties;
  const rules = 'x-kubernetes-validations';
  for (const name of Object.keys(newer)) {
    expect(spec.properties).toHaveProperty(name);
    delete spec.properties[name];
    spec[rules] = spec[rules].filter(({ rule }: Json) => !rule.includes(name));
  }
  writeFileSync(accounts, `${header}\n${stringify(definition)}`);
  return older;
}

describe.skipIf(isUnasked)('the Helm charts in a real cluster', () => {
  let node: ClusterNode;
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-helm-'));
  const times: Record<string, string> = {};

  beforeAll(async () => {
    node = await ClusterNode.start();
    await loadImage(node, folder);
  }, 300_000);
  afterAll(async () => {
    process.stdout.write(`the charts: ${JSON.stringify(times)}\n`);
    await node?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const timed = async <Value>(what: string, work: () => Promise<Value>): Promise<Value> => {
    const startedMs = nowMs();
    const value = await work();
    times[what] = `${((nowMs() - startedMs) / 1000).toFixed(1)} s`;
    return value;
  };
  const release = (...args: string[]) => helm(['--kubeconfig', node.kubeconfig, '-n', system, ...args]);
  const ofSystem = (...args: string[]) => node.kubectl('-n', system, ...args);
  const [repository, tag] = imageTag.split(/:(?=[^:]*$)/);
  const namesOf = async (kinds: string, ...args: string[]): Promise<string[]> =>
    (await ofSystem('get', kinds, '-o', 'name', ...args)).split('\n').filter(Boolean).sort();
  const leases = async (): Promise<Record<string, string>> => {
    const { items } = JSON.parse(await ofSystem('get', 'leases', '-o', 'json'));
    return Object.fromEntries(items.map(({ metadata, spec }: Json) => [metadata.name, spec.holderIdentity]));
  };
  /** Helm waits for Deployments only, not for the end of Pods. */
  const untilEnded = () => ofSystem('wait', '--for=delete', 'pod', '-l', isOurs, '--timeout=120s');

  /** Objects as the cluster knows them, and what they stand for at the provider. */
  const identities = async (shop: Shop): Promise<Record<string, string>> => {
    const { items } = await shop.show('accounts,containerservices,storagevolumes');
    return Object.fromEntries(
      items.map(({ kind, metadata, status }: Json) => [
        `${kind} ${metadata.name}`,
        `${metadata.uid} ${status.id}`,
      ]),
    );
  };
  const untilImage = (shop: Shop, name: string, wanted: string) =>
    eventually(`${wanted}, at work`, async () => (await shop.plane.service(name)).image === wanted, 90_000);
  const change = async (shop: Shop, version: number) => {
    const wanted = `ghcr.io/acme/app:${version}`;
    await shop.apply([service('web', { image: wanted })]);
    await untilImage(shop, 'web', wanted);
  };

  /** The port of the control plane is neither 443 nor 6443. */
  const given = ({ plane }: Shop) => [
    '--set',
    `image.repository=${repository},image.tag=${tag},networkPolicy.extraPorts={${new URL(plane.url).port}}`,
  ];
  const install = async (charts: string): Promise<Shop> => {
    await node.kubectl('create', 'namespace', system);
    await node.kubectl('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
    await release('install', definitions, path.join(charts, definitions));
    const shop = await new Installed(node, [namespace]).shop();
    await release('install', operator, path.join(charts, operator), ...given(shop), '--wait', '--timeout=3m');
    return shop;
  };
  const upgrade = (...args: string[]) =>
    release('upgrade', operator, path.join(chartsFolder, operator), ...reuse, ...args);

  async function upgradeBoth(shop: Shop): Promise<void> {
    const asked = account(shop.plane.url, { insecure: true, ...newer });
    await expect(shop.apply(asked)).rejects.toThrow('unknown field "spec.quietPollSeconds"');
    await release('upgrade', definitions, path.join(chartsFolder, definitions));
    await shop.apply(asked);
    await timed('upgraded, with the page', () => upgrade('--set', 'page.enabled=true'));
    expect(await namesOf('deployments')).toEqual(
      [operator, `${operator}-page`].map((name) => `deployment.apps/${name}`),
    );
  }

  async function divide(): Promise<void> {
    await upgrade('--set', 'replicas=0,page.enabled=false');
    await untilEnded();
    await upgrade('--set', 'replicas=1,shards=2,notifications.allowPrivate=true');
    await eventually('a leader of each shard', async () => {
      const held = await leases();
      return [0, 1].every((shard) => held[`${operator}-${shard}-of-2`]?.startsWith(`${operator}-${shard}-`));
    });
    expect(await namesOf('deployments')).toEqual(
      [0, 1].map((shard) => `deployment.apps/${operator}-${shard}`),
    );
    const args = 'jsonpath={.spec.template.spec.containers[0].args}';
    expect(await ofSystem('get', 'deployment', `${operator}-1`, '-o', args)).toContain(
      '--notify-allow-private',
    );
  }

  /** What neither Helm nor an operator makes, in a namespace of a release. */
  const ofTheCluster = /^(configmap|serviceaccount)\/(?!fleetkeeper)/;

  async function remove(shop: Shop): Promise<void> {
    const before = await identities(shop);
    await timed('removed', async () => {
      await release('uninstall', operator, '--wait');
      await untilEnded();
    });
    const kinds =
      'all,secrets,configmaps,leases,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets';
    const left = (await namesOf(kinds)).filter((name) => !ofTheCluster.test(name));
    expect(left).toEqual([
      ...Object.keys(await leases()).map((name) => `lease.coordination.k8s.io/${name}`),
      'secret/fleetkeeper-state',
      ...[1, 2].map((version) => `secret/sh.helm.release.v1.${definitions}.v${version}`),
    ]);
    const rights = await node.kubectl('get', 'clusterroles,clusterrolebindings', '-o', 'name');
    expect(rights).not.toContain('fleetkeeper');
    expect(await release('uninstall', definitions)).toContain('kept due to the resource policy');
    expect(await release('list', '--short')).toBe('');
    expect(await identities(shop)).toEqual(before);
    expect((await shop.plane.account()).services).toHaveLength(2);
  }

  /** By kustomize, whose objects Helm takes over while the Pods stay. */
  async function takeOver(shop: Shop): Promise<void> {
    await node.kubectl('apply', '-k', await writeKustomization(folder, node, [namespace]));
    await ofSystem('rollout', 'status', `deployment/${operator}`, '--timeout=120s');
    const before = await namesOf('pods');
    const own = ['--take-ownership', '--wait', '--timeout=3m'];
    await release('install', definitions, path.join(chartsFolder, definitions), ...own);
    await release('install', operator, path.join(chartsFolder, operator), ...given(shop), ...own);
    expect(await namesOf('pods')).toEqual(before);
  }

  test('a fleet lives on while they are installed, upgraded, removed, and installed again', async () => {
    const older = olderCharts(folder);
    const shop = await timed('an older version installed', () => install(older));
    await timed('a fleet Ready', async () => {
      await shop.apply([service('web'), service('worker'), volume('data')]);
      await shop.untilReady('accounts,containerservices,storagevolumes');
    });
    const before = await identities(shop);
    expect(Object.keys(before)).toHaveLength(4);

    await upgradeBoth(shop);
    await change(shop, 2);
    expect(await identities(shop)).toEqual(before);

    await timed('divided into two shards', divide);
    await change(shop, 3);

    await remove(shop);
    await timed('installed by kustomize, and taken over', () => takeOver(shop));
    await change(shop, 4);
    expect(await identities(shop)).toEqual(before);

    const sent = (await shop.plane.requests()).filter(isMutation);
    expect(keysWithTwoBodies(sent)).toEqual([]);
    const made = sent.filter(({ path: of, status }) => of === '/api/services' && status === 201);
    expect(made).toHaveLength(2);

    await timed('a definition deleted, and with it what its objects stand for', () =>
      node.kubectl('delete', 'crd', 'containerservices.fleetkeeper.dev', '--timeout=120s'),
    );
    expect((await shop.plane.account()).services).toEqual([]);
    expect(await release('uninstall', operator, '--wait')).toContain('uninstalled');
  }, 900_000);
});
