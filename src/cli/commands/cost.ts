import { InvalidArgumentError, Option, type Command } from 'commander';
import { readAccounts } from '../account/account-contents.ts';
import { connected, withConnectionFlags, type ConnectionFlags } from '../account/connection.ts';
import { complain, print, type Context } from '../context.ts';
import { costReport, type CostBy } from '../../shown/cost.ts';
import { surveyor } from '../../shown/survey.ts';
import { originOf } from '../../resources/index.ts';
import { apiTimeoutOption, outputOption } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { costText } from '../account/cost.ts';

interface CostFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly by: CostBy;
  readonly month?: string;
  readonly timeout: number;
}

/** `cost`: what everything costs now, by who it is for, and what accounts and budgets have spent. */
export function defineCost(command: Command, context: Context): void {
  withConnectionFlags(command)
    .addOption(
      new Option('--by <what>', 'namespace, account, fleet, or label=KEY')
        .argParser(parseBy)
        .default({ by: 'namespace' }, 'namespace'),
    )
    .addOption(
      new Option('--month <month>', 'of what was spent, such as 2026-11; default the present one').argParser(
        parseMonth,
      ),
    )
    .addOption(apiTimeoutOption())
    .addOption(outputOption())
    .action(async (flags: CostFlags) => {
      const report = await connected(context, flags, async ({ accounts, fleet }) => {
        const read = await readAccounts(context, accounts, flags.timeout);
        for (const line of read.flatMap(({ missing }) => missing)) complain(context, line);
        const survey = surveyor(fleet);
        const held = read.map(({ account, contents }) => ({
          account: account.key,
          origin: originOf(account.spec.url),
          holdings: survey(contents),
        }));
        return costReport(
          {
            accounts: held,
            labelsOf: (key) =>
              fleet?.snapshot.objects.get(key)?.labels ?? fleet?.store.record(key)?.manifest.labels ?? {},
            records: fleet?.store.records() ?? [],
            month: flags.month,
            fleet,
            nowMs: context.clock.wallMs(),
          },
          flags.by,
        );
      });
      print(context, flags.output === 'text' ? costText(report) : structured(flags.output, report));
    });
}

function parseBy(text: string): CostBy {
  if (text === 'namespace' || text === 'account' || text === 'fleet') return { by: text };
  const key = /^label=(?<key>.+)$/.exec(text)?.groups?.['key'];
  if (key !== undefined) return { by: 'label', key };
  throw new InvalidArgumentError('expected namespace, account, fleet, or label=KEY');
}

function parseMonth(text: string): string {
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('expected a month, such as 2026-11');
}
