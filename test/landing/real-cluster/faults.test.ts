/** Parts of the cluster fail under an operator that runs in it: nothing is made twice, nothing is lost, and how long it takes is printed. */
import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { reviewToken } from '../../../src/kubernetes/index.ts';
import { isMutation, keysWithTwoBodies } from '../../support/processes/control-plane.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { isWithoutNode, system, useInstalled, type Shop } from '../../support/processes/installed.ts';
import { whoseNode, type ClusterNode } from '../../support/processes/node.ts';
import { eventually, nowMs, sleep } from '../../support/processes/processes.ts';

const run = promisify(execFile);

/** A cluster of others keeps its parts. */
const isUnbroken = isWithoutNode || whoseNode() === 'others';
if (isUnbroken && !isWithoutNode) {
  process.stderr.write(
    '\n*** SKIPPED: no part of a real cluster fails here: that needs CLUSTER_ASSETS ***\n',
  );
}

const names = Array.from({ length: 50 }, (_, index) => `app-${index}`);
const pace = { requests: { perSecond: 5, burst: 2, concurrency: 2 } };
const longMs = 180_000;

interface Fault {
  readonly what: string;
  readonly begin: (node: ClusterNode) => Promise<void>;
  readonly end: (node: ClusterNode) => Promise<void>;
  readonly seconds: number;
}

const restarted = (part: 'apiserver' | 'etcd', seconds: number): Fault => ({
  what: `${part} killed, started ${seconds} s later`,
  begin: (node) => node.signal(part, 'KILL'),
  end: (node) => node.startPart(part),
  seconds,
});
const killed = (part: 'kubelet' | 'containerd'): Fault => ({
  what: `${part} killed, started again by itself`,
  begin: (node) => node.signal(part, 'KILL'),
  end: () => Promise.resolve(),
  seconds: 0,
});
const stopped: Fault = {
  what: 'kubelet and containerd stopped for 60 s',
  begin: async (node) => {
    await node.signal('kubelet', 'STOP');
    await node.signal('containerd', 'STOP');
  },
  end: async (node) => {
    await node.signal('containerd', 'CONT');
    await node.signal('kubelet', 'CONT');
  },
  seconds: 60,
};

const faults: readonly Fault[] = [
  restarted('apiserver', 2),
  restarted('apiserver', 30),
  restarted('etcd', 2),
  restarted('etcd', 30),
  killed('kubelet'),
  killed('containerd'),
  stopped,
];

const imageOf = (version: number) => `ghcr.io/acme/app:${version}`;

function rollOut(shop: Shop, version: number): Promise<string> {
  return shop.apply(names.map((name) => service(name, { image: imageOf(version) })));
}

async function mutationsOf({ plane }: Shop): Promise<number> {
  return (await plane.requests()).filter(isMutation).length;
}

/** How many of them are not at that version, or not at all. */
async function missingOf({ plane }: Shop, version: number): Promise<number> {
  const { services } = await plane.account();
  return names.length - services.filter(({ image }: Json) => image === imageOf(version)).length;
}

async function untilRolledOut(shop: Shop, version: number): Promise<void> {
  let missing = names.length;
  await eventually(
    `all of them at version ${version}`,
    async () => {
      missing = await missingOf(shop, version);
      return missing === 0;
    },
    longMs,
    () => missing,
  );
}

/** Waits until the API server answers, and every object has its status. */
async function untilReady(shop: Shop, version: number): Promise<void> {
  await eventually(
    'all of them Ready',
    async () => {
      try {
        const { items } = await shop.show('containerservices');
        return items.every(
          ({ spec, metadata, status }: Json) =>
            spec.image === imageOf(version) &&
            status?.observedGeneration === metadata.generation &&
            status.conditions.some((each: Json) => each.type === 'Ready' && each.status === 'True'),
        );
      } catch {
        return false;
      }
    },
    longMs,
  );
}

