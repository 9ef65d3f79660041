/**
 * Heartbeats of protected tasks, measured: a real manager over a folder with many tasks, before a real control plane, in
 * real time at the contract's period (§2: 30 s). The control plane's journal of requests tells when each beat came.
 *
 *     npm run bench:heartbeats -- [--tasks 2000] [--minutes 10]
 *     npm run bench:heartbeats -- --outage 429|503|cut|silent [--tasks 2000] [--seconds 200]
 *
 * The second is an outage of that length: every request is answered 429 (with `Retry-After: 30`) or 503, its connection is
 * cut, or it is read and never answered.
 */
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Fault } from '../src/control-plane/http/faults.ts';
import { Gaps, busiest, periodSeconds } from './support/heartbeat-log.ts';
import { HeartbeatWorld } from './support/heartbeat-world.ts';

const { values: flags } = parseArgs({
  options: {
    tasks: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '10' },
    outage: { type: 'string' },
    seconds: { type: 'string', default: '200' },
  },
});
const tasks = Number(flags.tasks);
const minutes = Number(flags.minutes);
const seconds = Number(flags.seconds);
/** Of beats, per second. */
const mean = tasks / periodSeconds;
const machine = { measured: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`, target: '' };

const faults: Readonly<Record<string, Fault>> = {
  429: { fault: 'status', status: 429, code: 'rate_limited', retryAfter: 30 },
  503: { fault: 'status', status: 503, code: 'unavailable' },
  cut: { fault: 'drop-request' },
  silent: { fault: 'delay', delayMs: 24 * 3_600_000 },
};

async function measureCost(world: HeartbeatWorld): Promise<object> {
  const [fromMs, fromCpu] = [Date.now(), await world.cpuSeconds()];
  const oldest: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    await delay(60_000);
    const now = Date.now();
    const listed = await world.activities();
    oldest.push(Math.max(...listed.map(({ lastHeartbeatAt }) => now - lastHeartbeatAt)));
    if (listed.some(({ fresh }) => !fresh)) throw new Error('a record has expired');
  }
  const cpuSeconds = (await world.cpuSeconds()) - fromCpu;
  const heartbeats = await world.heartbeats(fromMs, Date.now());
  return {
    'tasks, minutes': { measured: `${tasks}, ${minutes}`, target: '2000, 10' },
    'beats (all accepted)': {
      measured: `${heartbeats.length} (${heartbeats.every(({ status }) => status === 200)})`,
      target: `${Math.round(mean * minutes * 60)} (true)`,
    },
    'oldest heartbeat at any look': { measured: `${Math.max(...oldest) / 1000} s`, target: '≤ 33 s' },
    'busiest second / mean': { measured: busiest(heartbeats, tasks).toFixed(2), target: '≤ 2' },
    'CPU of the manager per 1,000 beats': {
      measured: `${((cpuSeconds / heartbeats.length) * 1000).toFixed(2)} s`,
      target: '≤ 1 s',
    },
  };
}

async function measureOutage(world: HeartbeatWorld, kind: string): Promise<object> {
  const fault = faults[kind];
  if (!fault) throw new Error(`--outage is one of ${Object.keys(faults).join(', ')}, not ${kind}`);
  const gaps = new Gaps();
  gaps.take(await world.activities());
  const startedMs = Date.now();
  await world.setFaults([fault]);
  await delay(seconds * 1000);
  await world.setFaults([]);
  const endedMs = Date.now();
  while (gaps.oldestMs < endedMs) {
    await delay(500);
    gaps.take(await world.activities());
  }
  const renewedMs = Date.now();
  await delay(2 * periodSeconds * 1000);
  const meanwhile = await world.heartbeats(startedMs, endedMs);
  const afterwards = await world.heartbeats(endedMs, Date.now());
  return {
    'tasks, outage': { measured: `${tasks}, ${kind} for ${seconds} s`, target: '' },
    'beats meanwhile, accepted of them': {
      measured: `${meanwhile.length}, ${meanwhile.filter(({ status }) => status === 200).length}`,
      target: '',
    },
    'busiest second / mean, meanwhile': { measured: busiest(meanwhile, tasks).toFixed(2), target: '≤ 2' },
    'busiest second / mean, afterwards': { measured: busiest(afterwards, tasks).toFixed(2), target: '≤ 2' },
    'all renewed after': { measured: `${(renewedMs - endedMs) / 1000} s`, target: '' },
    'longest between two accepted beats': { measured: `${gaps.quantileMs(1) / 1000} s`, target: '≤ 300 s' },
    'records that expired': { measured: `${gaps.expired}`, target: '0' },
  };
}

const world = await HeartbeatWorld.start(tasks);
await delay(2 * periodSeconds * 1000);
const { outage } = flags;
const measured = outage === undefined ? await measureCost(world) : await measureOutage(world, outage);
// oxlint-disable-next-line no-console
console.table({ ...measured, machine });
await world.end();
