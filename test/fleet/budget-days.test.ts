/**
 * The life of a budget: what it says was spent is what the provider has taken, whatever happened meanwhile. Some hours, or as many
 * days as `DAYS` says; two take a minute.
 */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { seed } from '../support/seed.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInTime, type Json } from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';

const balance = 1_000_000_000_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: ${balance}, apiKeys: [${apiKey}]}]`;
const hourMs = 3_600_000;
const dayCount = Number(process.env['DAYS'] ?? 0.25);
const hourlyMicros = 2_000_000;

/** Days and nights, and another number of replicas on some of them. */
const schedules = [
  { name: 'day', cron: '0 8 * * *', durationMinutes: 600, timeZone: 'Europe/Madrid', replicas: 5 },
  { name: 'weekend', cron: '0 0 * * sat', durationMinutes: 2880, timeZone: 'UTC', replicas: 1 },
];

testInTime(
  `what some days have cost is what the provider took, within half a per cent, and no hour passed the limit (SEED=${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder, { accounts, timeScale: 1 }).start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url, { pollSeconds: 300 }));
    const budget = (more: object) => [
      {
        apiVersion,
        kind: 'Budget',
        metadata: { name: 'month' },
        spec: {
          accountRef: { name: 'default' },
          limits: { hourlyMicros },
          timeZone: 'Europe/Madrid',
          ...more,
        },
      },
    ];
    await fleet.write('budget.yaml', budget({}));
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, schedules })]);
    let program = fleet.run();
    const shown = async (): Promise<Json> => (await fleet.records()).get('Budget/month')?.status;
    await eventually('the first count', async () => (await shown())?.countedAt !== undefined);
    const first = await plane.account();
    const startMs = nowMs();
    let dearest = 0;
    while (nowMs() - startMs < dayCount * 24 * hourMs) {
      const count = random.between(0, 4);
      const sizes = Array.from({ length: count }, () => random.pick([1, 2, 4, 64]));
      await fleet.write(
        'web.yaml',
        sizes.map((cpu, index) => service(`web-${index}`, { resources: { cpu, memoryGb: 1 } })),
      );
      const lost = ['drop-response', 'drop-request'].map((fault) => ({
        method: 'POST',
        path: '/api/.*',
        fault,
        every: 4,
      }));
      await plane.faults(random.chance(0.5) ? lost : []);
      for (let halves = random.between(2, 8); halves > 0; halves -= 1) await sleep(hourMs / 2);
      const { services, volumes } = await plane.account();
      const burn = [...services, ...volumes].reduce(
        (sum: number, { hourlyMicros: micros }: Json) => sum + micros,
        0,
      );
      dearest = Math.max(dearest, burn);
      if (random.chance(0.15)) {
        await program.kill('SIGKILL');
        program = fleet.run();
      }
      if (random.chance(0.1)) {
        await plane.stop();
        await plane.start();
      }
    }
    const last = await plane.account();
    const { countedAt } = await shown();
    await eventually('one more count', async () => (await shown()).countedAt !== countedAt, 2 * hourMs);
    const taken = first.balanceMicros - last.balanceMicros;
    const { days } = await shown();
    const counted = days.reduce((sum: number, { micros }: Json) => sum + micros, 0);
    expect(taken).toBeGreaterThan(dayCount * 300_000);
    expect(Math.abs(counted - taken) / taken).toBeLessThan(0.005);
    expect(dearest).toBeLessThanOrEqual(hourlyMicros);
  },
  1_800_000,
);
