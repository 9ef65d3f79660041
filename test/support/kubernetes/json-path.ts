/** The JSONPath of printer columns and selectable fields: names, indices, `[*]` and `[?(@.name=="value")]`. */
import { isFields, listOf } from './objects.ts';

type Step = (value: unknown) => readonly unknown[];

const token =
  /\.?\[\?\(@\.?([^=]*?)\s*==\s*["']([^"']*)["']\)\]|\.?\[(\d+|\*)\]|\.?\[["']([^"']*)["']\]|\.((?:\\.|[^.[\\])+)/gy;

export type JsonPath = (value: unknown) => readonly unknown[];

/** Undefined for what is not understood. */
export function parseJsonPath(path: string): JsonPath | undefined {
  const steps: Step[] = [];
  let end = 0;
  token.lastIndex = 0;
  for (let match = token.exec(path); match; match = token.exec(path)) {
    end = token.lastIndex;
    steps.push(stepOf(match));
  }
  if (end !== path.length || steps.length === 0) return undefined;
  return (value) => steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [value]);
}

function stepOf([, field, wanted, index, quoted, name]: RegExpExecArray): Step {
  if (field !== undefined) {
    const names = field.split('.');
    return (value) => listOf(value).filter((item) => String(descend(item, names)) === wanted);
  }
  if (index === '*') return (value) => (isFields(value) ? Object.values(value) : listOf(value));
  if (index !== undefined) return (value) => present(listOf(value)[Number(index)]);
  const key = quoted ?? (name ?? '').replaceAll(/\\(.)/g, '$1');
  return (value) => present(isFields(value) ? value[key] : undefined);
}

function descend(value: unknown, names: readonly string[]): unknown {
  return names.reduce((current, name) => (isFields(current) ? current[name] : undefined), value);
}

function present(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : [value];
}
