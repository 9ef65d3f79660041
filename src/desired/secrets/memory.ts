/**
 * The Secrets of `--secrets-dir` as they are used: what was found now, and what was found before. Pure.
 *
 * A Secret:
 *
 *     unknown ── first reading ──> used ── other content ──> pending ── the same content, long enough ──> used
 *        └── a later reading ──> pending                        └── the content from before ──> used
 *
 * | found now                                             | what is used                    | complete | reported            |
 * |-------------------------------------------------------|---------------------------------|----------|---------------------|
 * | the directory is absent, unreadable, empty, too large | the last values                 | no       | a problem           |
 * | a namespace or Secret that can't be listed, is empty  | the last values                 | no       | a problem           |
 * | a file that can't be used                             | its last value                  | yes      | a problem           |
 * | other values, or more keys                            | after 100 ms: the new ones      | yes      |                     |
 * | fewer keys, or no Secret                              | after 2 s: what is left         | yes      |                     |
 *
 * So a directory that is replaced by a rename, half written or unmounted changes no value. `..data` of a mounted Secret may move while
 * its keys are read; a change is pending for a Secret as a whole, so old and new values are not mixed.
 *
 * Where there is no last value, a key has a fault instead: objects that refer to it are held, also those for which it is `optional`.
 * Nobody knows that it is absent.
 */
import { sameValue, type Sensitive } from '../../base/index.ts';
import { faulty, sameData, type DataFault, type SecretData } from '../data-documents.ts';
import type { Problem } from '../source.ts';
import { printable } from '../problem.ts';
import type { Fault, FoundFile, FoundValue, SecretsTree } from './tree.ts';

/** How long other content, and a loss, must stay the same. */
export const settleMs = 100;
export const lossMs = 2000;
/** What was read half is read again after this. */
const passingMs = 1000;
const problemsShown = 200;

export interface SecretsReading {
  readonly directory: string;
  /** By `namespace/name`. */
  readonly secrets: ReadonlyMap<string, SecretData>;
  /** Why a Secret that is not among them may exist: by namespace, or `` for all. */
  readonly unknown: ReadonlyMap<string, DataFault>;
  readonly problems: readonly Problem[];
  readonly complete: boolean;
  /** What is worth a line in the log, and needs no change. */
  readonly notes: readonly string[];
  /** Another reading should follow after this time. */
  readonly againAfterMs: number | undefined;
}

type Values = ReadonlyMap<string, Sensitive<string>>;

interface Known {
  readonly values: Values;
  /** The same object while nothing is different. */
  readonly data: SecretData;
  readonly pending: { readonly values: Values | undefined; readonly sinceMs: number } | undefined;
}

