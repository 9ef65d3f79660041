/** The account read shows at most the 100 most recent ledger entries (§2): a window, not a history. */
import { wire } from '../api/index.ts';
import { sameValue, stableJson } from '../base/index.ts';

type Entry = wire.LedgerEntry;

/**
 * More entries were made between two reads than the second one shows. Their fields are not documented: they are compared whole. A ledger may
 * be long and made to be slow (F96): what it costs grows with its length, whatever its entries are.
 */
export function ledgerHasGap(before: readonly Entry[], after: readonly Entry[]): boolean {
  if (before.length === 0 || after.length < wire.limits.ledgerEntries) return false;
  const known = new Map(before.map((entry) => [checksumOf(entry), entry]));
  let isUnclear = false;
  for (const entry of after) {
    const one = known.get(checksumOf(entry));
    if (one !== undefined && sameValue(one, entry)) return false;
    isUnclear ||= one !== undefined;
  }
  return !isUnclear || !hasOneOf(before, after);
}

/** By their texts, which take ten times as long to make. */
function hasOneOf(before: readonly Entry[], after: readonly Entry[]): boolean {
  const known = new Set(before.map(stableJson));
  return after.some((entry) => known.has(stableJson(entry)));
}

/** Equal for equal values, whatever the order of their members, and made without a copy or a text of them. Others may have the same one. */
function checksumOf(value: unknown): number {
  if (typeof value === 'number') return Math.imul(value, 1);
  if (typeof value === 'string') return textChecksum(value);
  if (typeof value !== 'object' || value === null) return value === true ? 1 : 0;
  return Object.values(value).reduce((sum: number, member) => Math.imul(sum + checksumOf(member), 1), 0);
}

function textChecksum(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum, 31) + text.charCodeAt(at);
  return Math.imul(sum, 1);
}
