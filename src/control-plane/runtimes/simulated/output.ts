/** What a simulated service "writes" and "uses": made up from its record and the clock, the same each time. */
import { digestOf } from '../../../base/stable.ts';
import type { ServiceRecord } from '../../store/records.ts';

const samples = 60;

/** `nowMs` is real time. */
export function simulatedLogs(service: ServiceRecord, nowMs: number): string {
  const { cpu, memoryGb, gpuCount } = service.resources;
  const lines = [
    [service.createdAtMs, 'this control plane runs no containers; it wrote these lines itself'],
    [
      service.createdAtMs,
      `image ${JSON.stringify(service.image)}, ${cpu} CPU, ${memoryGb} GB, ${gpuCount} GPU`,
    ],
    [
      nowMs,
      `the service is ${service.state}${service.error === null ? '' : `: ${JSON.stringify(service.error)}`}`,
    ],
  ] as const;
  return lines.map(([atMs, text]) => `${new Date(atMs).toISOString()} simulation: ${text}\n`).join('');
}

/** At most 60 samples, oldest first; none while the service doesn't run. */
export function simulatedMetrics(service: ServiceRecord, minutes: number, nowMs: number): object {
  const intervalMs = (minutes * 60_000) / samples;
  const lastMs = Math.floor(nowMs / intervalMs) * intervalMs;
  const times = Array.from({ length: samples }, (_, index) => lastMs - (samples - 1 - index) * intervalMs);
  return {
    minutes,
    intervalSeconds: intervalMs / 1000,
    simulated: true,
    note: 'simulation: no container runs, and these numbers are made up',
    samples: times
      .filter((atMs) => service.state === 'running' && atMs >= service.createdAtMs)
      .map((atMs) => sampleOf(service, atMs)),
  };
}

function sampleOf(service: ServiceRecord, atMs: number): object {
  const { cpu, memoryGb, gpuCount } = service.resources;
  const digest = Buffer.from(digestOf([service.id, atMs]), 'hex');
  const share = (index: number) => (digest[index] ?? 0) / 255;
  return {
    at: atMs,
    cpuCores: rounded(cpu * share(0)),
    memoryGb: rounded(memoryGb * share(1)),
    gpuPercent: gpuCount === 0 ? null : Math.round(100 * share(2)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
