import { Option, type Command } from 'commander';
import { describeOutcome } from '../../api/index.ts';
import { limits, type LedgerEntry } from '../../api/wire.ts';
import { UserError, sleep } from '../../base/index.ts';
import {
  connected,
  withConnectionFlags,
  type AccountConnection,
  type ConnectionFlags,
} from '../account/connection.ts';
import { answerTo } from '../output/answers.ts';
import { complain, print, type Context } from '../context.ts';
import { stamp, structured } from '../output/output.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';
import { firstEntries, newEntries } from '../account/ledger-entries.ts';

const formats = ['text', 'json', 'jsonl'] as const;

interface LedgerFlags extends ConnectionFlags {
  readonly output: (typeof formats)[number];
  readonly follow?: boolean;
}

/** `ledger`: what an account was charged and credited, the newest last; with `--follow` each entry once, as it appears. */
export function defineLedger(command: Command, context: Context): void {
  withConnectionFlags(command)
    .option('--follow', 'go on, and print each new entry once')
    .addOption(
      new Option('-o, --output <format>', 'text for people; json; or jsonl, a line for each entry')
        .choices(formats)
        .default('text'),
    )
    .action((flags: LedgerFlags) =>
      connected(context, flags, async ({ accounts: [account, ...others] }) => {
        if (others.length > 0 || !account)
          throw new UserError(
            'there are several Accounts, and a ledger is of one',
            'name it: --account NAME',
          );
        if (flags.follow && flags.output === 'json')
          throw new UserError('--follow never ends, so it has no JSON document', 'write -o jsonl');
        await show(context, account, flags);
      }),
    );
}

async function show(context: Context, account: AccountConnection, flags: LedgerFlags): Promise<void> {
  const outcome = await account.api.account(context.stopped);
  const { ledger } = answerTo(`read the account ${account.key}`, outcome, context.stopped);
  const first = firstEntries(ledger);
  if (flags.output === 'json') print(context, structured('json', { entries: first.map(shownEntry) }));
  else if (flags.output === 'text') print(context, ledgerTable(first));
  else for (const entry of first) print(context, JSON.stringify(shownEntry(entry)));
  if (flags.follow) return follow(context, account, flags, ledger);
  if (ledger.length >= limits.ledgerEntries)
    complain(context, `the API shows the newest ${limits.ledgerEntries} entries only (§2)`);
}

/** Until the process is stopped, or nobody reads any more. A failed read is reported once, and the next one brings what was missed. */
async function follow(
  context: Context,
  account: AccountConnection,
  flags: LedgerFlags,
  before: readonly LedgerEntry[],
): Promise<void> {
  const { clock, stopped, unread } = context;
  const ends = AbortSignal.any([stopped, unread]);
  let known = before;
  let readAt = clock.wallMs();
  let trouble = '';
  for (;;) {
    await sleep(clock, account.spec.pollSeconds * 1000, ends);
    if (ends.aborted) return;
    const outcome = await account.api.account(stopped);
    if (stopped.aborted) return;
    if (outcome.kind !== 'applied') {
      const message = describeOutcome(outcome);
      if (message !== trouble) complain(context, `can't read the account ${account.key} now: ${message}`);
      trouble = message;
      continue;
    }
    trouble = '';
    const { entries, hasGap } = newEntries(known, outcome.value.ledger);
    const at = clock.wallMs();
    if (hasGap) printGap(context, flags, readAt, at);
    for (const entry of entries) print(context, lineOf(entry, flags));
    known = outcome.value.ledger;
    readAt = at;
  }
}

function lineOf(entry: LedgerEntry, { output }: LedgerFlags): string {
  return output === 'jsonl' ? JSON.stringify(shownEntry(entry)) : cellsOf(entry).join('  ');
}

function printGap(context: Context, { output }: LedgerFlags, fromMs: number, toMs: number): void {
  const [from, to] = [stamp(fromMs), stamp(toMs)];
  if (output === 'jsonl') print(context, JSON.stringify({ gap: true, from, to }));
  else
    complain(
      context,
      `entries between ${from} and ${to} may be missing: the API shows the newest ${limits.ledgerEntries} only (§2)`,
    );
}

/** As the API has it, without what this program adds when it reads. */
function shownEntry({ unreadable: _unreadable, ...entry }: LedgerEntry): object {
  return entry;
}

function ledgerTable(entries: readonly LedgerEntry[]): string {
  return entries.length === 0 ? 'No entries.' : renderTable(['TIME', 'USD', 'ENTRY'], entries.map(cellsOf));
}

/** Time and amount, as far as they are known; all else as it is. */
function cellsOf(entry: LedgerEntry): string[] {
  const { createdAt, amountMicros, ...rest } = shownEntry(entry) as Record<string, unknown>;
  const at = typeof createdAt === 'number' ? stamp(createdAt) : '-';
  const amount = typeof amountMicros === 'number' ? (amountMicros / 1_000_000).toFixed(4) : '-';
  const others = Object.entries(rest).map(([name, value]) =>
    typeof value === 'string' ? `${name}=${value}` : `${name}=${JSON.stringify(value)}`,
  );
  return [at, amount, oneLine(others.join(' '))];
}
