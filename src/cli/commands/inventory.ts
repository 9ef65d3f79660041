import type { Command } from 'commander';
import { readAccounts } from '../account/account-contents.ts';
import { connected, withConnectionFlags, type ConnectionFlags } from '../account/connection.ts';
import { complain, print, type Context } from '../context.ts';
import { inventoryOf, inventoryText } from '../account/inventory.ts';
import { apiTimeoutOption, outputOption } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { surveyor } from '../../shown/survey.ts';
import { originOf } from '../../resources/index.ts';

interface InventoryFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly all?: boolean;
  readonly timeout: number;
}

/** `inventory`: what nobody manages, and what it costs. */
export function defineInventory(command: Command, context: Context): void {
  withConnectionFlags(command)
    .option('--all', 'everything, and who manages it')
    .addOption(apiTimeoutOption())
    .addOption(outputOption())
    .action(async (flags: InventoryFlags) => {
      const inventory = await connected(context, flags, async ({ accounts, fleet }) => {
        const read = await readAccounts(context, accounts, flags.timeout);
        for (const line of read.flatMap(({ missing }) => missing)) complain(context, line);
        const survey = surveyor(fleet);
        const held = read.map(({ account, contents }) => ({
          account: account.key,
          origin: originOf(account.spec.url),
          holdings: survey(contents),
        }));
        return inventoryOf(held, flags.all ?? false);
      });
      const text =
        flags.output === 'text'
          ? inventoryText(inventory, flags.all ?? false)
          : structured(flags.output, inventory);
      print(context, text);
    });
}
