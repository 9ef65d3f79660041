/**
 * What the command line does not give, before the action of a command runs: the fleet, and the flags of its settings file. What
 * is on the command line has precedence over the file, and the file over defaults.
 */
import { InvalidArgumentError, type Command, type Option } from 'commander';
import { UserError } from '../../base/index.ts';
import { isCluster, namespaceOf, refuseForeignFlags } from '../cluster.ts';
import { complain, type Context } from '../context.ts';
import { missing } from '../options.ts';
import { stdinSource } from '../stdin-fleet.ts';
import { namespaceOfNames } from '../selection.ts';
import { chooseSource, otherFleetIn, shown, type ChosenSource } from './default-source.ts';
import { settingsIn, type Setting, type Settings } from './settings.ts';
import { SourceOption, folderArgument } from './source-option.ts';
import { refusePartOfFleet } from './part-as-source.ts';

/** For commands with `--source`; nothing happens to others. */
export async function applyDefaults(command: Command, context: Context): Promise<void> {
  const option = command.options.find((one) => one instanceof SourceOption);
  if (!option) return;
  const source = command.getOptionValue('source') as string | undefined;
  const chosen = await fleetFor(context, option, { source, dir: folderArgument(command) });
  if (chosen) {
    if (source === undefined) command.setOptionValue('source', chosen.source);
    if (chosen.settings) applySettings(command, chosen.settings);
    note(context, chosen);
    await refusePart(command, context, option, chosen);
  } else if (option.isNeeded) {
    const why =
      'there is no fleetkeeper.yaml with a `source`, and neither ./fleet nor the current folder has documents';
    command.error(missing(option, why));
  }
  refuseForeign(command, chosen?.source);
  if (isCluster(chosen?.source)) await applyContext(command, context);
}

/** A source with an owner or a state of its own is a fleet of its own: whoever names one wants that. */
async function refusePart(
  command: Command,
  context: Context,
  { isNeeded }: SourceOption,
  { source, settings }: ChosenSource,
): Promise<void> {
  const { owner, state } = command.opts<{ owner?: string; state?: string }>();
  const hasState = command.options.some(({ long }) => long === '--state');
  if (source === stdinSource && command.name() !== 'plan') {
    throw new UserError(
      `standard input (\`--source ${stdinSource}\`) is for \`plan\` only`,
      'write the documents to a folder; one of that name is `./-`',
    );
  }
  if (!isNeeded || !hasState || settings || isCluster(source)) return;
  if (owner === undefined && state === undefined) await refusePartOfFleet(context, command.name(), source);
}

/**
 * Of a cluster, a name is looked for in the namespace of the kubeconfig's context, as kubectl does. Where a namespace selects a part of the
 * fleet, it does not: all is meant.
 */
async function applyContext(command: Command, context: Context): Promise<void> {
  const option = command.options.find(({ long }) => long === '--namespace');
  const origin = command.getOptionValueSource('namespace');
  if (!option || (origin !== undefined && origin !== 'default')) return;
  const namespace = await namespaceOf(context, command.opts());
  if (namespace === undefined) return;
  const name = option.defaultValue === undefined ? namespaceOfNames : 'namespace';
  command.setOptionValueWithSource(name, namespace, 'default');
}

/** Undefined: nobody names a fleet, and none is found, or the account of the environment is meant. */
export async function fleetFor(
  { environment, currentFolder = '' }: Context,
  { isNeeded }: SourceOption,
  { source, dir }: { readonly source: string | undefined; readonly dir: string | undefined },
): Promise<ChosenSource | undefined> {
  const isOfEnvironment = !isNeeded && source === undefined && Boolean(environment['FLEETKEEPER_API_URL']);
  if (isOfEnvironment && settingsIn(currentFolder)?.source === undefined) return undefined;
  return chooseSource({ dir, source, currentFolder });
}

/** Which folder it is, unless the command line has that already. */
function note(context: Context, { source, settings, isNamed }: ChosenSource): void {
  const withFile = settings ? `, with ${settings.file}` : '';
  if (!isNamed || settings) complain(context, `using ${shown(source)}${withFile}`);
  const other = isNamed && !isCluster(source) ? otherFleetIn(source) : undefined;
  if (other !== undefined) complain(context, `${shown(other)} has a state, and ${shown(source)} has none`);
}

function applySettings(command: Command, settings: Settings): void {
  for (const [key, setting] of settings.of(command.name())) {
    const option = command.options.find(({ long }) => long === `--${key}`);
    if (!option || isOtherMeaning(key, option)) {
      if (!setting.isOfCommand) continue;
      throw new UserError(`${setting.place}: \`${command.name()}\` has no such setting`, 'remove it');
    }
    const name = option.attributeName();
    const origin = command.getOptionValueSource(name);
    if (origin !== undefined && origin !== 'default') continue;
    command.setOptionValueWithSource(name, valueOf(option, setting), 'config');
  }
}

/** `import --output` is a folder. Where a namespace has no default, it selects a part of the fleet, which is never done silently. */
function isOtherMeaning(key: string, { flags, defaultValue }: Option): boolean {
  if (key === 'namespace') return defaultValue === undefined;
  return key === 'output' && flags.endsWith('<dir>');
}

function valueOf(option: Option, { text, place }: Setting): unknown {
  try {
    return option.parseArg ? option.parseArg(text, undefined) : text;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new UserError(`${place}: ${error.message}`, `\`${option.flags}\`: ${option.description}`, error);
  }
}

/** Those that mean nothing for this source. A default was not given by anybody. */
function refuseForeign(command: Command, source: string | undefined): void {
  const given = Object.entries(command.opts()).filter(
    ([name]) => command.getOptionValueSource(name) !== 'default',
  );
  refuseForeignFlags(source, Object.fromEntries(given));
}
