/** The sentence about an object: what it does or waits for, since when, and what follows. Pure. */
import { oneLine, rfc3339 } from '../../base/index.ts';
import { entryOf, isBlocking, isReason } from '../../reasons/index.ts';
import type { NextStep } from '../../shown/description.ts';
import type { StatusEntry } from '../../shown/entries.ts';
import type { Health, Sentence } from '../schemas/parts.ts';

type Part = Sentence['parts'][number];

const starts: Readonly<Record<Health, string>> = {
  Down: 'Not usable',
  Held: 'Held',
  Unknown: 'Not observed',
  Stale: 'Not read lately; last known state',
  Waiting: 'Waits',
  Suspended: 'Suspended',
  Deleting: 'Being deleted',
  Working: 'Works',
  Healthy: 'Ready',
};

/** The longest message in it; all of it is in the conditions. */
const longestMessage = 400;

/** `place`: where it is to be. */
export function sentenceOf(
  entry: StatusEntry,
  health: Health,
  step: NextStep,
  place: string | null,
): Sentence {
  const parts: Part[] = [{ text: starts[health] }];
  if (step.since !== undefined) parts.push({ text: ' since ' }, { time: step.since });
  const awaited = health === 'Waiting' ? awaitedBy(step.reason) : undefined;
  if (awaited !== undefined) parts.push({ text: ` for ${awaited}${place === null ? '' : ` in ${place}`}` });
  else parts.push({ text: health === 'Healthy' ? ` (${step.reason})` : `: ${shortened(step.message)}` });
  const retryAt = retryTime(entry);
  if (retryAt !== undefined) parts.push({ text: '; next attempt ' }, { time: retryAt });
  const refusals = refusalsOf(entry);
  if (refusals > 1) parts.push({ text: `; refused ${refusals} times` });
  const full = fullCandidates(entry);
  if (full !== undefined) parts.push({ text: `; ${full}` });
  for (const { at, what } of step.times) {
    const time = at === undefined ? undefined : rfc3339(at);
    if (time !== undefined && time !== retryAt) parts.push({ text: `; ${what} ` }, { time });
  }
  parts.push({ text: '.' });
  const merged = withoutSeams(parts);
  return {
    text: merged.map((part) => ('time' in part ? part.time : part.text)).join(''),
    parts: merged,
    answer: awaited === undefined ? null : (lastAnswer(entry, step.reason) ?? shortened(step.message)),
  };
}

function awaitedBy(reason: string): string | undefined {
  return isReason(reason) && isBlocking(reason) ? entryOf(reason).awaits : undefined;
}

/** What the provider has answered to this object itself. */
function lastAnswer({ record: { refusal } }: StatusEntry, reason: string): string | undefined {
  if (!refusal || refusal.scarcity?.reason !== reason) return undefined;
  return shortened(`${refusal.status} ${refusal.code}: ${refusal.message}`);
}

/** The end of a message, without its full stop. */
function shortened(message: string): string {
  const line = oneLine(message).replace(/\.$/, '');
  return line.length > longestMessage ? `${line.slice(0, longestMessage - 1)}…` : line;
}

function withoutSeams(parts: readonly Part[]): Part[] {
  const merged: Part[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (last && 'text' in last && 'text' in part) merged[merged.length - 1] = { text: last.text + part.text };
    else merged.push(part);
  }
  return merged;
}

function retryTime({ record }: StatusEntry): string | undefined {
  const at = record.refusal?.scarcity?.retryAt;
  return at === undefined ? undefined : rfc3339(at);
}

/** In a row. */
export function refusalsOf({ record }: StatusEntry): number {
  return record.refusal?.scarcity?.failures ?? 0;
}

interface Candidate {
  readonly state?: unknown;
}

/** Of a fleet that has several places to go. */
function fullCandidates({ record }: StatusEntry): string | undefined {
  const shown = record.status?.['placement'];
  if (!Array.isArray(shown) || shown.length < 2) return undefined;
  const full = (shown as readonly Candidate[]).filter(({ state }) => state === 'Scarce').length;
  return full === 0 ? undefined : `${full} of ${shown.length} candidates are full`;
}
