/**
 * Every reason that Fleetkeeper writes into a condition, a plan, a step or an Event, with what follows from it. The code asks
 * this table; it keeps no sets of reasons of its own. The documentation (`npm run docs:reasons`) and `fleetkeeper explain`
 * are made of it. A reason that is not here does not compile.
 */
import type { BlockingEntry, ReasonEntry, ReasonKind } from './entry.ts';
import { eventReasons, factReasons } from './facts.ts';
import { heldByOthers } from './held-elsewhere.ts';
import { heldByDocument } from './held.ts';
import { doingReasons, readyReasons } from './ready.ts';
import { unusableReasons } from './unusable.ts';
import { waitsHere } from './waiting-here.ts';
import { waitsForOthers } from './waiting.ts';

export type { BlockingEntry, ReasonEntry, ReasonKind, Severity, Turn } from './entry.ts';

const table = {
  ...readyReasons,
  ...doingReasons,
  ...waitsForOthers,
  ...waitsHere,
  ...unusableReasons,
  ...heldByDocument,
  ...heldByOthers,
  ...factReasons,
  ...eventReasons,
} as const;

type Table = typeof table;
export type Reason = keyof Table;

/** Those whose entry has this kind, or has it beside another one. */
export type ReasonOf<Kind extends ReasonKind> = {
  [Name in Reason]: Kind extends KindsIn<Table[Name]> ? Name : never;
}[Reason];
type KindsIn<Entry extends ReasonEntry> =
  | Entry['kind']
  | (Entry extends { readonly also: readonly (infer Also)[] } ? Also : never);

/** Reasons that the answer of a planner may have. */
export type BlockingReason = ReasonOf<'waiting'> | ReasonOf<'held'>;

/** Those that have a property in the table. */
export type ReasonWith<Property extends keyof BlockingEntry> = {
  [Name in Reason]: Property extends keyof Table[Name] ? Name : never;
}[Reason];

export const reasons: Readonly<Record<Reason, ReasonEntry>> = table;
export const reasonNames = Object.keys(table) as readonly Reason[];

export function isReason(name: string): name is Reason {
  return Object.hasOwn(table, name);
}

export function isBlocking(reason: Reason): reason is BlockingReason {
  const { kind } = table[reason];
  return kind === 'waiting' || kind === 'held';
}

export function entryOf(reason: BlockingReason): BlockingEntry {
  return table[reason];
}

/** `path` of docs/ with the anchor of the section that has more. */
export function sectionOf({ see }: ReasonEntry): string {
  return `docs/${see ?? 'reference/reasons.md'}`;
}
