import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError, messageOf } from '../../base/index.ts';
import { connected } from '../account/connection.ts';
import { print, type Context } from '../context.ts';
import { firstService, type FirstService } from '../init/choice.ts';
import { firstFiles, keyFileName, type Access, type NewFile } from '../init/documents.ts';
import { ask, canAsk } from '../init/questions.ts';
import { ensureLocal } from '../local/create.ts';
import type { LocalRuntime } from '../local/place.ts';
import { withLocal } from '../local/with-local.ts';
import { readOffer, type Offer } from '../offer/offer.ts';
import { readTextFile, shellWord } from '../options.ts';
import { addSchema, schemaFile, withSchemaLine } from '../schema-line.ts';

interface InitFlags {
  readonly url?: string;
  readonly keyFile?: string;
  readonly docker?: boolean;
  readonly simulated?: boolean;
  readonly image?: string;
  readonly port?: number;
}

/** `init`: a folder that can be applied as it is. Nothing that exists is overwritten. */
export function defineInit(command: Command, context: Context): void {
  command
    .argument('[dir]', 'the folder; default the current one')
    .addOption(
      new Option(
        '--docker',
        "containers of this machine's Docker or podman, with a control plane of the folder's own",
      ).conflicts(['url', 'keyFile', 'simulated']),
    )
    .addOption(new Option('--simulated', 'the same with simulated containers').conflicts(['url', 'keyFile']))
    .option('--url <address>', "the provider's address; default FLEETKEEPER_API_URL")
    .option(
      '--key-file <file>',
      'its API key, which is copied into the folder; default FLEETKEEPER_API_KEY or FLEETKEEPER_API_KEY_FILE',
    )
    .option('--image <image>', 'of the first service; default a small public one')
    .option('--port <port>', 'where the image answers', parsePort)
    .action(async (dir: string | undefined, flags: InitFlags) => {
      const folder = dir ?? '.';
      const target = await targetOf(context, flags);
      refuseExisting(folder, target);
      const service = await serviceFor(context, folder, target, flags);
      const files = firstFiles(service, target);
      await write(folder, files);
      print(context, nextSteps(context, folder, files, target));
    });
}

/** With a runtime: a control plane of the folder's own. */
interface Target extends Access {
  readonly runtime: LocalRuntime | undefined;
  readonly environment: Context['environment'];
}

async function targetOf(context: Context, flags: InitFlags): Promise<Target> {
  const { environment } = context;
  const local = (runtime: LocalRuntime) => ({ runtime, url: undefined, key: undefined, environment });
  if (flags.docker) return local('docker');
  if (flags.simulated) return local('simulated');
  let url = flags.url ?? environment['FLEETKEEPER_API_URL'];
  if (!url && canAsk(context)) {
    const question = 'Address of the control API (empty: containers of this machine): ';
    url = await ask(context, question);
    if (url === '') return local('docker');
  }
  if (!url) {
    throw new UserError(
      'whose containers will it be?',
      'pass --docker for those of this machine, --simulated for none at all, or --url ADDRESS for those of a provider',
    );
  }
  const key = await keyFor(context, flags);
  const access = { FLEETKEEPER_API_URL: url, ...(key !== undefined && { FLEETKEEPER_API_KEY: key }) };
  return { runtime: undefined, url, key, environment: { ...environment, ...access } };
}

/** Undefined: the environment has it, and keeps it. */
async function keyFor(context: Context, { keyFile }: InitFlags): Promise<string | undefined> {
  const { environment } = context;
  if (keyFile !== undefined) {
    const key = readTextFile(keyFile, 'the API key').trim();
    if (key !== '') return key;
    throw new UserError(`the key file ${keyFile} is empty`, 'put the API key into it');
  }
  if (environment['FLEETKEEPER_API_KEY'] || environment['FLEETKEEPER_API_KEY_FILE']) return undefined;
  if (canAsk(context)) {
    const key = await ask(context, `API key (it is not shown, and written to ${keyFileName}): `, true);
    if (key !== '') return key;
  }
  throw new UserError(
    'there is no API key',
    'pass --key-file FILE, or set FLEETKEEPER_API_KEY; it is never an argument, because others could read it',
  );
}

