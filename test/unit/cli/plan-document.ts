/** `docs/reference/plan.md`, made from the schemas of a plan and of a plan file: `npm run docs:plan` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { planSchemaFiles } from '../../../src/cli/output/plan-schema.ts';

export const planDocument = path.join(import.meta.dirname, '../../../docs/reference/plan.md');

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

export function renderPlanDocument(): string {
  const [plan, file] = planSchemaFiles().map(({ text }) => JSON.parse(text) as Schema);
  if (!plan || !file) throw new Error('there are two schemas');
  return [
    '# Plans, field by field',
    '',
    '<!-- Made by `npm run docs:plan` from src/cli/output/plan-schema.ts and src/plan-file/format.ts; not to be edited. -->',
    '',
    'Fields may be added, also within a version. `?`: it may be absent. `[]`: an item of the list.',
    '',
    '## plan -o json',
    '',
    'As `schemas/plan-v1.json` in the package; [policy](../how-to/policy.md) has an example for conftest.',
    '',
    ...table(plan),
    '',
    '## Plan file',
    '',
    'What `plan --out` writes, with mode 0600: canonical JSON (RFC 8785), at most 64 MiB and 10,000 objects. As `schemas/plan-file-v1.json`.',
    '',
    ...table(file),
    '',
  ].join('\n');
}

function table(schema: Schema): string[] {
  return ['| field | type | meaning |', '|---|---|---|', ...rows(schema, '')];
}

function rows({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const { items } = field;
    const mark = required.includes(name) ? '' : '?';
    const place = `${prefix}${name}`;
    const own = `| \`${place}\`${mark} | ${typeOf(field)} | ${field.description ?? items?.description ?? ''} |`;
    return [own].concat(rows(items ?? field, items ? `${place}[].` : `${place}.`));
  });
}

function typeOf({ type, enum: values, const: only, anyOf, items }: Schema): string {
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (items) return `list of ${typeOf(items)}`;
  if (anyOf && type === undefined) {
    const each = anyOf.filter((one) => one.type !== undefined).map(typeOf);
    return each.length <= 3 ? each.join(' or ') : 'any';
  }
  return type === undefined ? 'any' : [type].flat().join(' or ');
}

if (import.meta.main) writeFileSync(planDocument, renderPlanDocument());
