/**
 * Which objects a command is about: `--target KIND/NAME`, `--selector`, and the namespace. Pure.
 *
 * | given | selected |
 * |---|---|
 * | nothing | all objects |
 * | `-n NAMESPACE` | those of the namespace |
 * | `-l SELECTOR` | those with such labels, in all namespaces or in that of `-n` |
 * | `--target KIND/NAME`, repeatable | these, in the namespace `default` or in that of `-n`. A name alone: of any kind, if only one has it |
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError } from '../base/index.ts';
import { nearest } from '../desired/index.ts';
import { kindCalled, kindNames, managedKinds, type ManagedKind } from '../resources/index.ts';
import {
  LabelSelectorError,
  parseLabelSelector,
  type LabelPredicate,
  type Labels,
} from '../shown/label-selector.ts';

/** A document of the source, a record of the state. */
export interface Selectable {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
}

export interface Target {
  /** Undefined: any. */
  readonly kind: ManagedKind | undefined;
  readonly name: string;
}

/** The option value that no flag gives: the namespace of a kubeconfig's context. */
export const namespaceOfNames = 'namespaceOfNames';

/** As they were written, for messages, with what they mean. */
export interface GivenSelector {
  readonly text: string;
  readonly matches: LabelPredicate;
}

export interface SelectionFlags {
  readonly target?: readonly Target[];
  readonly selector?: GivenSelector;
  readonly namespace?: string;
  /** Of names, where `namespace` is not given; default `default`. */
  readonly [namespaceOfNames]?: string;
}

/** `-n` is added where the command has none yet. */
export function withSelectionFlags(command: Command): Command {
  command
    .addOption(
      new Option(
        '--target <kind/name>',
        'only this object, for example ContainerService/web or csvc/web; can be repeated',
      ).argParser((text, before: readonly Target[] | undefined) => [...(before ?? []), parseTarget(text)]),
    )
    .addOption(selectorOption().conflicts('target'));
  if (command.options.some(({ long }) => long === '--namespace')) return command;
  return command.option(
    '-n, --namespace <name>',
    'only objects of this namespace; of a target: default, or in a cluster that of the current context',
  );
}

export function selectorOption(): Option {
  return new Option(
    '-l, --selector <labels>',
    "only objects with these labels: app=web, 'app in (web,api)', '!app'",
  ).argParser((text): GivenSelector => ({ text, matches: labelSelectorOf(text) }));
}

/** `KIND/NAME`, or a name alone, of a flag. The kind may have any of its names. */
function parseTarget(text: string): Target {
  const target = targetOf(text);
  if (target === 'no target') {
    throw new InvalidArgumentError('expected KIND/NAME, or a name alone; -n gives the namespace');
  }
  if ('unknown' in target) throw new InvalidArgumentError(unknownKind(target.unknown));
  return target;
}

/** The same of an argument that is read within a command, where commander prints no error. Throws a `UserError`. */
export function namedTarget(text: string): Target {
  const target = targetOf(text);
  const remedy = 'write NAME, or KIND/NAME such as csvc/web; the namespace is that of -n';
  if (target === 'no target') throw new UserError(`"${text}" names no object`, remedy);
  if ('unknown' in target) throw new UserError(unknownKind(target.unknown), remedy);
  return target;
}

function targetOf(text: string): Target | { readonly unknown: string } | 'no target' {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const called = parts.length === 2 ? (parts[0] ?? '') : undefined;
  if (name === '' || parts.length > 2 || called === '') return 'no target';
  if (called === undefined) return { kind: undefined, name };
  const kind = kindCalled(called);
  return kind === undefined ? { unknown: called } : { kind, name };
}

/** What to write instead. */
export function unknownKind(called: string): string {
  const meant = nearest(called, kindNames);
  const kind = meant === undefined ? undefined : kindCalled(meant);
  const advice = kind === undefined ? `the kinds are ${managedKinds.join(', ')}` : `did you mean ${kind}?`;
  return `there is no kind ${called}; ${advice}`;
}

