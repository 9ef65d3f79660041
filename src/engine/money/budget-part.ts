/** What one object adds to the sums of its budgets. */
import { parseRfc3339, type Clock } from '../../base/index.ts';
import { annotations, parseObjectKey, traitsOf, type Asked, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import {
  estimate,
  holdsCompute,
  priorityOf,
  serviceBurn,
  volumeBurn,
  type Claim,
  type Demand,
} from '../plan/index.ts';
import type { Money } from './money.ts';
import { serviceCost, volumeCost, type UnshownCost } from './unshown-costs.ts';

/** Amounts are micro-USD per hour. */
export interface Part {
  /** The account (`namespace/name`) that its things are in. */
  readonly account: string | undefined;
  /** What it manages at the provider. */
  readonly id: string | undefined;
  /** Of a service, what owns it. */
  readonly owner: ObjectKey | undefined;
  /** What its things cost, those without a shown price by their estimate. */
  readonly burn: bigint;
  /** Something of it costs something and shows no price. */
  readonly isUnpriced: boolean;
  /** That has no estimate either: it is missing in `burn`. */
  readonly isUnknown: boolean;
  /** It has something in an account that this process has not read yet. */
  readonly isUnseen: boolean;
  /** What is reserved for it, and the part of that which its next request replaces. */
  readonly reserved: bigint;
  readonly asked: bigint;
  /** What it cost when it last ran, or within the last hour, as long as the same is wanted. */
  readonly last: { readonly micros: bigint; readonly atMs: number; readonly size: string };
  /** What `last` exceeds its present cost by, while it is lost or paused. */
  readonly spare: bigint;
  /** Volumes that are no object's own, and were made with it. */
  readonly extras: readonly string[];
  /** It is wanted, nothing of it exists, and nothing was asked for: what it would cost, as far as that is known. */
  readonly unmade: bigint | undefined;
  /** Until then it waits for no budget (Unix milliseconds), if its author has asked for that. */
  readonly passesUntil: number | undefined;
}

export const noPart: Part = {
  account: undefined,
  id: undefined,
  owner: undefined,
  burn: 0n,
  isUnpriced: false,
  isUnknown: false,
  isUnseen: false,
  reserved: 0n,
  asked: 0n,
  last: { micros: 0n, atMs: 0, size: '' },
  spare: 0n,
  extras: [],
  unmade: undefined,
  passesUntil: undefined,
};

export interface PartSources {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly money: Money;
  readonly accounts: Pick<Accounts, 'handle' | 'handles'>;
  /** Monotonic. */
  readonly nowMs: number;
  /** It is stopped for a budget. */
  readonly isShed: (key: ObjectKey) => boolean;
}

const keptMs = 3_600_000;

/** Beside its burn: what is reserved, or kept. */
export function heldFor({ reserved, spare }: Pick<Part, 'reserved' | 'spare'>): bigint {
  return reserved > spare ? reserved : spare;
}

/** How much more it would take with an increase in place of what its next request was reserved for. */
export function moreFor({ reserved, asked, spare }: Part, increase: bigint): bigint {
  const settled = reserved - asked;
  const before = settled > spare ? settled : spare;
  const after = settled + increase > spare ? settled + increase : spare;
  return after - before;
}

/** What would be freed if its next request were not made. */
export function askedOf({ reserved, asked, spare }: Part): bigint {
  return heldFor({ reserved, spare }) - heldFor({ reserved: reserved - asked, spare });
}

export function partOf(record: ObjectRecord, sources: PartSources, before: Part | undefined): Part {
  const { key, account, externalId: id } = record;
  const { money, nowMs, fleet, isShed } = sources;
  const things = thingsOf(record, sources);
  const { micros: reserved, askedMicros } = money.reservations.microsOf(key);
  const { kind } = parseObjectKey(key);
  const { spec, annotations: given } = fleet.planned(record);
  const passesUntil = overspendUntil(given);
  const asked = traitsOf(kind).asks?.(spec, record.kind);
  const size = JSON.stringify(asked);
  const owner = asked?.compute && record.derived?.owner;
  const isWanted =
    record.deletionRequestedAt === undefined && traitsOf(kind).isAtRest?.(spec) !== true && !isShed(key);
  const known = before && lastOf(before, nowMs);
  const isKept = known !== undefined && known.size === size && nowMs - known.atMs < keptMs;
  // What runs costs what it shows: an edit of its size may have been noticed before the new price.
  const isLower = things.burn < (known?.micros ?? 0n) && !(things.isSteady && things.burn > 0n);
  const last = isKept && isLower ? known : { micros: things.burn, atMs: nowMs, size };
  // A thing that holds what it costs for has another size, or another price.
  const isLost = isWanted && !things.isHolding;
  const spare = isLost && last.micros > things.burn ? last.micros - things.burn : 0n;
  const isUnmade = isWanted && record.externalId === undefined && reserved === 0n;
  const unmade = isUnmade ? wantedMicros(record, sources) : undefined;
  const { isHolding: _, isSteady: __, ...counted } = things;
  return { account, id, owner, ...counted, reserved, asked: askedMicros, last, spare, unmade, passesUntil };
}

/** Of an object that nobody has asked yet what it needs. Undefined: something of it was made, or nothing is wanted. */
export function unmadeClaim(
  { key, manifest }: ObjectRecord,
  { unmade }: Part,
  { fleet, clock }: Pick<PartSources, 'fleet'> & { readonly clock: Clock },
): Claim | undefined {
  if (unmade === undefined) return undefined;
  const { annotations: given } = fleet.snapshot.objects.get(key) ?? manifest;
  const sinceMs = clock.monotonicMs();
  return { key, isRepair: false, priority: priorityOf(given), sinceMs, micros: unmade };
}

/** Undefined: no such time is given. */
export function overspendUntil(given: Readonly<Record<string, string>>): number | undefined {
  const time = given[annotations.allowOverspendUntil];
  return time === undefined ? undefined : parseRfc3339(time);
}

/** By its stored document. */
function askedOfRecord({ key, manifest, kind }: ObjectRecord): Asked | undefined {
  return traitsOf(parseObjectKey(key).kind).asks?.(manifest.spec, kind);
}

/** What the object would cost. 0 if nobody knows. */
export function wantedMicros(
  record: ObjectRecord,
  { fleet, accounts, money }: Pick<PartSources, 'fleet' | 'accounts' | 'money'>,
): bigint {
  return priceOf(askedOfRecord(record), record, { fleet, accounts, money });
}

/** It cost so much until now, or until it was lost. */
function lastOf({ last, burn }: Part, nowMs: number): Part['last'] {
  return burn >= last.micros ? { ...last, atMs: nowMs } : last;
}

interface Things extends Pick<Part, 'burn' | 'isUnpriced' | 'isUnknown' | 'isUnseen' | 'extras'> {
  /** It is there, and is neither paused nor asleep. */
  readonly isHolding: boolean;
  /** It is neither on the way to another state, nor broken. */
  readonly isSteady: boolean;
}

/** It has something in an account that this process has not read yet. */
export function isUnseen({ externalId, account = '' }: ObjectRecord, { accounts }: PartSources): boolean {
  return externalId !== undefined && accounts.handle(account)?.informer.current === undefined;
}

function thingsOf(record: ObjectRecord, { store, accounts, money }: PartSources): Things {
  const { externalId: id, account = '' } = record;
  const handle = accounts.handle(account);
  const snapshot = handle?.informer.current;
  const none = { ...nothing, isUnseen: false, isHolding: false, isSteady: false, extras: [] };
  if (id === undefined) return none;
  if (!handle || !snapshot) return { ...none, isUnseen: true };
  const there = { isHolding: true, isUnseen: false, extras: [] };
  const asked = askedOfRecord(record);
  const book = money.books.book(handle);
  const volume = snapshot.volumes.get(id);
  if (volume) {
    const isSteady = volume.status === 'ready';
    return { ...there, isSteady, ...priced(volumeBurn(volume), () => volumeCost(volume, asked, book)) };
  }
  const service = snapshot.services.get(id);
  if (!service) return none;
  const shown = priced(serviceBurn(service), () => serviceCost(service, asked, book));
  const isSteady = service.state === 'running';
  const own = { ...there, ...shown, isHolding: holdsCompute(service), isSteady };
  const { volumeId } = service;
  const made = volumeId && !store.recordOf(volumeId) ? snapshot.volumes.get(volumeId) : undefined;
  if (!made || volumeId === undefined || volumeId === null) return own;
  const { burn, isUnpriced, isUnknown } = priced(volumeBurn(made), () => volumeCost(made, undefined, book));
  return {
    ...own,
    burn: own.burn + burn,
    isUnpriced: own.isUnpriced || isUnpriced,
    isUnknown: own.isUnknown || isUnknown,
    extras: [volumeId],
  };
}

/** What a thing costs that no object has. Undefined: none of the accounts shows it. */
export function partOfThing(
  id: string,
  handles: readonly AccountHandle[],
  { money }: Pick<PartSources, 'money'>,
): Part | undefined {
  for (const handle of handles) {
    const { services, volumes } = handle.informer.current ?? {};
    const [service, volume] = [services?.get(id), volumes?.get(id)];
    if (!service && !volume) continue;
    const book = money.books.book(handle);
    const shown = service
      ? priced(serviceBurn(service), () => serviceCost(service, undefined, book))
      : volume && priced(volumeBurn(volume), () => volumeCost(volume, undefined, book));
    return { ...noPart, ...shown, account: handle.name };
  }
  return undefined;
}

const nothing = { burn: 0n, isUnpriced: false, isUnknown: false };

function priced(shown: bigint | undefined, guess: () => UnshownCost): typeof nothing {
  if (shown !== undefined) return { ...nothing, burn: shown };
  const { micros, isUnknown } = guess();
  return { burn: micros, isUnpriced: true, isUnknown };
}

/** What a service of the owner would cost. 0 if nobody knows. */
export function ownedMicros(owner: ObjectRecord, { fleet, accounts, money }: PartSources): bigint {
  const spec = fleet.specOf(owner);
  const asked = spec && traitsOf(parseObjectKey(owner.key).kind).asksOfOwned?.(spec);
  return priceOf(asked, owner, { fleet, accounts, money });
}

function priceOf(
  asked: Asked | undefined,
  record: ObjectRecord,
  { fleet, accounts, money }: Pick<PartSources, 'fleet' | 'accounts' | 'money'>,
): bigint {
  const place = fleet.accountOf(record);
  const handle = place && accounts.handle(`${place.namespace}/${place.name}`);
  if (!asked || !handle) return 0n;
  const { region, geography } = asked;
  const book = money.books.book(handle);
  return demandsOf(asked).reduce(
    (sum, demand) => sum + estimate(demand, { region, geography }, book).micros,
    0n,
  );
}

function demandsOf({ compute, storageGb }: Asked): Demand[] {
  return [...(compute ? [{ compute }] : []), ...(storageGb === undefined ? [] : [{ storageGb }])];
}
