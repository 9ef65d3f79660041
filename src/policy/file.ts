/**
 * A PlanPolicy: a file of rules about changes. A file that is not valid as a whole is refused: a rule that is left out denies nothing.
 *
 *     text ──> YAML ──> schema ──> each expression compiled ──> Policy
 */
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { limits, lineAt, printable, readYaml, type YamlDocument } from '../desired/index.ts';
import { ExpressionError, compile, expressionLimits, type Expression } from './expressions.ts';

export interface Rule {
  readonly name: string;
  readonly when: Expression | undefined;
  readonly test: Expression;
  readonly effect: 'deny' | 'warn';
  readonly message: string;
}

const expression = z.string().min(1).max(expressionLimits.characters);

const rule = z
  .strictObject({
    name: z.string().min(1).max(63),
    when: expression.optional(),
    deny: expression.optional(),
    warn: expression.optional(),
    message: z.string().min(1).max(512),
  })
  .refine(
    ({ deny, warn }) => (deny === undefined) !== (warn === undefined),
    'needs exactly one of `deny` and `warn`',
  );

const document = z.strictObject({
  apiVersion: z.literal('fleetkeeper.dev/v1alpha1'),
  kind: z.literal('PlanPolicy'),
  metadata: z.strictObject({ name: z.string().min(1).max(63) }),
  rules: z
    .array(rule)
    .min(1, 'has no rule, so it would allow everything')
    .max(200)
    .refine(
      (rules) => new Set(rules.map(({ name }) => name)).size === rules.length,
      'two rules have the same name',
    ),
});

type Path = readonly (string | number)[];

/** Throws a `UserError` with file and line. */
export function readRules(file: string, text: string): readonly Rule[] {
  if (Buffer.byteLength(text) > limits.fileBytes) {
    throw refused(file, undefined, `is larger than ${limits.fileBytes / 1024 / 1024} MiB`);
  }
  const { documents, refused: unreadable } = readYaml(text);
  const [first, second] = documents;
  const fault = first?.faults[0] ?? unreadable;
  if (fault) throw refused(file, fault.line, fault.message);
  if (!first) throw refused(file, undefined, 'has no document');
  if (second) throw refused(file, second.line, 'has a second document; write all rules into one');
  const parsed = document.safeParse(first.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
    throw at(file, first, path, issue?.message ?? 'is not valid');
  }
  return parsed.data.rules.map((one, index) => {
    const compiled = (field: 'when' | 'deny' | 'warn') =>
      compiledAt(file, first, ['rules', index, field], one[field]);
    const deny = compiled('deny');
    const test = deny ?? compiled('warn');
    if (!test) throw at(file, first, ['rules', index], 'needs exactly one of `deny` and `warn`');
    return {
      name: one.name,
      when: compiled('when'),
      test,
      effect: deny ? 'deny' : 'warn',
      message: one.message,
    };
  });
}

function compiledAt(
  file: string,
  yaml: YamlDocument,
  path: Path,
  text: string | undefined,
): Expression | undefined {
  try {
    return text === undefined ? undefined : compile(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw at(file, yaml, path, error.message);
  }
}

function at(file: string, yaml: YamlDocument, path: Path, message: string): UserError {
  const field = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return refused(file, lineAt(yaml, path), `${field.replace(/^\./, '')}: ${printable(message, 500)}`);
}

function refused(file: string, line: number | undefined, message: string): UserError {
  const place = line === undefined ? file : `${file}:${line}`;
  return new UserError(
    `the policy can't be used: ${place}: ${message}`,
    'correct the file; docs/how-to/policy.md has the form',
  );
}