function refuseExisting(folder: string, target: Target): void {
  const anything: FirstService = {
    region: '',
    image: '',
    httpPort: undefined,
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    hourlyMicros: undefined,
  };
  const names = firstFiles(anything, target).map(({ name }) => name);
  const existing = [...names, schemaFile, '.fleetkeeper'].filter((name) =>
    existsSync(path.join(folder, name)),
  );
  if (existing.length === 0) return;
  throw new UserError(
    `${folder} has ${existing.join(', ')} already: nothing was written`,
    'name another folder, or remove these',
  );
}

async function serviceFor(
  context: Context,
  folder: string,
  target: Target,
  { image, port }: InitFlags,
): Promise<FirstService> {
  const isLocal = target.runtime !== undefined;
  const offer = isLocal
    ? await localOffer(context, folder, target.runtime)
    : await offerOf({ ...context, environment: target.environment });
  const wishes = { isLocal, ...(image !== undefined && { image }), ...(port !== undefined && { port }) };
  const service = firstService(offer, wishes);
  if (service) return service;
  throw new UserError(
    'the catalog has no region',
    'check the address; `fleetkeeper catalog` shows what is offered',
  );
}

async function localOffer(context: Context, folder: string, runtime: LocalRuntime): Promise<Offer> {
  const isNew = !existsSync(folder);
  makeFolder(folder);
  try {
    const simulating = `${context.command} init ${shellWord(folder)} --simulated`;
    await ensureLocal(context, folder, runtime, simulating);
    return await withLocal(context, folder, offerOf);
  } catch (error) {
    rmSync(isNew ? folder : path.join(folder, '.fleetkeeper'), { recursive: true, force: true });
    throw error;
  }
}

async function offerOf(context: Context): Promise<Offer> {
  return connected(context, { namespace: 'default' }, async ({ accounts: [account] }) => {
    if (!account) throw new UserError('there is no account');
    const offer = await readOffer(account, context.stopped);
    const missing = offer.unreadable.find(({ what }) => what === 'catalog' || what === 'account');
    if (!missing) return offer;
    throw new UserError(
      `can't read the ${missing.what} at ${account.spec.url}: ${missing.reason}`,
      'check the address and the key; nothing was written',
    );
  });
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new UserError(`can't make the folder ${folder}: ${messageOf(error)}`, 'name another folder', error);
  }
}

async function write(folder: string, files: readonly NewFile[]): Promise<void> {
  makeFolder(folder);
  try {
    for (const { name, text, isSecret } of files) {
      const shown = name.endsWith('.yaml') ? withSchemaLine(name, text) : text;
      writeFileSync(path.join(folder, name), shown, { flag: 'wx', mode: isSecret ? 0o600 : 0o644 });
    }
    await addSchema(folder);
  } catch (error) {
    throw new UserError(
      `can't write the first documents: ${messageOf(error)}`,
      'check that the folder is one in which this user may write',
      error,
    );
  }
}

function nextSteps(
  { command }: Context,
  folder: string,
  files: readonly NewFile[],
  { runtime, key }: Target,
): string {
  const source = folder === '.' ? '' : ` ${shellWord(folder)}`;
  const written = files.map(({ name }) => path.join(folder, name)).join(', ');
  const simulated =
    runtime === 'simulated' ? 'Its containers are simulated: nothing runs, and nothing answers. ' : '';
  const access =
    runtime !== undefined
      ? `${simulated}Its control plane runs while a command does; \`${command} dev${source}\` keeps it and the fleet running.`
      : key === undefined
        ? 'The API key stays in your environment.'
        : `The API key is in ${path.join(folder, keyFileName)}; .gitignore has that file.`;
  return `wrote ${written}
${access}

Next:
  ${command} plan${source}       # what would be created
  ${command} apply${source}      # create it
  ${command} status${source === '' ? '' : ` -f${source}`}
  ${command} destroy${source}    # delete all of it`;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port, 1 to 65535');
}
