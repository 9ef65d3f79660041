/** What was probably meant by arguments that a command could not use: a folder, or a kind and a name as kubectl takes them. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../base/index.ts';
import { holdsFleet } from '../desired/index.ts';
import { kindCalled } from '../resources/index.ts';
import type { Context } from './context.ts';
import { hasState } from './flags/default-source.ts';
import { shellWord } from './options.ts';

type Place = Pick<Context, 'currentFolder' | 'command'>;

/** What is shown instead of the error of a command; the same error where nothing else is meant. */
export function explained(error: UserError, command: Command | undefined, place: Place): UserError {
  const folder = command && folderIn(command, place);
  // A path is no name of anything else.
  if (!command || folder === undefined || !folder.includes('/')) return error;
  return new UserError(
    takenForName(command, folder),
    `name it so: \`${withFolder(command, folder, place)}\``,
  );
}

/** Beside the error of a command, for what may be meant. */
export async function hintFor(command: Command | undefined, place: Place): Promise<string | undefined> {
  if (!command) return undefined;
  const folder = folderIn(command, place);
  if (folder !== undefined && (folder.includes('/') || (await isOfFleet(folder, place)))) {
    return `${takenForName(command, folder)}; if you mean the folder: \`${withFolder(command, folder, place)}\``;
  }
  const { args } = command;
  const at = args.findIndex((word, index) => index < 2 && kindCalled(word) && isName(args[index + 1]));
  if (at === -1) return undefined;
  const target = `${args[at]}/${args[at + 1]}`;
  const words = [...args.slice(0, at), target, ...args.slice(at + 2)];
  return `a kind and a name are one word here: \`${called(command, place)} ${words.map(shellWord).join(' ')}\``;
}

function isName(word: string | undefined): boolean {
  return word !== undefined && !word.startsWith('-');
}

/** Undefined too if the command takes a folder as its argument, or has its source. */
function folderIn(command: Command, place: Place): string | undefined {
  const source = sourceOption(command);
  if (!source || command.getOptionValueSource(source.attributeName()) === 'cli') return undefined;
  if (command.registeredArguments.some((argument) => argument.name() === 'dir')) return undefined;
  return command.args.find((word) => isFolder(word, place));
}

function sourceOption(command: Command) {
  return command.options.find(({ long }) => long === '--source');
}

function isFollowing(command: Command): boolean {
  return command.getOptionValue('follow') === true;
}

function takenForName(command: Command, folder: string): string {
  const taken = `${folder} is taken for a name, and is a folder`;
  return isFollowing(command) ? `-f means --follow here: ${taken}` : taken;
}

/** The same command with the folder as its source. */
function withFolder(command: Command, folder: string, place: Place): string {
  const source = sourceOption(command);
  const names = command.args.filter((word) => word !== folder).map(shellWord);
  const words = [called(command, place), ...names, source?.short ?? '--source', shellWord(folder)];
  return words.join(' ');
}

function called(command: Command, { command: program }: Place): string {
  return `${program} ${command.name()}`;
}

function isFolder(word: string, { currentFolder = '' }: Place): boolean {
  const place = path.resolve(currentFolder, word);
  return existsSync(place) && statSync(place).isDirectory();
}

async function isOfFleet(folder: string, { currentFolder = '' }: Place): Promise<boolean> {
  const place = path.resolve(currentFolder, folder);
  return hasState(place) || holdsFleet(place, true);
}
