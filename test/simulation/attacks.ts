/**
 * What befalls fleets that choose among places and measure their rollouts (contested.ts): capacity and prices that come and go, checks
 * whose results change, and an autoscaler. All of it ends when people put things right.
 *
 * | deed          | what happens                                                                                               |
 * |---------------|------------------------------------------------------------------------------------------------------------|
 * | flap-capacity | a region has none, and has some again, every few seconds or minutes, for up to ten minutes                 |
 * | move-capacity | of all regions, only one has any, until that is another one (roaming)                                      |
 * | change-prices | another price list in a region; what runs there costs what it did before                                   |
 * | sour-checks   | endpoints, commands or queries fail, or have no result, for a while                                        |
 * | autoscale     | every 15 s for some minutes, an HPA or KEDA writes another number: at /scale, or into the file of a folder |
 */
import type { EndpointProbe, ProbeResult } from '../../src/api/index.ts';
import { sleep, type Clock } from '../../src/base/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import type { Plane } from './plane.ts';
import { scarceWords, type ScarceWords } from './shortage.ts';
import type { Json } from './watch.ts';

export const attackDeeds = ['flap-capacity', 'change-prices', 'sour-checks', 'autoscale'] as const;
export const roamingDeeds = ['move-capacity', 'autoscale'] as const;
export type AttackDeed = (typeof attackDeeds)[number] | (typeof roamingDeeds)[number];

/** Those that fleets may be placed in. */
export const attackedRegions = ['standard', 'economy'] as const;
/** And where capacity moves among more of them. */
export const roamedRegions = [...attackedRegions, 'northern', 'southern'] as const;
/** In per cent of the usual ones, from the first time on that capacity moves. */
const roamedPrices = [100, 80, 120, 90] as const;
export const prometheusAddress = 'https://prometheus.example';

interface Flap {
  readonly region: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly turnMs: number;
}

interface Sour {
  readonly check: 'http' | 'exec' | 'prometheus';
  readonly outcome: 'failed' | 'inconclusive';
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface AttacksOptions {
  readonly plane: Plane;
  readonly random: SeededRandom;
  readonly regions: readonly string[];
  readonly nowMs: () => number;
  readonly after: (delayMs: number, then: () => void) => void;
  /** Of the fleet in this slot. */
  readonly scale: (slot: number, replicas: number) => void;
  readonly trace: (line: string) => void;
}

/** How often an autoscaler looks. */
const scaleEveryMs = 15_000;
/** Those of two replicas of the operator. */
const clocksDifferMs = 10_000;

export class Attacks {
  readonly #options: AttacksOptions;
  #flaps: Flap[] = [];
  #sour: Sour[] = [];
  /** The only region that has capacity. Undefined: all have. */
  #open: string | undefined;
  /** When that, or a price, last became another one. */
  #changedAtMs = 0;
  #hasEnded = false;

  constructor(options: AttacksOptions) {
    this.#options = options;
  }

