/** A Pod that is to be resized, of a cluster that answers as the test has it. */
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { resizeInPlace } from '../../../../src/control-plane/runtimes/kubernetes/resize.ts';
import type { Pod } from '../../../../src/control-plane/runtimes/kubernetes/pod-state.ts';
import { resources } from '../../../../src/control-plane/runtimes/kubernetes/resources.ts';
import { KubernetesError } from '../../../../src/kubernetes/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const small = { cpu: '500m', memory: '128Mi', 'ephemeral-storage': '10Gi' };
const large = { cpu: '1', memory: '256Mi', 'ephemeral-storage': '10Gi' };

interface Shown {
  readonly spec?: object;
  readonly given?: object;
  readonly conditions?: readonly object[];
}

function podWith({ spec = small, given = small, conditions = [] }: Shown = {}): Pod {
  const ofContainer = (limits: object) => ({ limits, requests: { ...limits, 'ephemeral-storage': '0' } });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'fleetkeeper-1', namespace: 'tenant', uid: 'u-1', resourceVersion: '7' },
    spec: { containers: [{ name: 'service', resources: ofContainer(spec) }, { name: 'added-by-a-mesh' }] },
    status: {
      phase: 'Running',
      conditions,
      containerStatuses: [{ name: 'service', state: { running: {} }, resources: ofContainer(given) }],
    },
  } as unknown as Pod;
}

/** Shows one Pod after the other, and the last one for good; `answer` is to what it is asked. */
function resizing(shown: readonly Shown[], answer: () => void = () => undefined, isLast = true) {
  const clock = new ManualClock();
  const asked: unknown[] = [];
  let surrounded = 0;
  const pods = shown.map(podWith);
  const result = resizeInPlace({
    cluster: {
      resize: (_target, body) => {
        asked.push(body);
        answer();
        return Promise.resolve(podWith());
      },
      until: async (_id, _signal, check) => {
        for (;;) {
          const found = await check();
          if (found !== undefined) return found;
          await new Promise<void>((resolve) => {
            clock.after(1000, resolve);
          });
        }
      },
    },
    clock,
    logger: pino({ level: 'silent' }),
    subjectId: '1',
    target: { type: resources.pods, namespace: 'tenant', name: 'fleetkeeper-1' },
    read: () => Promise.resolve(pods.length > 1 ? pods.shift() : pods[0]),
    isLast,
    surround: () => {
      surrounded += 1;
      return Promise.resolve();
    },
    wanted: { limits: large, requests: { ...large, 'ephemeral-storage': '0' } },
    bounds: { memoryGb: 0.25, ephemeralStorageGb: 10 },
    signal: new AbortController().signal,
  });
  return { clock, asked, result, surrounded: () => surrounded };
}

const refused = (status: number) => () => {
  throw new KubernetesError(`answered ${status}`, { status });
};

test('asks for the other amounts of the same containers, and waits until they are given', async () => {
  const inProgress = [{ type: 'PodResizeInProgress', status: 'True' }];
  const { clock, asked, result, surrounded } = resizing([
    {},
    { spec: large },
    { spec: large, given: large, conditions: inProgress },
    { spec: large, given: { ...large, cpu: '1000m', memory: String(2 ** 28) } },
  ]);
  await clock.advance(5000);
  const { containerStatuses, conditions } = (await result)?.status ?? {};
  expect(containerStatuses?.[0]?.resources?.limits).toMatchObject({ cpu: '1000m' });
  expect(conditions).toEqual([]);
  expect(asked).toEqual([
    {
      metadata: { resourceVersion: '7' },
      spec: {
        containers: [
          { name: 'service', resources: { limits: large, requests: { ...large, 'ephemeral-storage': '0' } } },
          { name: 'added-by-a-mesh' },
        ],
      },
    },
  ]);
  // Quota and address are as the configuration has them now.
  expect(surrounded()).toBe(1);
});

test.each([
  ['to 10 ms of a processor', { ...large, cpu: '1009m' }],
  ['to a page', { ...large, memory: String(2 ** 28 - 4096) }],
])('a node that rounds %s has done it', async (_what, given) => {
  expect(await resizing([{}, { spec: large, given }]).result).toBeDefined();
});

test('what was asked for already is not asked for twice', async () => {
  const { asked, result } = resizing([{ spec: large, given: large }]);
  expect(await result).toBeDefined();
  expect(asked).toEqual([]);
});

describe('a launch follows', () => {
  test.each([403, 404, 422, 500])('where the API server refuses it (%i)', async (status) => {
    expect(await resizing([{}], refused(status)).result).toBeUndefined();
  });

  test.each([
    ['PodResizePending', 'Deferred'],
    ['PodResizePending', 'Infeasible'],
    ['PodResizeInProgress', 'Error'],
  ])('at once where the node can not do it (%s: %s)', async (type, reason) => {
    const conditions = [{ type, status: 'True', reason }];
    expect(await resizing([{}, { spec: large, conditions }]).result).toBeUndefined();
  });

  test('where the node is not done within 30 s', async () => {
    const { clock, result } = resizing([{}, { spec: large }]);
    const ended = result.then(() => clock.monotonicMs());
    const startMs = clock.monotonicMs();
    await clock.advance(60_000);
    expect(await result).toBeUndefined();
    expect((await ended) - startMs).toBeGreaterThanOrEqual(30_000);
  });

  test('where something else differs that can not be changed in place', async () => {
    const { asked, result } = resizing([{ spec: { ...small, 'nvidia.com/gpu': '1' } }]);
    expect(await result).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

test.each([403, 500])(
  'what the cluster fails at (%i) is tried again before the container is given up',
  async (status) => {
    await expect(resizing([{}], refused(status), false).result).rejects.toThrow(`answered ${status}`);
  },
);

test.each([404, 422])('what will not change (%i) is not waited for', async (status) => {
  expect(await resizing([{}], refused(status), false).result).toBeUndefined();
});

test.each([409, 429, 503])('an API server that is busy (%i) is asked again', async (status) => {
  await expect(resizing([{}], refused(status)).result).rejects.toThrow(`answered ${status}`);
});
