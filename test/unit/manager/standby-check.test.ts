/** With several namespaces: which of them a replica that waits for the Lease has to be able to read before it is ready. */
import { expect, test } from 'vitest';
import pino from 'pino';
import { systemRandom } from '../../../src/base/index.ts';
import { KubernetesError, type KubernetesObject, type ResourceType } from '../../../src/kubernetes/index.ts';
import { StandbyCheck } from '../../../src/manager/standby-check.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const leaseMs = 15_000;

/** `refused`: by namespace, the kinds that can't be listed; `true`: none can. */
class World {
  readonly clock = new ManualClock();
  readonly refused: Record<string, readonly string[] | true> = {};
  holder = 'leader';
  /** Undefined: an earlier version, which does not show them. */
  reads: readonly string[] | undefined = ['shop', 'lab'];
  #renewals = 0;
  #isRenewed = true;

  readonly api = {
    namespace: 'fleetkeeper-system',
    list: async ({ plural }: ResourceType, { namespace = '' }: { namespace?: string | undefined }) => {
      const refused = this.refused[namespace] ?? [];
      if (refused === true || refused.includes(plural))
        throw new KubernetesError('forbidden', { status: 403 });
      return { items: [], resourceVersion: '1', continueToken: undefined };
    },
    get: async (): Promise<KubernetesObject> => {
      if (this.#isRenewed) this.#renewals += 1;
      const { holder, reads: namespaces } = this;
      const shown = namespaces && { 'fleetkeeper.dev/reads': JSON.stringify({ holder, namespaces }) };
      return {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          name: 'fleetkeeper',
          namespace: 'fleetkeeper-system',
          uid: 'uid-1',
          resourceVersion: String(this.#renewals),
          ...(shown ? { annotations: shown } : {}),
        },
        spec: { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: String(this.#renewals) },
      };
    },
    create: () => Promise.reject(new Error('not of this test')),
    replace: () => Promise.reject(new Error('not of this test')),
  };

  leaderDies(): void {
    this.#isRenewed = false;
  }

  /** Why it is not ready, some time later. */
  async problemAfter(check: StandbyCheck, ms: number): Promise<string | undefined> {
    await this.clock.advance(ms);
    return check.problem;
  }

  begin(): StandbyCheck {
    const { api, clock } = this;
    const check = new StandbyCheck({
      api,
      identity: 'fresh',
      namespaces: ['shop', 'lab', 'prod'],
      shard: undefined,
      leaseMs,
      clock,
      random: systemRandom,
      logger: pino({ level: 'silent' }),
    });
    void check.run();
    return check;
  }
}

test('a namespace that the leader reads, and in which a kind can not be listed, makes a replica unready until that is mended', async () => {
  const world = new World();
  world.refused['lab'] = ['servicefleets'];
  const check = world.begin();
  expect(await world.problemAfter(check, 600_000)).toMatch(
    /servicefleets can't be listed in the namespace lab: forbidden/,
  );
  world.refused['lab'] = [];
  expect(await world.problemAfter(check, 60_000)).toBeUndefined();
});

test.each([
  ['of which no kind can be listed', 'lab', true, ['shop', 'lab']],
  ['that the leader can not read either', 'prod', ['servicefleets'], ['shop', 'lab']],
] as const)('a namespace %s is left out', async (_what, namespace, refused, reads) => {
  const world = new World();
  world.reads = reads;
  world.refused[namespace] = refused;
  expect(await world.problemAfter(world.begin(), 0)).toBeUndefined();
});

test.each([
  ['reads all namespaces', ['*']],
  ['does not show what it reads', undefined],
])('a leader that %s may read each of them', async (_what, reads) => {
  const world = new World();
  world.reads = reads;
  world.refused['prod'] = ['servicefleets'];
  expect(await world.problemAfter(world.begin(), 600_000)).toMatch(/in the namespace prod/);
});

test('so may one that has just begun, but none that never reads anything', async () => {
  const world = new World();
  world.reads = [];
  world.refused['prod'] = ['servicefleets'];
  const check = world.begin();
  expect(await world.problemAfter(check, 60_000)).toMatch(/in the namespace prod/);
  expect(await world.problemAfter(check, 120_000)).toBeUndefined();
});

test('while nobody leads, one namespace that can be read is enough', async () => {
  const world = new World();
  world.holder = '';
  world.refused['lab'] = ['servicefleets'];
  world.refused['prod'] = ['servicefleets'];
  expect(await world.problemAfter(world.begin(), 0)).toBeUndefined();
});

test('once the leader is gone, the people of one namespace do not keep the others without one', async () => {
  const world = new World();
  world.refused['lab'] = ['servicefleets'];
  const check = world.begin();
  expect(await world.problemAfter(check, 600_000)).toBeDefined();
  world.leaderDies();
  expect(await world.problemAfter(check, 2 * leaseMs)).toBeUndefined();
});

test('a kind that can be listed in no namespace makes a replica unready, whoever leads', async () => {
  const world = new World();
  world.holder = '';
  for (const namespace of ['shop', 'lab', 'prod']) world.refused[namespace] = ['servicefleets'];
  expect(await world.problemAfter(world.begin(), 600_000)).toMatch(/servicefleets can't be listed/);
});
