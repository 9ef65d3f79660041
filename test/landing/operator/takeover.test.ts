/** Replicas that are killed, and those that take over. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { keysWithTwoBodies, type ControlPlane } from '../../support/processes/control-plane.ts';
import { service } from '../../support/processes/fleet.ts';
import { createWorld, mutations, namesAt, replica, untilLed } from '../../support/processes/operator.ts';
import { eventually, type Program } from '../../support/processes/processes.ts';
import { seed } from '../../support/seed.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const kills = 20;
const names = Array.from({ length: 100 }, (_, index) => `app-${index}`);

const imageOf = (version: number) => `ghcr.io/acme/app:${version}`;

function rollout(version: number): object[] {
  return names.map((name) =>
    service(name, { image: imageOf(version), env: [{ name: 'NAME', value: name }] }),
  );
}

/** Answered 409, and not because of a lost answer that was asked for again. */
async function conflicts(plane: ControlPlane): Promise<number> {
  return (await mutations(plane)).filter(({ status }) => status === 409).length;
}

test(`of 100 services none is made twice though the leader is killed twenty times (SEED=${seed})`, async () => {
  // What this API has made it shows at once.
  const pace = { requests: { perSecond: 20, burst: 4, concurrency: 4 }, visibilitySeconds: 2 };
  const { plane, fleet } = await createWorld(pace, { timeScale: 600 });
  const random = new SeededRandom(seed);
  let version = 1;
  await fleet.write('services.yaml', rollout(version));
  const start = () => replica(fleet, ['--lease', '2s', '--log-level', 'warn']);
  let replicas = [start(), start()];
  let leader = await untilLed(fleet, replicas, 120_000);
  for (let killed = 0; killed < kills; killed += 1) {
    const before = (await mutations(plane)).length;
    // The first kills hit creations, the others changes of what was created; there is always something left to be done.
    if (before + 20 > version * names.length) {
      version += 1;
      await fleet.write('services.yaml', rollout(version));
    }
    await eventually(
      'some work of the leader',
      async () => !leader.running || (await mutations(plane)).length >= before + 6,
      120_000,
    );
    await delay(random.between(0, 100));
    await leader.kill('SIGKILL');
    replicas = [...replicas.filter(({ running }: Program) => running), start()];
    leader = await untilLed(fleet, replicas, 120_000);
  }
  await fleet.untilReady(100);
  expect(await namesAt(plane)).toEqual([...names].sort());
  expect(new Set((await plane.account()).services.map(({ image }: { image: string }) => image))).toEqual(
    new Set([imageOf(version)]),
  );
  const sent = await mutations(plane);
  const created = sent.filter(({ path, status }) => path === '/api/services' && status === 201);
  // A creation that is sent again with its key is answered as it was, and made once; one whose sender was killed may have no answer.
  expect(new Set(created.map(({ idempotencyKey }) => idempotencyKey)).size).toBeLessThanOrEqual(100);
  expect(keysWithTwoBodies(sent)).toEqual([]);
  expect(await conflicts(plane)).toBeLessThanOrEqual(kills);
  // How soon the next one leads is a matter of the clock: test/servers/kubernetes/election.test.ts.
}, 900_000);
