import type { Command } from 'commander';
import { connected, withConnectionFlags, type ConnectionFlags } from '../account/connection.ts';
import { print, exitCodes, type Context } from '../context.ts';
import { readOffer } from '../offer/offer.ts';
import { offerText } from '../offer/offer-text.ts';
import { outputOption } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { withProgress } from '../output/progress.ts';

interface CatalogFlags extends ConnectionFlags {
  readonly output: OutputFormat;
}

/** `catalog`: what can be declared, and what it costs. Exit 1 when the catalog itself can't be read. */
export function defineCatalog(command: Command, context: Context, exit: (code: number) => void): void {
  withConnectionFlags(command)
    .addOption(outputOption())
    .action(async (flags: CatalogFlags) => {
      const offers = await connected(context, flags, ({ accounts }) =>
        withProgress(
          context,
          () => 'reading the catalog',
          () => Promise.all(accounts.map((account) => readOffer(account, context.stopped))),
        ),
      );
      const text =
        flags.output === 'text' ? offerText(offers) : structured(flags.output, { accounts: offers });
      print(context, text);
      const isMissing = offers.some(({ unreadable }) => unreadable.some(({ what }) => what === 'catalog'));
      exit(isMissing ? exitCodes.failed : exitCodes.ok);
    });
}
