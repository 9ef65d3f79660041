import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { answerTo } from '../output/answers.ts';
import { complain, print, type Context } from '../context.ts';
import {
  withService,
  withServiceFlags,
  type FoundService,
  type ServiceFlags,
} from '../account/service-lookup.ts';
import { localPlaceOf, readSettings } from '../local/place.ts';
import { oneLine } from '../output/terminal-text.ts';
import { isWebAddress } from '../web-address.ts';

interface OpenFlags extends ServiceFlags {
  readonly browser?: boolean;
}

/**
 * `open`: where a service can be reached. The URL of a browser session is private (§4 rule 7): it is printed to a
 * terminal only.
 */
export function defineOpen(command: Command, context: Context): void {
  withServiceFlags(command.arguments('[name]'))
    .option('--browser', 'open a browser session and print its private address, on a terminal only')
    .action((name: string | undefined, flags: OpenFlags) =>
      withService(context, name, flags, (service) =>
        flags.browser ? openBrowser(context, service) : printEndpoint(context, service, flags),
      ),
    );
}

async function printEndpoint(
  context: Context,
  { account, id, label }: FoundService,
  flags: ServiceFlags,
): Promise<void> {
  const { endpoint, state, httpPort } = answerTo(
    `read ${label}`,
    await account.api.service(id, context.stopped),
    context.stopped,
  );
  if (endpoint && isWebAddress(endpoint, 'bare')) {
    if (isSimulated(context, flags)) {
      complain(
        context,
        `containers are simulated, so nothing answers at this address; \`${context.command} init DIR --docker\` makes a folder with real ones`,
      );
    }
    return print(context, oneLine(endpoint));
  }
  if (endpoint) throw notWeb(`the address of ${label}`, oneLine(endpoint));
  const shown = oneLine(state ?? 'in an unknown state');
  throw new UserError(
    `${label} has no address: it is ${shown}${httpPort ? '' : ', and has no httpPort'}`,
    httpPort ? 'it gets one when it runs; see `fleetkeeper events`' : 'give it an httpPort, and apply',
  );
}

/** The folder's own control plane runs no containers. */
function isSimulated(context: Context, { source }: ServiceFlags): boolean {
  const place = localPlaceOf(context, source);
  return place !== undefined && readSettings(place).runtime === 'simulated';
}

/** What is private is not repeated. */
function notWeb(what: string, shown: string | undefined): UserError {
  return new UserError(
    `${what} that the API gives is no plain http or https address${shown === undefined ? '' : `: ${shown}`}`,
    'do not open it; ask the provider',
  );
}

async function openBrowser(context: Context, { account, id, label }: FoundService): Promise<void> {
  if (!context.stdout.isTTY) {
    throw new UserError(
      'the address of a browser session is private, and this is not a terminal',
      'run it on a terminal; without --browser, `open` prints the public address',
    );
  }
  const { browserEnabled } = answerTo(
    'read the catalog',
    await account.api.catalog(context.stopped),
    context.stopped,
  );
  if (!browserEnabled) {
    throw new UserError(
      'the catalog offers no browser sessions here',
      'without --browser, `open` prints the address of the service',
    );
  }
  const outcome = await account.api.openBrowserSession(id, context.random.uuid());
  const url = answerTo(`open a browser session in ${label}`, outcome);
  if (!isWebAddress(url.reveal(), 'whole')) throw notWeb('the address of the session', undefined);
  complain(context, 'anybody with this address is in your session: do not share it, and do not save it');
  print(context, oneLine(url.reveal()));
}