describe.skipIf(isUnbroken)('a cluster whose parts fail', () => {
  const installed = useInstalled();

  test(
    'of fifty services none is made twice and none is lost, whichever part is killed under the operator',
    { timeout: 1_800_000 },
    async () => {
      const { node } = installed();
      const shop = await installed().shop(pace, { timeScale: 600 });
      for (const [index, { what, begin, end, seconds }] of faults.entries()) {
        const version = index + 1;
        const before = await mutationsOf(shop);
        await rollOut(shop, version);
        await eventually('some work', async () => (await mutationsOf(shop)) >= before + 10, longMs);
        const duringMs = nowMs();
        await begin(node);
        await sleep(seconds * 1000);
        const atEnd = await mutationsOf(shop);
        await end(node);
        const endedMs = nowMs();
        // Not all parts are needed: without a kubelet, the rest may have been made meanwhile.
        await eventually(
          'more work, if there is some',
          async () => (await mutationsOf(shop)) > atEnd || (await missingOf(shop, version)) === 0,
          longMs,
        );
        const firstMs = nowMs() - endedMs;
        await untilRolledOut(shop, version);
        await untilReady(shop, version);
        const during = `${atEnd - before} mutations before its end`;
        const figures = [
          during,
          `the next one after ${firstMs} ms`,
          `all Ready after ${nowMs() - endedMs} ms`,
        ];
        const load = (loadavg()[0] ?? 0).toFixed(1);
        process.stderr.write(
          `${what}: down ${endedMs - duringMs} ms, ${figures.join(', ')}; load average ${load}\n`,
        );
      }
      const { services } = await shop.plane.account();
      expect(services.map(({ name }: Json) => name).sort()).toEqual([...names].sort());
      const sent = (await shop.plane.requests()).filter(isMutation);
      expect(keysWithTwoBodies(sent)).toEqual([]);
      const made = sent.filter(({ path, status }) => path === '/api/services' && status === 201);
      expect(new Set(made.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(names.length);
    },
  );

  test(
    'the operator continues with a new token when the one that it started with is not valid any more',
    { timeout: 600_000 },
    async () => {
      const { node } = installed();
      const shop = await installed().shop();
      await shop.apply([service('web')]);
      await shop.untilReady('containerservice');
      const before = await restartsOf(node);
      const token = (await node.kubectl('-n', system, 'create', 'token', 'fleetkeeper')).trim();
      expect(await reviewToken(shop.api, token)).toBeDefined();
      await rotateKeys(node);
      expect(await reviewToken(shop.api, token)).toBeUndefined();
      await shop.apply([service('web', { image: imageOf(2) })]);
      // Only a kubelet that starts anew asks for tokens before theirs are due.
      await node.signal('kubelet', 'KILL');
      await eventually(
        'the change',
        async () => (await shop.plane.service('web')).image === imageOf(2),
        longMs,
      );
      expect(await restartsOf(node)).toEqual(before);
    },
  );
});

/** Of the operator's Pods, by their names. */
async function restartsOf(node: ClusterNode): Promise<string> {
  const columns = '{range .items[*]}{.metadata.name} {.status.containerStatuses[*].restartCount}{"\\n"}{end}';
  return node.kubectl('-n', system, 'get', 'pods', '-o', `jsonpath=${columns}`);
}

/** The API server then trusts no token that was issued before. */
async function rotateKeys(node: ClusterNode): Promise<void> {
  const [key, pub] = [node.file('pki', 'sa.key'), node.file('pki', 'sa.pub')];
  await run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${key}.new`]);
  await run('openssl', ['ec', '-in', `${key}.new`, '-pubout', '-out', `${pub}.new`]);
  await rename(`${key}.new`, key);
  await rename(`${pub}.new`, pub);
  await node.signal('apiserver', 'KILL');
  await node.startPart('apiserver');
  await eventually(
    'its answer',
    () => node.kubectl('get', '--raw', '/readyz').catch(() => false as const),
    60_000,
  );
}
