/**
 * The life of a budget: what it counts as spent is what the provider's ledger has taken, and no request passes a limit (BI1), whatever happens
 * meanwhile: schedules, other prices, lost answers, kill -9 of the manager and of the provider. Some hours, or as many days as `DAYS` has.
 * `npm run test:long` has 31: from the middle of a month over its last Sunday, on which the clocks of the budget's time zone change, into the next one.
 */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { seed } from '../support/seed.ts';
import { ProviderMeter } from '../support/provider-meter.ts';
import { apiKey, ControlPlaneProcess } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInTime,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';

const balance = 1_000_000_000_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: ${balance}, apiKeys: [${apiKey}]}]`;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const dayCount = Number(process.env['DAYS'] ?? 0.25);
const isMonth = dayCount >= 28;
const beginMs = Date.UTC(2026, 2, 12, 8);
const timeZone = 'Europe/Madrid';
const pollSeconds = 300;
/** The manager is down for no longer than this. */
const longestDownSeconds = 1800;
/** Within so long, an account was read, though the manager was down meanwhile. */
const readMs = (2 * pollSeconds + longestDownSeconds) * 1000;
const horizonHours = 24;
const hourlyMicros = 900_000;
const monthlyMicros = 60_000_000;
const tolerance = 0.005;
/**
 * In a few hours, what happens between two reads is more than that. Prices that change just before a manager is killed are not known until the
 * next one reads: until then half of what things cost may be missing.
 */
function allowed(days: number, managerKills: number): number {
  if (days >= 7) return tolerance;
  const unreadSeconds = pollSeconds + (managerKills * longestDownSeconds) / 2;
  return tolerance + (unreadSeconds * 1000) / (days * dayMs);
}

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

const lostAnswers = ['POST', 'PATCH', 'DELETE'].flatMap((method) => [
  { method, path: '/api/.*', fault: 'drop-response', every: 3 },
  { method, path: '/api/.*', fault: 'drop-request', every: 4 },
]);

/** Acts that pass a limit. Nobody knows better than half a per cent what was spent. */
function passing({ acts }: ProviderMeter): object[] {
  return acts.filter((act) => {
    const aheadMs = Math.min(horizonHours * hourMs, act.monthLeftMs);
    const month = act.spentMicros * (1 - tolerance) + (act.hourlyMicros * aheadMs) / hourMs;
    return act.hourlyMicros > hourlyMicros || month > monthlyMicros;
  });
}

/** One account with its provider and its manager, and all that happens to them. */
class Life {
  readonly did = { edits: 0, prices: 0, managerKills: 0, providerKills: 0, providerStops: 0, lost: 0 };
  /** How often something waited for each budget, where it was looked for. */
  readonly waits = { hour: 0, month: 0 };
  readonly #random = new SeededRandom(seed);
  readonly #fleet: Fleet;
  readonly #plane: ControlPlaneProcess;
  readonly #meter: ProviderMeter;
  #program: ReturnType<Fleet['run']>;

  constructor(fleet: Fleet, plane: ControlPlaneProcess, meter: ProviderMeter) {
    this.#fleet = fleet;
    this.#plane = plane;
    this.#meter = meter;
    this.#program = fleet.run();
  }

  async someHours(): Promise<void> {
    const sizes = Array.from({ length: this.#random.between(0, 4) }, () => this.#random.pick([1, 2, 4, 64]));
    await this.#fleet.write(
      'web.yaml',
      sizes.map((cpu, index) => service(`web-${index}`, { resources: { cpu, memoryGb: 1 } })),
    );
    this.did.edits += 1;
    await this.#plane.faults(this.#random.chance(0.5) ? lostAnswers : []);
    for (let halves = this.#random.between(2, 8); halves > 0; halves -= 1) await sleep(hourMs / 2);
    this.did.lost += await this.#plane.faultHits();
    await this.#seeWaits();
    if (this.#random.chance(0.2)) {
      this.#meter.reprice(this.#plane, this.#random.pick([70, 85, 100, 115, 130]));
      this.did.prices += 1;
    }
    if (this.#random.chance(0.15)) await this.#killManager();
    if (this.#random.chance(0.1)) await this.#restartProvider();
  }

  async #killManager(): Promise<void> {
    await this.#program.kill('SIGKILL');
    // What is charged until the next start is estimated.
    await sleep(this.#random.between(0, longestDownSeconds) * 1000);
    this.#program = this.#fleet.run();
    this.did.managerKills += 1;
  }

  async #restartProvider(): Promise<void> {
    if (this.#random.chance(0.5)) {
      await this.#plane.kill();
      this.did.providerKills += 1;
    } else {
      await this.#plane.stop();
      this.did.providerStops += 1;
    }
    await this.#plane.start();
    this.#meter.watch(this.#plane);
  }

  async #seeWaits(): Promise<void> {
    const all = [...(await this.#fleet.records()).values()].flatMap(({ status }: Json) => status.conditions);
    const messages: string[] = all.flatMap(({ reason, message }) =>
      reason === 'BudgetExceeded' ? [message] : [],
    );
    for (const name of ['hour', 'month'] as const)
      if (messages.some((message) => message.includes(`Budget ${name}:`))) this.waits[name] += 1;
  }
}

/** How far what was counted is from what was taken, in parts of that: of each month that has begun, and of all. */
function errors(days: readonly { date: string; micros: number }[], meter: ProviderMeter, charged: number) {
  const sum = (of: typeof days) => of.reduce((micros, each) => micros + each.micros, 0);
  const months = [...meter.takenMicros()].map(([month, taken]) => {
    const own = days.filter(({ date }) => date.startsWith(month));
    return { of: month, days: own.length, error: (sum(own) - taken) / taken };
  });
  return [{ of: 'ledger', days: dayCount, error: (sum(days) - charged) / charged }, ...months];
}

testInTime(
  `what some days have cost is what the provider took, within half a per cent, and no request passed a limit (SEED=${seed})`,
  async () => {
    // At most an hour passes with nothing to do.
    while (nowMs() < beginMs) await sleep(Math.min(hourMs / 2, beginMs - nowMs()));
    const folder = await temporaryFolder();
    const plane = new ControlPlaneProcess(folder, { accounts, timeScale: 1 });
    const meter = new ProviderMeter(nowMs, timeZone, readMs);
    await plane.start();
    meter.watch(plane);
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url, { pollSeconds }));
    await fleet.write('budget.yaml', [budget('hour', { hourlyMicros }), budget('month', { monthlyMicros })]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, schedules })]);
    const life = new Life(fleet, plane, meter);
    const shown = async (): Promise<Json> => (await fleet.records()).get('Budget/month')?.status;
    await eventually('the first count', async () => (await shown())?.countedAt !== undefined);
    const startMs = nowMs();
    while (nowMs() - startMs < dayCount * dayMs) await life.someHours();
    await plane.faults([]);
    const { countedAt } = await shown();
    await eventually('one more count', async () => (await shown()).countedAt !== countedAt, 2 * hourMs);
    const { days } = await shown();
    const charged = await plane.chargedMicros('acme');
    const found = errors(days, meter, charged);
    const { acts } = meter;
    if (process.env['DAYS'] !== undefined) {
      const most = Math.max(...acts.map((act) => act.hourlyMicros));
      const { did, waits } = life;
      process.stderr.write(
        `${JSON.stringify({ charged, errors: found, acts: acts.length, most, ...did, waits })}\n`,
      );
    }
    expect(charged).toBeGreaterThan(dayCount * 300_000);
    const { managerKills } = life.did;
    expect(
      found.filter(({ error, days: of }) => Math.abs(error) > allowed(Math.min(of, dayCount), managerKills)),
    ).toEqual([]);
    expect(acts.length).toBeGreaterThan(3);
    expect(passing(meter)).toEqual([]);
    if (!isMonth) return;
    // Otherwise the month shows less than its name promises.
    const few = (counts: object, least: number) =>
      Object.entries(counts).filter(([, count]) => count < least);
    expect(few(life.did, 5)).toEqual([]);
    expect(few(life.waits, 1)).toEqual([]);
  },
  3_600_000,
);
