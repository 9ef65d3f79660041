/** What one account has learned of the provider's capacity, and who of it asks and waits. */
import { meaningOf, type RefusalRule } from '../../api/index.ts';
import { parseObjectKey, traitsOf } from '../../resources/index.ts';
import {
  keptCapacityMs,
  type CapacityDemand,
  type CapacityEntry,
  type CapacityRefusal,
  type ObjectRecord,
} from '../../state/index.ts';
import { demandKey, type Asking, type Capacity, type Waiting } from '../plan/index.ts';

export interface Book extends Capacity {
  readonly name: string;
  readonly isShared: boolean;
  readonly url: string;
  readonly rules: readonly RefusalRule[] | undefined;
  entries: Map<string, CapacityEntry>;
  readonly windows: Map<string, number>;
  asking: Asking[];
  line: Waiting[];
  /** Unix milliseconds. What was refused earlier was refused by another provider. */
  readonly since: number;
  /** As last saved. */
  saved: readonly CapacityEntry[];
}

const dayMs = 86_400_000;
/** Only the newest are kept. */
const mostEntries = 256;

export function emptyBook(name: string, saved: readonly CapacityEntry[]): Book {
  const entries = new Map<string, CapacityEntry>();
  return {
    name,
    isShared: false,
    url: '',
    rules: undefined,
    entries,
    windows: new Map(),
    asking: [],
    line: [],
    since: Number.NEGATIVE_INFINITY,
    saved,
  };
}

/** The entries to keep, newest first. */
export function keptEntries({ entries }: Pick<Book, 'entries'>, wallMs: number): CapacityEntry[] {
  return [...entries.values()]
    .filter(({ at }) => at >= wallMs - keptCapacityMs)
    .toSorted((left, right) => right.at - left.at)
    .slice(0, mostEntries);
}

export function byDemand(entries: readonly CapacityEntry[]): Map<string, CapacityEntry> {
  return new Map(entries.map((entry) => [demandKey(entry.demand), entry]));
}

/** A grant is recorded once a day, so that it does not expire. */
export function isNews(before: CapacityEntry | undefined, entry: CapacityEntry): boolean {
  if (before?.state !== 'Granted' || entry.state !== 'Granted') return true;
  return Math.abs(entry.at - before.at) >= dayMs;
}

export function isForCapacity(refusal: CapacityRefusal, rules: readonly RefusalRule[] | undefined): boolean {
  return meaningOf(refusal, rules) === 'CapacityUnavailable';
}

/** By the document: the place is named there as it is asked for. */
export function askedBy(record: ObjectRecord): CapacityDemand | undefined {
  const { kind } = parseObjectKey(record.key);
  const {
    region,
    geography = 'auto',
    compute,
  } = traitsOf(kind).asks?.(record.manifest.spec, record.kind) ?? {};
  if (region === undefined || !compute) return undefined;
  const { gpuCount, cpu, memoryGb } = compute;
  return { region, geography, gpuCount, cpu, memoryGb, storageGb: 0 };
}
