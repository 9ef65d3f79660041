/** An operator leads only while no other division is at work: it examines that at its start, and again when it has its Lease. */
import { expect, test } from 'vitest';
import { UserError } from '../../../src/base/index.ts';
import type { Shard } from '../../../src/desired/index.ts';
import { Operator } from '../../../src/manager/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeApi, surroundings } from './support.ts';

const byNamespace: Shard = { index: 0, count: 3, by: 'namespace' };

class World {
  readonly clock = new ManualClock(0);
  readonly api = new FakeApi(this.clock);
  readonly stop = new AbortController();

  hold(name: string, holderIdentity: string): void {
    this.api.put(name, { holderIdentity, leaseDurationSeconds: 15, renewTime: String(this.clock.wallMs()) });
  }

  begin(identity: string, shard: Shard | undefined) {
    const operator = new Operator({
      ...surroundings(this.clock),
      api: this.api,
      identity,
      environment: { url: undefined, apiKey: () => undefined },
      owner: undefined,
      namespaces: [],
      shard,
      leaseMs: 15_000,
      settleMs: 1000,
      stopped: this.stop.signal,
    });
    const end: { why?: unknown } = {};
    operator.run().catch((error: unknown) => (end.why = error));
    return { operator, end };
  }

  /** The other division renews its Lease meanwhile. */
  async passWith(other: string, seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 1) {
      this.hold(other, 'pod-of-the-other');
      // oxlint-disable-next-line no-await-in-loop -- one second after the other
      await this.clock.advance(1000);
    }
  }
}

test('a standby of one division that takes the Lease over beside another one does not lead', async () => {
  const world = new World();
  world.hold('fleetkeeper', 'its-leader');
  const { operator, end } = world.begin('standby', undefined);
  await world.clock.advance(100);
  expect(operator.readiness).toEqual([{ name: 'standby', problem: undefined }]);
  world.hold('fleetkeeper', '');
  await world.passWith('fleetkeeper-ns-0-of-3', 10);
  expect(end.why).toBeInstanceOf(UserError);
  expect(String(end.why)).toContain('pod-of-the-other');
  expect(operator.store).toBeUndefined();
  expect(world.api.objects.get('fleetkeeper')?.spec).toMatchObject({ holderIdentity: '' });
});

test('of two divisions that begin at once, one at least does not lead', async () => {
  const world = new World();
  const all = [world.begin('one', undefined), world.begin('other', byNamespace)];
  await world.clock.advance(30_000);
  expect(all.filter(({ end }) => end.why instanceof UserError).length).toBeGreaterThan(0);
  expect(all.filter(({ operator }) => operator.store).length).toBeLessThan(2);
  world.stop.abort();
});

test('until it is known that no other division is at work, an operator is not ready', async () => {
  const world = new World();
  world.hold('fleetkeeper-ns-0-of-3', 'pod-of-the-other');
  const { operator, end } = world.begin('new', undefined);
  await world.clock.advance(1000);
  expect(operator.readiness).toEqual([
    { name: 'division', problem: expect.stringContaining('operators of another division') },
  ]);
  await world.passWith('fleetkeeper-ns-0-of-3', 5);
  expect(end.why).toBeInstanceOf(UserError);
  expect(operator.readiness[0]?.problem).toBeDefined();
});
