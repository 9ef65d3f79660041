/**
 * The life of a budget: what it counts as spent is what the provider has taken, and no request passes a limit, whatever happens meanwhile:
 * schedules, other prices, lost answers, kill -9 of the manager and of the provider. Some hours, or as many days as `DAYS` has; 31 take some minutes.
 */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { seed } from '../support/seed.ts';
import { ProviderMeter } from '../support/provider-meter.ts';
import { apiKey, ControlPlaneProcess } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInTime, type Json } from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';

const balance = 1_000_000_000_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: ${balance}, apiKeys: [${apiKey}]}]`;
const hourMs = 3_600_000;
const dayCount = Number(process.env['DAYS'] ?? 0.25);
const timeZone = 'Europe/Madrid';
const pollSeconds = 300;
/** Within so long, an account was read, though the manager was down meanwhile. */
const readMs = 2 * pollSeconds * 1000 + 900_000;
const horizonHours = 24;
const hourlyMicros = 900_000;
const monthlyMicros = 60_000_000;
const tolerance = 0.005;
/** Of some hours, the time since the last read is more than that. */
const sinceRead = (pollSeconds * 1000) / (dayCount * 24 * hourMs);

/** Days and nights, and another number of replicas on some of them. */
const schedules = [
  { name: 'day', cron: '0 8 * * *', durationMinutes: 600, timeZone, replicas: 5 },
  { name: 'weekend', cron: '0 0 * * sat', durationMinutes: 2880, timeZone: 'UTC', replicas: 1 },
];

const budget = (name: string, limits: object) => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name },
  spec: { accountRef: { name: 'default' }, limits, timeZone, horizonHours },
});

const lostAnswers = ['drop-response', 'drop-request'].map((fault) => ({
  method: 'POST',
  path: '/api/.*',
  fault,
  every: 4,
}));

/** Acts that pass a limit. Nobody knows better than half a per cent what was spent. */
function passing({ acts }: ProviderMeter): object[] {
  return acts.filter((act) => {
    const aheadMs = Math.min(horizonHours * hourMs, act.monthLeftMs);
    const month = act.spentMicros * (1 - tolerance) + (act.hourlyMicros * aheadMs) / hourMs;
    return act.hourlyMicros > hourlyMicros || month > monthlyMicros;
  });
}

testInTime(
  `what some days have cost is what the provider took, within half a per cent, and no request passed a limit (SEED=${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const folder = await temporaryFolder();
    const plane = new ControlPlaneProcess(folder, { accounts, timeScale: 1 });
    const meter = new ProviderMeter(nowMs, timeZone, readMs);
    const start = async () => {
      await plane.start();
      meter.watch(plane);
    };
    await start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url, { pollSeconds }));
    await fleet.write('budget.yaml', [budget('hour', { hourlyMicros }), budget('month', { monthlyMicros })]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, schedules })]);
    let program = fleet.run();
    const shown = async (): Promise<Json> => (await fleet.records()).get('Budget/month')?.status;
    await eventually('the first count', async () => (await shown())?.countedAt !== undefined);
    const first = await plane.account();
    const startMs = nowMs();
    const did = { edits: 0, prices: 0, managerKills: 0, providerKills: 0, providerStops: 0, lost: 0 };
    while (nowMs() - startMs < dayCount * 24 * hourMs) {
      const sizes = Array.from({ length: random.between(0, 4) }, () => random.pick([1, 2, 4, 64]));
      await fleet.write(
        'web.yaml',
        sizes.map((cpu, index) => service(`web-${index}`, { resources: { cpu, memoryGb: 1 } })),
      );
      did.edits += 1;
      const isLossy = random.chance(0.5);
      await plane.faults(isLossy ? lostAnswers : []);
      for (let halves = random.between(2, 8); halves > 0; halves -= 1) await sleep(hourMs / 2);
      did.lost += await plane.faultHits();
      if (random.chance(0.2)) {
        meter.reprice(plane, random.pick([70, 85, 100, 115, 130]));
        did.prices += 1;
      }
      if (random.chance(0.15)) {
        await program.kill('SIGKILL');
        // What is charged until the next start is estimated.
        await sleep(random.between(0, 900) * 1000);
        program = fleet.run();
        did.managerKills += 1;
      }
      if (random.chance(0.1)) {
        if (random.chance(0.5)) {
          await plane.kill();
          did.providerKills += 1;
        } else {
          await plane.stop();
          did.providerStops += 1;
        }
        await start();
      }
    }
    await plane.faults([]);
    const last = await plane.account();
    const { countedAt } = await shown();
    await eventually('one more count', async () => (await shown()).countedAt !== countedAt, 2 * hourMs);
    const taken = first.balanceMicros - last.balanceMicros;
    const { days } = await shown();
    const counted = days.reduce((sum: number, { micros }: Json) => sum + micros, 0);
    if (process.env['DAYS'] !== undefined)
      process.stderr.write(
        `${JSON.stringify({ taken, counted, error: (counted - taken) / taken, acts: meter.acts.length, ...did, most: Math.max(...meter.acts.map((act) => act.hourlyMicros)) })}\n`,
      );
    expect(taken).toBeGreaterThan(dayCount * 300_000);
    expect(Math.abs(meter.takenMicros - taken) / taken).toBeLessThan(tolerance + sinceRead);
    expect(Math.abs(counted - taken) / taken).toBeLessThan(tolerance + sinceRead);
    expect(meter.acts.length).toBeGreaterThan(3);
    expect(passing(meter)).toEqual([]);
  },
  1_800_000,
);
