import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { nearest } from '../../desired/index.ts';
import {
  isReason,
  reasonNames,
  reasons,
  sectionOf,
  type Reason,
  type ReasonKind,
  type Severity,
  type Turn,
} from '../../reasons/index.ts';
import { managedKinds } from '../../resources/index.ts';
import { print, type Context } from '../context.ts';
import { outputOption } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';

interface ExplainFlags {
  readonly output: OutputFormat;
}

/** Field names are a contract; docs/reference/output.md has them. */
interface Explanation {
  readonly reason: Reason;
  readonly kinds: readonly ReasonKind[];
  readonly severity: Severity;
  readonly whose: Turn;
  readonly meaning: string;
  /** Empty where there is nothing to do. */
  readonly remedy: string;
  readonly docs: string;
}

const kindTexts: Readonly<Record<ReasonKind, string>> = {
  ready: 'ready',
  doing: 'being done',
  waiting: 'waiting',
  unusable: 'not usable',
  held: 'held',
  fact: 'another condition',
  event: 'an Event',
};

/** `explain`: one entry of the table of reasons, or the names of all; a kind, or a field of it. */
export function defineExplain(command: Command, context: Context): void {
  command
    .argument(
      '[reason-or-field]',
      'a reason as a condition, a plan or an Event shows it, or a kind and a field of it; without one: all reasons',
    )
    .addOption(outputOption())
    .action(async (name: string | undefined, { output }: ExplainFlags) => {
      if (name === undefined) return print(context, allOf(output));
      if (!isReason(name)) {
        // Nothing else needs the schemas.
        const { explainedField, fieldText, isFieldPath } = await import('../explained-field.ts');
        if (isFieldPath(name)) {
          const field = explainedField(name);
          return print(context, output === 'text' ? fieldText(field) : structured(output, field));
        }
      }
      const explanation = explain(name);
      print(context, output === 'text' ? textOf(explanation) : structured(output, explanation));
    });
}

function allOf(output: OutputFormat): string {
  if (output !== 'text') return structured(output, { reasons: reasonNames.map(explain) });
  const width = Math.max(...reasonNames.map(({ length }) => length));
  return reasonNames.map((name) => `${name.padEnd(width)}  ${reasons[name].meaning}`).join('\n');
}

function explain(name: string): Explanation {
  if (!isReason(name)) throw unknown(name);
  const entry = reasons[name];
  const { kind, also = [], severity, whose, meaning, remedy = '' } = entry;
  return { reason: name, kinds: [kind, ...also], severity, whose, meaning, remedy, docs: sectionOf(entry) };
}

function unknown(name: string): UserError {
  const meant = nearest(name, [...reasonNames, ...managedKinds]);
  return new UserError(
    `there is no reason ${name}, and no kind`,
    `${meant === undefined ? '' : `did you mean ${meant}? `}\`fleetkeeper explain\` lists all reasons; the kinds are ${managedKinds.join(', ')}, a field is written as KIND.spec.FIELD`,
  );
}

function textOf({ reason, kinds, severity, whose, meaning, remedy, docs }: Explanation): string {
  const rows = [
    ['kind', kinds.map((kind) => kindTexts[kind]).join(', ')],
    ['severity', severity],
    ['turn', whose],
    ['meaning', meaning],
    ['remedy', remedy === '' ? 'Nothing is to be done.' : remedy],
    ['docs', docs],
  ];
  return [reason, ...rows.map(([name = '', text = '']) => `  ${name.padEnd(9)}${text}`)].join('\n');
}
