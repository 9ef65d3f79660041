/**
 * `fleetkeeper.yaml`: values of flags for the commands of one fleet. Its keys are the long names of the flags. Under `commands`, they
 * are for one command.
 *
 * The file may come with a folder that somebody else wrote. So nothing in it runs a program, sends a key anywhere, or confirms a
 * change: `refusedKeys` has what must not be in it, and why. A message never shows a value.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError, messageOf } from '../../base/index.ts';
import {
  holdsDocuments,
  limits,
  lineAt,
  nearest,
  readYaml,
  settingsFileName,
  type YamlDocument,
} from '../../desired/index.ts';
import { isCluster } from '../cluster.ts';
import { commandNames } from '../commands.ts';

/** It may be repeated on a terminal. */
const printable = /^[^\p{Cc}\p{Cf}\u2028\u2029]+$/u;
const expected = 'expected a text, as the flag takes it';
const value = z.union([z.string().regex(printable, expected), z.number()], expected);
const list = z.union([value, z.array(value).min(1)], 'expected a text, or a list of texts');

/** Of the fleet. */
const fleetKeys = { source: value, state: value, owner: value, 'digest-key-file': value };

/** Flags with the same meaning in all commands that have them. */
const sharedKeys = {
  account: value,
  context: value,
  'file-grace': value,
  lease: value,
  listen: value,
  'log-format': value,
  'log-level': value,
  namespace: value,
  output: value,
  settle: value,
  shard: value,
  'shard-by': value,
  'watch-namespaces': list,
};

/** Those that mean something else in each command. */
const commandKeys = { minutes: value, patience: value, stable: value, tail: value, timeout: value };

const ofOneCommand = z.strictObject({ ...sharedKeys, ...commandKeys }).partial();
const commands = z
  .strictObject(Object.fromEntries(commandNames.map((name) => [name, ofOneCommand])))
  .partial();
const schema = z.strictObject({ ...fleetKeys, ...sharedKeys, commands }).partial();

const paths: ReadonlySet<string> = new Set(['source', 'state', 'digest-key-file']);

/** The keys of the file, but for `commands`; and those that are under a command only. */
export const settingKeys = {
  everywhere: [...Object.keys(fleetKeys), ...Object.keys(sharedKeys)].sort(),
  ofACommand: Object.keys(commandKeys).sort(),
} as const;

interface Refusal {
  readonly pattern: RegExp;
  readonly message: string;
  readonly remedy: string;
}

const onTheCommandLine = 'pass it on the command line';

const refusedKeys: readonly Refusal[] = [
  {
    pattern: /^(yes|force|confirm.*|allow-.*|accept-.*|applied|not-applied)$/,
    message: 'is a confirmation, and a file would give it for every later change, too',
    remedy: onTheCommandLine,
  },
  {
    pattern: /^kubeconfig$/,
    message: 'is not allowed: a kubeconfig may name programs to run',
    remedy: 'set KUBECONFIG, or pass it on the command line',
  },
  {
    pattern: /^secrets-dir$/,
    message: 'is not allowed: a folder of somebody else would choose files that are sent to its provider',
    remedy: onTheCommandLine,
  },
  {
    pattern: /key|token|secret|password|credential/,
    message: 'is not allowed: files like this are shared',
    remedy: 'set FLEETKEEPER_API_KEY_FILE, or use a Secret document',
  },
  {
    pattern: /url|^(server|endpoint|address)$/,
    message: 'is not allowed: an address in this file could get your key',
    remedy: 'set FLEETKEEPER_API_URL, or declare an Account',
  },
  {
    pattern: /^(target|selector|id|all)$/,
    message: 'is what one command is about',
    remedy: onTheCommandLine,
  },
];

export interface Setting {
  /** As on a command line. */
  readonly text: string;
  /** `fleetkeeper.yaml:3: settle`. */
  readonly place: string;
  /** It is for this command alone, so the command must have it. */
  readonly isOfCommand: boolean;
}

export interface Settings {
  /** For messages. */
  readonly file: string;
  /** As a path from where the command was started. */
  readonly source: string | undefined;
  /** By the long names of the flags, without `source`. */
  of(command: string): ReadonlyMap<string, Setting>;
}