  act(deed: AttackDeed, { slot, seed }: { readonly slot: number; readonly seed: number }): void {
    const random = new SeededRandom(seed);
    const { nowMs, plane } = this.#options;
    const now = nowMs();
    switch (deed) {
      case 'flap-capacity': {
        const region = random.pick(attackedRegions);
        const turnMs = random.pick([5000, 20_000, 60_000, 180_000]);
        this.#flaps.push({ region, fromMs: now, untilMs: now + random.between(20_000, 600_000), turnMs });
        break;
      }
      case 'change-prices':
        plane.reprice(random.pick(attackedRegions), random.pick([25, 50, 100, 200, 400]));
        this.#changedAtMs = now;
        break;
      case 'move-capacity':
        if (this.#open === undefined)
          this.#options.regions.forEach((region, index) => plane.reprice(region, roamedPrices[index] ?? 100));
        this.#open = random.pick(this.#options.regions.filter((region) => region !== this.#open));
        this.#changedAtMs = now;
        break;
      case 'sour-checks': {
        const check = random.pick(['http', 'exec', 'prometheus'] as const);
        const outcome = random.pick(['failed', 'failed', 'inconclusive'] as const);
        this.#sour.push({ check, outcome, fromMs: now, untilMs: now + random.between(5000, 300_000) });
        break;
      }
      case 'autoscale':
        this.#autoscale(slot, random, now + random.between(60_000, 360_000));
    }
  }

  /** Nothing of it goes on. */
  end(): void {
    this.#hasEnded = true;
    this.#flaps = [];
    this.#sour = [];
    this.#open = undefined;
    this.#changedAtMs = this.#options.nowMs();
    for (const region of this.#options.regions) this.#options.plane.reprice(region, 100);
  }

  /** When capacity or a price last became another one, in milliseconds since the beginning of the run. */
  changedAtMs(): number {
    const now = this.#options.nowMs();
    const turns = this.#flaps.map(({ fromMs, untilMs, turnMs }) =>
      now >= untilMs ? untilMs : now - ((now - fromMs) % turnMs),
    );
    return Math.max(this.#changedAtMs, ...turns);
  }

  /** Of a creation in this region; undefined: there is room. */
  refusal(region: string | undefined): ScarceWords | undefined {
    const now = this.#options.nowMs();
    const isClosed = this.#flaps.some(
      (flap) =>
        flap.region === region &&
        now >= flap.fromMs &&
        now < flap.untilMs &&
        Math.floor((now - flap.fromMs) / flap.turnMs) % 2 === 0,
    );
    const isElsewhere = this.#open !== undefined && region !== this.#open;
    return isClosed || isElsewhere ? this.#options.random.pick(scarceWords) : undefined;
  }

  /** Endpoints answer, unless they are said not to. */
  createProbe(clock: Clock): EndpointProbe {
    const { random, trace } = this.#options;
    return {
      probe: async (_target, signal): Promise<ProbeResult> => {
        await sleep(clock, random.between(5, 400), signal);
        const outcome = this.#outcomeOf('http');
        trace(`endpoint asked: ${outcome ?? 'passes'}`);
        if (outcome === undefined) return { ready: true };
        const isUnasked = outcome === 'inconclusive' ? { isUnasked: true as const } : {};
        return { ready: false, message: 'the simulated endpoint does not answer', ...isUnasked };
      },
      close: () => Promise.resolve(),
    };
  }

  /** What a command in a replica has ended with, as the answer to its request shows it. */
  commandAnswer(body: Json): Json {
    const outcome = this.#outcomeOf('exec');
    if (outcome === 'inconclusive') return { ...body, exitCode: undefined };
    return { ...body, exitCode: outcome === 'failed' ? 1 : 0 };
  }

  prometheusAnswer(): { readonly status: number; readonly body: string } {
    const outcome = this.#outcomeOf('prometheus');
    const value = [1_700_000_000, outcome === 'failed' ? '0' : '1'];
    const result = outcome === 'inconclusive' ? [] : [{ metric: {}, value }];
    return {
      status: 200,
      body: JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }),
    };
  }

  /** All the time from then on (milliseconds since the beginning of the run). */
  soursSince(check: string, sinceMs: number): boolean {
    const now = this.#options.nowMs();
    return this.#sour.some(
      (each) => each.check === check && each.fromMs < sinceMs - clocksDifferMs && each.untilMs > now,
    );
  }

  #outcomeOf(check: Sour['check']): Sour['outcome'] | undefined {
    const now = this.#options.nowMs();
    return this.#sour.find((each) => each.check === check && now < each.untilMs)?.outcome;
  }

  #autoscale(slot: number, random: SeededRandom, untilMs: number): void {
    const { nowMs, after, scale, trace } = this.#options;
    if (this.#hasEnded || nowMs() >= untilMs) return;
    const replicas = random.between(0, 6);
    trace(`autoscaler: ${replicas} of slot ${slot}`);
    scale(slot, replicas);
    after(scaleEveryMs, () => this.#autoscale(slot, random, untilMs));
  }
}
