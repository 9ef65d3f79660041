/** `-o` of `status`: text and wide for people, the others for programs. */
import { InvalidArgumentError, Option } from 'commander';
import { UserError } from '../../base/index.ts';
import type { ObjectRecord, PlanFileRecord, Unreadable } from '../../state/index.ts';
import { complain, print, type Context } from '../context.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { palette } from '../output/render.ts';
import { renderDrift } from '../output/render-drift.ts';
import { renderDuplicates } from '../output/render-duplicates.ts';
import { forStream, oneLine } from '../output/terminal-text.ts';
import { statusEntries, type StatusEntry } from '../../shown/entries.ts';
import { isMissing, managerLine, type ManagerState } from '../../shown/manager-state.ts';
import { statusList } from './entries.ts';
import { parseTemplate, type Template } from './json-path.ts';
import { statusTable, type TableView } from './table.ts';

const plainFormats = ['text', 'wide', 'json', 'yaml', 'name'] as const;

export interface StatusOutput {
  readonly format: (typeof plainFormats)[number] | 'jsonpath';
  /** Of `jsonpath`. */
  readonly template?: Template;
}

export function statusOutputOption(): Option {
  return new Option(
    '-o, --output <format>',
    'text and wide for people; the others for programs, as in kubectl',
  )
    .choices([...plainFormats, 'jsonpath=TEMPLATE'])
    .argParser(parseOutput)
    .default({ format: 'text' } satisfies StatusOutput, 'text');
}

function parseOutput(text: string): StatusOutput {
  const format = plainFormats.find((each) => each === text);
  if (format) return { format };
  const template = /^jsonpath=(.*)$/s.exec(text)?.[1];
  if (template === undefined) {
    throw new InvalidArgumentError(`Allowed choices are ${plainFormats.join(', ')}, jsonpath=TEMPLATE.`);
  }
  try {
    return { format: 'jsonpath', template: parseTemplate(template) };
  } catch (error) {
    if (error instanceof UserError) throw new InvalidArgumentError(`${error.message}\n${error.remedy ?? ''}`);
    throw error;
  }
}

/** For a command that keeps the state itself. */
export function printRecords(context: Context, format: OutputFormat, records: Iterable<ObjectRecord>): void {
  printEntries(context, { format }, statusEntries(records));
}

/** `manager`: for a command that is not itself the one that keeps the state. */
export function printEntries(
  context: Context,
  output: StatusOutput,
  entries: readonly StatusEntry[],
  manager?: ManagerState,
  planFile?: PlanFileRecord,
): void {
  switch (output.format) {
    case 'json':
    case 'yaml':
      return print(context, structured(output.format, statusList(entries, manager, planFile)));
    case 'name':
    case 'jsonpath':
      if (manager && isMissing(manager))
        complain(context, oneLine(managerLine(manager, context.clock.wallMs())));
      return printForPrograms(context, output, entries, manager);
    case 'text':
    case 'wide':
      return print(context, statusText(context, output, entries, manager));
  }
}

export function statusText(
  context: Context,
  output: StatusOutput,
  entries: readonly StatusEntry[],
  manager: ManagerState | undefined,
): string {
  const view = viewOf(context, output);
  const { colours, nowMs } = view;
  const records = entries.map(({ record }) => record);
  const found = [renderDrift(records, colours), renderDuplicates(records, colours)];
  const unreadable = manager?.unreadable && colours.bad(oneLine(unreadableText(manager.unreadable)));
  const paint = manager && isMissing(manager) ? colours.bad : colours.dim;
  const line = manager ? [paint(oneLine(managerLine(manager, nowMs)))] : [];
  const parts = [...found, unreadable];
  const rest = [statusTable(entries, view), ...parts.flatMap((part) => (part ? ['', part] : []))];
  // Programs found the head of the table in the first line before there was such a line.
  const lines = view.columns === undefined ? [...rest, ...line] : [...line, ...rest];
  return lines.join('\n');
}

function unreadableText({ count, first }: Unreadable): string {
  const more = count === 1 ? '' : `, and ${count - 1} more; \`fleetkeeper plan\` shows all`;
  return `what can't be read has no row: ${first}${more}`;
}

export function viewOf({ stdout, environment, clock }: Context, { format }: StatusOutput): TableView {
  return {
    colours: palette(stdout, environment),
    // A terminal of which nobody has set the size has 0.
    columns: stdout.isTTY ? stdout.columns || defaultColumns : undefined,
    isWide: format === 'wide',
    nowMs: clock.wallMs(),
  };
}

const defaultColumns = 80;

function printForPrograms(
  context: Context,
  { template }: StatusOutput,
  entries: readonly StatusEntry[],
  manager: ManagerState | undefined,
): void {
  if (template) {
    // As kubectl, without a line break of its own.
    context.stdout.write(forStream(context.stdout, template.render(statusList(entries, manager))));
    return;
  }
  for (const { kind, name } of entries) print(context, `${kind.toLowerCase()}/${name}`);
}
