/** How fast this machine is at the moment, so that figures of different machines and hours can be compared. */
import { createHash } from 'node:crypto';
import { median } from './report.ts';

const rounds = 7;

/** Milliseconds of CPU that a fixed piece of work takes: text is parsed, sorted, written and digested. The median of some rounds. */
export function yardstickMs(): number {
  const text = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => thing(index)));
  workOff(text);
  return median(Array.from({ length: rounds }, () => cpuMs(() => workOff(text))));
}

function thing(index: number): object {
  return { id: `thing-${(index * 7919) % 10_000}`, name: `web-${index}`, labels: { team: 'search', index } };
}

function workOff(text: string): string {
  const things = JSON.parse(text) as { readonly id: string }[];
  const sorted = things.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