export class SecretsMemory {
  readonly #directory: string;
  #known = new Map<string, Known>();
  #hasRead = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  take(tree: SecretsTree, nowMs: number): SecretsReading {
    const isFirst = !this.#hasRead;
    this.#hasRead = true;
    if (tree.failed) return this.failed(tree.failed);
    const next = new Map<string, Known>();
    const waits: number[] = [];
    for (const name of new Set([...this.#known.keys(), ...tree.secrets.keys()])) {
      const found = tree.secrets.get(name);
      const before = this.#known.get(name);
      const [namespace = ''] = name.split('/');
      const isUnlisted = tree.unlisted.has(name) || tree.unlisted.has(namespace);
      const now = isUnlisted ? before : this.#follow(name, before, found, isFirst ? undefined : nowMs);
      if (!now) continue;
      next.set(name, now);
      if (now.pending && !isUnlisted) waits.push(now.pending.sinceMs + patience(now) - nowMs);
      const isPassing = [...(found?.values() ?? [])].some((file) => 'isPassing' in file);
      if (isPassing) waits.push(passingMs);
    }
    this.#known = next;
    return {
      directory: this.#directory,
      ...this.#used(tree.unlisted),
      problems: this.#problems(tree),
      complete: tree.unlisted.size === 0,
      notes: this.#notes(tree),
      againAfterMs: waits.length === 0 ? undefined : Math.max(1, Math.min(...waits)),
    };
  }

  /** As if nothing could be read. */
  failed(fault: Fault): SecretsReading {
    const kept = this.#known.size > 0 ? '; the values that were read from it before are kept' : '';
    const message = `the directory ${this.#directory} ${fault.message}${kept}`;
    const unknown = new Map([['', dataFault(`--secrets-dir ${this.#directory}`, fault)]]);
    const { secrets } = this.#used(new Map());
    const problems = [this.#problem(this.#directory, { ...fault, message })];
    const [directory, againAfterMs] = [this.#directory, undefined];
    return { directory, secrets, unknown, problems, complete: false, notes: [], againAfterMs };
  }

  /** Undefined: there is none. Without `nowMs`, nothing was read before, and content is used at once. */
  #follow(
    name: string,
    before: Known | undefined,
    found: ReadonlyMap<string, FoundFile> | undefined,
    nowMs: number | undefined,
  ): Known | undefined {
    const values = found && usable(found, before?.values);
    if (before && values && sameValues(values, before.values)) {
      return { ...before, data: this.#data(name, values, found, before.data), pending: undefined };
    }
    const isSame = before?.pending && sameContent(values, before.pending.values);
    const pending = before?.pending && isSame ? before.pending : { values, sinceMs: nowMs ?? 0 };
    const known = before ?? { values: new Map(), data: new Map(), pending };
    if (nowMs !== undefined && nowMs - pending.sinceMs < patience({ ...known, pending })) {
      const data = before ? before.data : faulty(dataFault(this.#path(name), justWritten));
      return { ...known, data, pending };
    }
    return values && { values, data: this.#data(name, values, found, before?.data), pending: undefined };
  }

  #data(
    name: string,
    values: Values,
    found: ReadonlyMap<string, FoundFile>,
    before: SecretData | undefined,
  ): SecretData {
    const faults = new Map<string, DataFault>();
    for (const [key, file] of found) {
      if (!('value' in file) && !values.has(key))
        faults.set(key, dataFault(this.#path(`${name}/${key}`), file));
    }
    if (before && !before.fault && sameValues(values, before) && sameFaults(faults, before.faults))
      return before;
    return faults.size === 0 ? new Map(values) : Object.assign(new Map(values), { faults });
  }

  #used(unlisted: ReadonlyMap<string, Fault>): Pick<SecretsReading, 'secrets' | 'unknown'> {
    const secrets = new Map([...this.#known].map(([name, { data }]) => [name, data] as const));
    const unknown = new Map<string, DataFault>();
    for (const [place, fault] of unlisted) {
      if (!place.includes('/')) unknown.set(place, dataFault(this.#path(place), fault));
      else if (!secrets.has(place)) secrets.set(place, faulty(dataFault(this.#path(place), fault)));
    }
    return { secrets, unknown };
  }

  #problems({ secrets, unlisted, strays }: SecretsTree): Problem[] {
    const files = [...secrets].flatMap(([name, found]) =>
      [...found].flatMap(([key, file]) => ('value' in file ? [] : [[`${name}/${key}`, file] as const])),
    );
    const faults = [...unlisted, ...files, ...strays];
    const shown = faults.slice(0, problemsShown);
    const more = faults.length - shown.length;
    const rest = { message: `has ${more} more problems`, remedy: 'fix the first ones first' };
    return [
      ...shown.map(([file, fault]) => {
        const isKept = this.#keeps(file);
        const kept = isKept ? '; what was read from it before is kept' : '';
        return this.#problem(this.#path(file), { ...fault, message: `${fault.message}${kept}` });
      }),
      ...(more > 0 ? [this.#problem(this.#directory, rest)] : []),
    ];
  }

  #keeps(file: string): boolean {
    const [namespace, name, key] = file.split('/');
    if (name === undefined) return [...this.#known.keys()].some((known) => known.startsWith(`${namespace}/`));
    const known = this.#known.get(`${namespace}/${name}`);
    return key === undefined ? known !== undefined : known?.values.has(key) === true;
  }

  #notes({ secrets }: SecretsTree): string[] {
    const values = [...secrets].flatMap(([name, found]) =>
      [...found].flatMap(([key, file]) => ('value' in file ? [[`${name}/${key}`, file] as const] : [])),
    );
    const noted = (path: string) => printable(this.#path(path));
    const open = values.find(([, { isOpen }]: readonly [string, FoundValue]) => isOpen);
    return [
      ...(open
        ? [`others than its owner may read ${noted(open[0])}: \`chmod -R go= ${this.#directory}\` ends that`]
        : []),
      ...values.flatMap(([path, { endsWithNewline }]) =>
        endsWithNewline ? [`${noted(path)} ends with a line break, which is part of its value`] : [],
      ),
    ];
  }

  #problem(file: string, { message, remedy }: Fault): Problem {
    return { file: printable(file), line: undefined, path: undefined, message, remedy, key: undefined };
  }

  #path(file: string): string {
    return `${this.#directory}/${file}`;
  }
}

const justWritten: Fault = { message: 'is being written', remedy: 'it is read again' };

/** Of a pending change. */
function patience({ values, pending }: Pick<Known, 'values' | 'pending'>): number {
  const isLoss = [...values.keys()].some((key) => pending?.values?.has(key) !== true);
  return isLoss ? lossMs : settleMs;
}

/** What can't be used keeps its last value. */
function usable(found: ReadonlyMap<string, FoundFile>, before: Values | undefined): Values {
  const values = new Map<string, Sensitive<string>>();
  for (const [key, file] of found) {
    const value = 'value' in file ? file.value : before?.get(key);
    if (value) values.set(key, value);
  }
  return values;
}

function dataFault(place: string, { message, remedy }: Fault): DataFault {
  return { reason: 'InvalidReference', message: `${printable(place)} ${message}`, remedy };
}

/** Nothing has to follow from the second one. */
export function sameReading(left: SecretsReading, right: SecretsReading): boolean {
  return (
    left.complete === right.complete &&
    left.secrets.size === right.secrets.size &&
    [...left.secrets].every(([name, data]) => sameData(data, right.secrets.get(name) ?? new Map())) &&
    sameValue([...left.unknown], [...right.unknown]) &&
    sameValue(left.problems, right.problems)
  );
}

function sameContent(left: Values | undefined, right: Values | undefined): boolean {
  return left && right ? sameValues(left, right) : left === right;
}

function sameValues(left: Values, right: Values): boolean {
  return (
    left.size === right.size && [...left].every(([key, value]) => right.get(key)?.reveal() === value.reveal())
  );
}

function sameFaults(
  left: ReadonlyMap<string, DataFault>,
  right: ReadonlyMap<string, DataFault> = new Map(),
): boolean {
  return (
    left.size === right.size && [...left].every(([key, { message }]) => right.get(key)?.message === message)
  );
}
