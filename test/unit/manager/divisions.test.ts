/** Operators that divide one cluster in different ways never act beside each other. */
import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/base/index.ts';
import { shardOf, type Shard } from '../../../src/desired/index.ts';
import { KubernetesError, type KubernetesObject } from '../../../src/kubernetes/index.ts';
import {
  isOfOtherDivision,
  leaseName,
  leaseNames,
  refuseOtherDivision,
  tasksOf,
} from '../../../src/manager/divisions.ts';
import { createLogger } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const part = (index: number, count: number, by: Shard['by']): Shard => ({ index, count, by });

class Leases {
  readonly clock = new ManualClock();
  readonly log: string[] = [];
  readonly stop = new AbortController();
  failure: KubernetesError | undefined;
  readonly #versions = new Map<string, number>();
  outcome: 'pending' | 'allowed' | Error = 'pending';

  hold(name: string): void {
    this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
  }

  giveBack(name: string): void {
    this.#versions.delete(name);
  }

  begin(shard: Shard | undefined): void {
    refuseOtherDivision({
      api: { namespace: 'fleetkeeper-system', list: () => this.#list() },
      shard,
      leaseMs: 15_000,
      clock: this.clock,
      logger: createLogger('info', { write: (line) => void this.log.push(line) }),
      signal: this.stop.signal,
    }).then(
      () => (this.outcome = 'allowed'),
      (error: Error) => (this.outcome = error),
    );
  }

  async #list() {
    if (this.failure) throw this.failure;
    const items = Array.from(this.#versions, ([name, version]): KubernetesObject => {
      const metadata = { name, namespace: 'fleetkeeper-system', uid: name, resourceVersion: String(version) };
      const spec = { holderIdentity: `pod-of-${name}`, leaseDurationSeconds: 15 };
      return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    });
    return { items, resourceVersion: '1', continueToken: undefined };
  }
}

describe('an operator that starts', () => {
  test('beside none, or beside others of its own division, is allowed at once', async () => {
    for (const [shard, held] of [
      [undefined, ['fleetkeeper', 'somebody-else']],
      [part(0, 3, 'account'), ['fleetkeeper-0-of-3', 'fleetkeeper-2-of-3']],
      [part(1, 3, 'namespace'), ['fleetkeeper-ns-0-of-3', 'fleetkeeper-controller-0-of-2']],
    ] as const) {
      const leases = new Leases();
      for (const name of held) leases.hold(name);
      leases.begin(shard);
      await leases.clock.advance(0);
      expect(leases.outcome).toBe('allowed');
    }
  });

  test.each([
    ['all of it, beside parts', undefined, 'fleetkeeper-0-of-3'],
    ['a part, beside one that has all', part(0, 3, 'account'), 'fleetkeeper'],
    ['a part, beside another number', part(0, 3, 'account'), 'fleetkeeper-1-of-2'],
    ['a part by namespace, beside one by account', part(0, 3, 'namespace'), 'fleetkeeper-0-of-3'],
    ['a part by account, beside one by namespace', part(0, 3, 'account'), 'fleetkeeper-ns-1-of-3'],
  ])('for %s, is refused as soon as that one renews its Lease', async (_name, shard, other) => {
    const leases = new Leases();
    leases.hold(other);
    leases.begin(shard);
    await leases.clock.advance(1000);
    expect(leases.outcome).toBe('pending');
    leases.hold(other);
    await leases.clock.advance(3000);
    expect(leases.outcome).toBeInstanceOf(UserError);
    expect(String(leases.outcome)).toContain(`pod-of-${other}`);
  });

  test('waits for a Lease whose holder is gone until it has expired as seen from here', async () => {
    const leases = new Leases();
    leases.hold('fleetkeeper');
    leases.begin(part(0, 2, 'namespace'));
    await leases.clock.advance(13_000);
    expect(leases.outcome).toBe('pending');
    await leases.clock.advance(4000);
    expect(leases.outcome).toBe('allowed');
    expect(leases.log.join('')).toContain('waits until they have expired');
  });

  test('is allowed as soon as the other has given its Lease back', async () => {
    const leases = new Leases();
    leases.hold('fleetkeeper');
    leases.begin(part(0, 2, 'namespace'));
    await leases.clock.advance(1000);
    leases.giveBack('fleetkeeper');
    await leases.clock.advance(2000);
    expect(leases.outcome).toBe('allowed');
  });

  test('is refused by one that appears while it waits', async () => {
    const leases = new Leases();
    leases.hold('fleetkeeper-0-of-2');
    leases.begin(undefined);
    await leases.clock.advance(1000);
    leases.hold('fleetkeeper-1-of-2');
    await leases.clock.advance(2000);
    expect(leases.outcome).toBeInstanceOf(UserError);
  });

  test('without the right to list Leases logs that nothing is checked, and continues', async () => {
    const leases = new Leases();
    leases.failure = new KubernetesError('leases is forbidden', { status: 403 });
    leases.begin(undefined);
    await leases.clock.advance(0);
    expect(leases.outcome).toBe('allowed');
    expect(leases.log.join('')).toContain('leases is forbidden');
  });

  test('asks again while the API server does not answer', async () => {
    const leases = new Leases();
    leases.failure = new KubernetesError('not now', { status: 503 });
    leases.hold('fleetkeeper-0-of-2');
    leases.begin(undefined);
    await leases.clock.advance(5000);
    expect(leases.outcome).toBe('pending');
    leases.failure = undefined;
    await leases.clock.advance(2000);
    leases.hold('fleetkeeper-0-of-2');
    await leases.clock.advance(3000);
    expect(leases.outcome).toBeInstanceOf(UserError);
  });

  test('is not held up when it is stopped', async () => {
    const leases = new Leases();
    leases.hold('fleetkeeper-0-of-2');
    leases.begin(undefined);
    await leases.clock.advance(0);
    leases.stop.abort();
    await leases.clock.advance(2000);
    expect(leases.outcome).toBe('allowed');
  });
});

test('no part of a division is of another one, and each of any other is', () => {
  const divisions = [
    [undefined],
    ...[2, 3].flatMap((count) =>
      (['account', 'namespace'] as const).map((by) =>
        Array.from({ length: count }, (_, index) => part(index, count, by)),
      ),
    ),
  ];
  for (const own of divisions)
    for (const other of divisions)
      for (const mine of own)
        for (const theirs of other) expect(isOfOtherDivision(leaseName(theirs), mine)).toBe(own !== other);
});

test('the tasks of a namespace are created by one operator of each division', () => {
  for (const by of ['account', 'namespace'] as const)
    for (const namespace of ['team-a', 'team-b', 'research', 'default']) {
      const creators = [0, 1, 2].filter((index) => {
        const creates = tasksOf(part(index, 3, by));
        return creates && creates(namespace);
      });
      expect(creators).toEqual([by === 'account' ? 0 : shardOf(namespace, 3)]);
    }
});

test.each([
  [undefined, ['fleetkeeper']],
  [part(1, 3, 'account'), ['fleetkeeper-0-of-3', 'fleetkeeper-1-of-3', 'fleetkeeper-2-of-3']],
  [part(0, 2, 'namespace'), ['fleetkeeper-ns-0-of-2', 'fleetkeeper-ns-1-of-2']],
])('%j: each operator knows the Leases of all parts', (shard, names) => {
  expect(leaseNames(shard)).toEqual(names);
  expect(names).toContain(leaseName(shard));
});
