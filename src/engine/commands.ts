/**
 * When an operator command is decided on (its form: resources/parts/commands.ts). A command is the annotation of an object, or it was
 * left in the state file by the command line. Pure.
 *
 *     given ── the object is paused or held, or its kind can't decide yet ──> given
 *       ├── a newer one is given ──> forgotten
 *       └── decided: Done with its effect, or Outdated ──> recorded with its effect in one commit
 *
 * | case | |
 * |---|---|
 * | the same text is given again, or stays in the document | it is not decided on twice in a row |
 * | another one is left in the state file meanwhile | the annotation was decided on before, and is not again |
 * | crash before the commit | nothing has happened; the command is still given |
 * | the object is being deleted, or what the person saw is gone | Outdated |
 * | a text that can't be read | `InvalidAnnotation`; in the state file, where a later version may have left it: Outdated |
 */
import { parseCommand, type CommandVerbs, type OperatorCommand } from '../resources/index.ts';
import type { HandledCommand } from '../state/index.ts';
import type { Arrange, Plan } from './plan/index.ts';

export type CommandEffect =
  | { readonly result: 'Outdated'; readonly message: string }
  | ({
      readonly result: 'Done';
      readonly message: string;
      /** The kind's part of the record from now on. */
      readonly state: object;
    } & Partial<Pick<Arrange, 'change' | 'differences'>>);

interface Given {
  readonly text: string;
  readonly isAnnotation: boolean;
}

export interface CommandPlaces {
  readonly annotation: string | undefined;
  /** In the state file. */
  readonly left: string | undefined;
  readonly last: HandledCommand | undefined;
}

function givenIn({ annotation, left, last }: CommandPlaces): Given | undefined {
  if (left !== undefined && left !== last?.command) return { text: left, isAnnotation: false };
  const isNew = annotation !== undefined && ![last?.command, last?.annotation].includes(annotation);
  return isNew ? { text: annotation, isAnnotation: true } : undefined;
}

/** Undefined: no command is given, or it can't be decided on yet. `carryOut`: undefined as long as the kind can't decide. */
export function planCommand(
  places: CommandPlaces,
  object: { readonly verbs: CommandVerbs; readonly place: 'folder' | 'cluster'; readonly deleting: boolean },
  carryOut: (command: OperatorCommand) => CommandEffect | undefined,
): { readonly effect: CommandEffect; readonly handled: Omit<HandledCommand, 'at'> } | undefined {
  const given = givenIn(places);
  if (!given) return undefined;
  const command = parseCommand(given.text, object.verbs, object.place);
  const effect = isUnreadable(command)
    ? outdated(command)
    : object.deleting
      ? outdated('the object is being deleted')
      : carryOut(command);
  if (!effect) return undefined;
  const { result, message } = effect;
  const { last } = places;
  // The same text was carried out, from the state file.
  const isCovered = places.annotation !== undefined && places.annotation === last?.command;
  const annotation = given.isAnnotation || isCovered ? places.annotation : last?.annotation;
  return {
    effect,
    handled: { command: given.text, result, message, ...(annotation === undefined ? {} : { annotation }) },
  };
}

/** For a preview: what `plan`, the plan after the command, changes is shown with it. What the command itself decides is its own. */
export function besideEdit(commanded: Arrange, plan: Plan): Arrange {
  if (plan.kind !== 'arrange' || (plan.change !== 'update' && plan.change !== 'scale')) return commanded;
  const paths = new Set(commanded.differences.map(({ path }) => path));
  const others = plan.differences.filter(({ path }) => !paths.has(path));
  if (others.length === 0) return commanded;
  return { ...commanded, change: plan.change, differences: [...commanded.differences, ...others] };
}

/** The annotation is still the one that was outdated when it was decided on. */
export function isOutdated({ annotation, last }: Pick<CommandPlaces, 'annotation' | 'last'>): boolean {
  return last?.result === 'Outdated' && annotation !== undefined && annotation === last.command;
}

function isUnreadable(command: OperatorCommand | string): command is string {
  return typeof command === 'string';
}

function outdated(message: string): CommandEffect {
  return { result: 'Outdated', message };
}
