/** The account read shows at most the 100 most recent ledger entries (§2): a window, not a history. */
import { wire } from '../api/index.ts';
import { sameValue, stableJson } from '../base/index.ts';

/** Of a ledger, which shows the newest first as a rule: in an ordinary read some of these are shown again. */
const newest = 10;

/** More entries were made between two reads than the second one shows. Their fields are not documented: they are compared whole. */
export function ledgerHasGap(
  before: readonly wire.LedgerEntry[],
  after: readonly wire.LedgerEntry[],
): boolean {
  if (before.length === 0 || after.length < wire.limits.ledgerEntries) return false;
  const [first, then] = [before.slice(0, newest), after.slice(0, newest)];
  if (then.some((entry) => first.some((known) => sameValue(known, entry)))) return false;
  const known = new Set(before.map(stableJson));
  return !after.some((entry) => known.has(stableJson(entry)));
}