/** Undefined: the folder has no such file, or it is one of documents. Throws a `UserError`. */
export function settingsIn(folder: string): Settings | undefined {
  const file = path.join(folder, settingsFileName);
  const text = textOf(file);
  if (text === undefined) return undefined;
  const yaml = readYaml(text);
  if (holdsDocuments(yaml)) return undefined;
  const [document, second] = yaml.documents;
  const fault = yaml.refused ?? document?.faults[0];
  if (fault) throw new UserError(`${file}:${fault.line}: ${fault.message}`, fault.remedy);
  if (second) throw new UserError(`${file}:${second.line}: a second document`, 'keep one of them');
  return new FileSettings(file, document);
}

/** A pipe would wait for somebody to write into it. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK;

function textOf(file: string): string | undefined {
  try {
    const opened = openSync(file, withoutWaiting);
    try {
      const found = fstatSync(opened);
      if (!found.isFile()) throw new Error('it is no plain file');
      if (found.size > limits.fileBytes) {
        throw new Error(`it is larger than ${limits.fileBytes / 1024 / 1024} MiB`);
      }
      return readFileSync(opened, 'utf8');
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UserError(`can't read ${file}: ${messageOf(error)}`, 'make it readable, or remove it', error);
  }
}

type Values = Readonly<Record<string, z.infer<typeof list> | undefined>>;

class FileSettings implements Settings {
  readonly file: string;
  readonly #document: YamlDocument | undefined;
  readonly #values: Values;
  readonly #commands: Readonly<Record<string, Values | undefined>>;

  constructor(file: string, document: YamlDocument | undefined) {
    this.file = file;
    this.#document = document;
    const parsed = schema.safeParse(document?.value ?? {});
    if (!parsed.success) throw this.#refusal(parsed.error);
    const { commands: each = {}, ...values } = parsed.data;
    this.#values = values;
    this.#commands = each;
  }

  get source(): string | undefined {
    const { source } = this.#values;
    return source === undefined ? undefined : this.#text('source', source);
  }

  of(command: string): ReadonlyMap<string, Setting> {
    const found = new Map<string, Setting>();
    const take = (values: Values, parent: readonly string[]) => {
      for (const [key, given] of Object.entries(values)) {
        if (given === undefined || key === 'source') continue;
        const place = `${this.#place([...parent, key])}: ${key}`;
        found.set(key, { text: this.#text(key, given), place, isOfCommand: parent.length > 0 });
      }
    };
    take(this.#values, []);
    take(this.#commands[command] ?? {}, ['commands', command]);
    return found;
  }

  #text(key: string, given: z.infer<typeof list>): string {
    const text = Array.isArray(given) ? given.join(',') : String(given);
    if (!paths.has(key) || (key === 'source' && isCluster(text))) return text;
    const place = path.isAbsolute(text) ? text : path.join(path.dirname(this.file), text);
    // Whoever reads a source or a state checks what it is. A key may come out of a pipe, but only out of one that this user names.
    if (key === 'digest-key-file' && statSync(place, { throwIfNoEntry: false })?.isFile() === false) {
      throw new UserError(`${this.#place([key])}: ${key}: it is no plain file`, 'name a file with the key');
    }
    return place;
  }

  #place(keys: readonly (string | number)[]): string {
    return `${this.file}:${this.#document ? lineAt(this.#document, keys) : 1}`;
  }

  #refusal({ issues }: z.ZodError): UserError {
    const [issue] = issues;
    const keys = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
    if (issue?.code === 'unrecognized_keys') return this.#unknown(keys, issue.keys[0] ?? '');
    const what = keys.length === 0 ? 'the file' : keys.join('.');
    const message = issue?.code === 'invalid_type' ? `expected ${issue.expected}` : (issue?.message ?? '');
    return new UserError(
      `${this.#place(keys)}: ${what}: ${message}`,
      'write `name: value`, a flag on each line',
    );
  }

  #unknown(parent: readonly (string | number)[], key: string): UserError {
    const shown = /^[\w.-]{1,60}$/.test(key) ? key : 'a key';
    const place = `${this.#place([...parent, key])}: ${shown}`;
    const refused = refusedKeys.find(({ pattern }) => pattern.test(key.toLowerCase()));
    if (refused) return new UserError(`${place} ${refused.message}`, refused.remedy);
    const known = knownUnder(parent);
    const meant = nearest(key, known);
    const advice = meant === undefined ? `the keys here are ${known.join(', ')}` : `did you mean ${meant}?`;
    return new UserError(`${place}: there is no such setting`, advice);
  }
}

function knownUnder([first, second]: readonly (string | number)[]): readonly string[] {
  if (first === undefined) return [...settingKeys.everywhere, 'commands'];
  if (second === undefined) return commandNames;
  return [...Object.keys(sharedKeys), ...settingKeys.ofACommand].sort();
}
