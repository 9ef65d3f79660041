import { Option, type Command } from 'commander';
import { limits, type LedgerEntry } from '../../api/wire.ts';
import { UserError } from '../../base/index.ts';
import {
  connected,
  withConnectionFlags,
  type AccountConnection,
  type ConnectionFlags,
} from '../account/connection.ts';
import { answerTo } from '../output/answers.ts';
import { complain, print, untilStopped, type Context } from '../context.ts';
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
  const read = async () => {
    const outcome = await account.api.account(context.stopped);
    return answerTo(`read the account ${account.key}`, outcome, context.stopped).ledger;
  };
  let known = await read();
  let readAt = context.clock.wallMs();
  const first = firstEntries(known);
  if (flags.output === 'json') print(context, structured('json', { entries: first.map(shownEntry) }));
  else if (flags.output === 'text') print(context, ledgerTable(first));
  else for (const entry of first) print(context, JSON.stringify(shownEntry(entry)));
  if (!flags.follow && known.length >= limits.ledgerEntries)
    complain(context, `the API shows the newest ${limits.ledgerEntries} entries only (§2)`);
  while (flags.follow) {
    await pause(context, account.spec.pollSeconds * 1000);
    if (context.stopped.aborted) return;
    const now = await read();
    const { entries, hasGap } = newEntries(known, now);
    const at = context.clock.wallMs();
    if (hasGap) printGap(context, flags, readAt, at);
    for (const entry of entries)
      print(
        context,
        flags.output === 'jsonl' ? JSON.stringify(shownEntry(entry)) : cellsOf(entry).join('  '),
      );
    known = now;
    readAt = at;
  }
}

function pause(context: Context, delayMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = context.clock.after(delayMs, resolve);
  return Promise.race([promise, untilStopped(context)]).finally(() => timer.cancel());
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