const defaultNamespace = 'default';

export class Selection {
  readonly #flags: SelectionFlags;

  constructor(flags: SelectionFlags) {
    this.#flags = flags;
  }

  /** Nothing was given, so it is about the whole fleet. */
  get isEverything(): boolean {
    const { target, selector, namespace } = this.#flags;
    return target === undefined && selector === undefined && namespace === undefined;
  }

  get #ofNames(): string {
    const { namespace, namespaceOfNames: ofContext } = this.#flags;
    return namespace ?? ofContext ?? defaultNamespace;
  }

  /** The flags, as they may be written again. */
  get text(): string {
    const { target = [], selector, namespace } = this.#flags;
    return [
      ...target.map((one) => `--target ${targetText(one)}`),
      ...(selector ? [`-l '${selector.text}'`] : []),
      ...(namespace === undefined ? [] : [`-n ${namespace}`]),
    ].join(' ');
  }

  /** A name alone matches every kind: `among` refuses it where that is more than one object. */
  matches(object: Selectable): boolean {
    const { target, selector, namespace } = this.#flags;
    if (selector && !selector.matches(object.labels)) return false;
    if (target) return target.some((one) => isTarget(one, this.#ofNames, object));
    return namespace === undefined || object.namespace === namespace;
  }

  /**
   * Those of all objects that are selected, in their order. Throws a `UserError` for a target that matches nothing, and
   * for a name alone that several objects have.
   */
  among<One extends Selectable>(objects: readonly One[]): One[] {
    for (const target of this.#flags.target ?? []) this.#check(target, objects);
    return objects.filter((object) => this.matches(object));
  }

  #check(target: Target, objects: readonly Selectable[]): void {
    const namespace = this.#ofNames;
    const found = objects.filter((object) => isTarget(target, namespace, object));
    if (found.length === 1) return;
    const text = targetText(target);
    if (found.length > 1) {
      const names = found.map(({ kind, name }) => `${kind}/${name}`).join(', ');
      throw new UserError(`${found.length} objects are called ${text}`, `name the kind, too: ${names}`);
    }
    throw new UserError(
      `there is no ${text} in the namespace ${namespace}`,
      remedyOf(target, namespace, objects),
    );
  }
}

function isTarget({ kind, name }: Target, namespace: string, object: Selectable): boolean {
  return (
    object.name === name && object.namespace === namespace && (kind === undefined || object.kind === kind)
  );
}

function targetText({ kind, name }: Target): string {
  return kind === undefined ? name : `${kind}/${name}`;
}

const namesShown = 10;

/** Where it is instead, the name that was probably meant, or those that there are. */
function remedyOf(target: Target, namespace: string, objects: readonly Selectable[]): string {
  const elsewhere = objects.find((object) => isTarget(target, object.namespace, object));
  if (elsewhere) return `it is in the namespace ${elsewhere.namespace}: pass -n ${elsewhere.namespace}`;
  const there = objects.filter((object) => object.namespace === namespace);
  const sameKind = there.filter(({ kind }) => target.kind === undefined || kind === target.kind);
  const meant = nearest(
    target.name,
    sameKind.map(({ name }) => name),
  );
  const named = sameKind.find(({ name }) => name === meant) ?? there.find(({ name }) => name === target.name);
  if (named) return `did you mean ${named.kind}/${named.name}?`;
  if (there.length === 0) return 'the namespace has no objects; check --source and -n';
  const shown = (sameKind.length > 0 ? sameKind : there).map(({ kind, name }) => `${kind}/${name}`).sort();
  const more = shown.length > namesShown ? ` and ${shown.length - namesShown} more` : '';
  return `there are: ${shown.slice(0, namesShown).join(', ')}${more}`;
}

function labelSelectorOf(text: string): LabelPredicate {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (error instanceof LabelSelectorError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}
