/** What an account has learned of the provider's capacity, as it is stored. engine/plan/capacity.ts has the rules. */
import { parseRfc3339, rfc3339, type DigestKey } from '../base/index.ts';

/** What a request needs of the provider's stock, and where. */
export interface CapacityDemand {
  readonly region: string;
  /** As it is asked for; `auto` where it is left open. */
  readonly geography: string;
  /** All three are 0 for storage alone. */
  readonly gpuCount: number;
  readonly cpu: number;
  readonly memoryGb: number;
  /** New storage. 0: none. */
  readonly storageGb: number;
}

/** A demand that has no entry is `Unknown`. */
export interface CapacityEntry {
  readonly demand: CapacityDemand;
  readonly state: 'Granted' | 'Scarce';
  /** Unix milliseconds, as are all times here: when the state began. */
  readonly since: number;
  /** The newest refusal or grant. */
  readonly at: number;
  readonly grantedAt: number | undefined;
  /** Refusals in a row; 0 if granted. */
  readonly failures: number;
  /** Before then nobody asks. */
  readonly retryAt: number | undefined;
  /** The newest one. Undefined if granted. */
  readonly refusal: CapacityRefusal | undefined;
}

export interface CapacityRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** One entry in the status of an Account. */
export interface ShownCapacity extends CapacityDemand {
  readonly state: 'Granted' | 'Scarce';
  readonly since: string;
  readonly at: string;
  readonly grantedAt?: string;
  readonly failures?: number;
  readonly retryAt?: string;
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
}

/** Entries without news for so long are forgotten. */
export const keptCapacityMs = 7 * 86_400_000;

const mostShown = 32;

/** The first 32, which are the newest. The status shows no more. */
export function shownCapacity(entries: readonly CapacityEntry[]): ShownCapacity[] {
  return entries.slice(0, mostShown).map(shownEntry);
}

function shownEntry({ demand, state, since, at, ...rest }: CapacityEntry): ShownCapacity {
  const { grantedAt, failures, retryAt, refusal } = rest;
  return {
    ...demand,
    state,
    since: rfc3339(since),
    at: rfc3339(at),
    ...(grantedAt === undefined ? {} : { grantedAt: rfc3339(grantedAt) }),
    ...(failures === 0 ? {} : { failures }),
    ...(retryAt === undefined ? {} : { retryAt: rfc3339(retryAt) }),
    ...refusal,
  };
}

/** Proves that the operator wrote these entries of this account (`namespace/name`). Others may write a status, too. */
export function capacitySignature(account: string, capacity: unknown, digestKey: DigestKey): string {
  return digestKey.sign({ account, capacity });
}

/** Reads the entries in a status if their signature is valid. Invalid ones are left out. */
export function readCapacity(
  account: string,
  status: Readonly<Record<string, unknown>> | undefined,
  digestKey: DigestKey,
): CapacityEntry[] {
  const { capacity, capacitySignature: signature } = status ?? {};
  if (!Array.isArray(capacity) || signature !== capacitySignature(account, capacity, digestKey)) return [];
  return capacity.flatMap((entry: unknown) => readEntry(entry) ?? []);
}

function readEntry(shown: unknown): CapacityEntry | undefined {
  const demand = readDemand(shown);
  if (!demand) return undefined;
  const { state, failures = 0, ...rest } = shown as Partial<Record<keyof ShownCapacity, unknown>>;
  const { status, code, message } = rest;
  const [since, at, grantedAt, retryAt] = [rest.since, rest.at, rest.grantedAt, rest.retryAt].map(timeIn);
  if (since === undefined || at === undefined || !isAmount(failures)) return undefined;
  if (state === 'Granted') {
    return { demand, state, since, at, grantedAt, failures: 0, retryAt: undefined, refusal: undefined };
  }
  const isRefusal = typeof status === 'number' && typeof code === 'string' && typeof message === 'string';
  if (state !== 'Scarce' || retryAt === undefined || !isRefusal) return undefined;
  return { demand, state, since, at, grantedAt, failures, retryAt, refusal: { status, code, message } };
}

function timeIn(value: unknown): number | undefined {
  return typeof value === 'string' ? parseRfc3339(value) : undefined;
}

/** Reads stored data, which others may have edited. */
export function readDemand(stored: unknown): CapacityDemand | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { region, geography, gpuCount, cpu, memoryGb, storageGb } = stored as Partial<
    Record<keyof CapacityDemand, unknown>
  >;
  if (typeof region !== 'string' || typeof geography !== 'string') return undefined;
  const isSize = isAmount(gpuCount) && isAmount(cpu) && isAmount(memoryGb) && isAmount(storageGb);
  return isSize ? { region, geography, gpuCount, cpu, memoryGb, storageGb } : undefined;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
