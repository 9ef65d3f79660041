/** Rows for `kubectl get`: the name, and the printer columns. */
import { parseJsonPath, type JsonPath } from './json-path.ts';
import type { Kind } from './kinds.ts';
import { textOf, type StoredObject } from './objects.ts';

export function columnDefinitions(kind: Kind): readonly object[] {
  const name = {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name must be unique within a namespace.',
    priority: 0,
  };
  const others = kind.columns.map(({ name: title, type, format = '', description = '', priority = 0 }) => ({
    name: title,
    type,
    format,
    description,
    priority,
  }));
  return [name, ...others];
}

const paths = new Map<string, JsonPath | undefined>();

function pathOf(text: string): JsonPath | undefined {
  if (!paths.has(text)) paths.set(text, parseJsonPath(text));
  return paths.get(text);
}

export function rowCells(kind: Kind, object: StoredObject): readonly unknown[] {
  const cells = kind.columns.map(({ type, jsonPath }) => cell(type, pathOf(jsonPath)?.(object) ?? []));
  return [object.metadata.name, ...cells];
}

function cell(type: string, values: readonly unknown[]): unknown {
  const [value] = values;
  if (value === undefined) return type === 'date' ? '<unknown>' : null;
  switch (type) {
    case 'date':
      return ageOf(textOf(value));
    case 'integer':
    case 'number':
      return Number(value);
    case 'boolean':
      return value === true;
    default:
      return values.map(textOf).join(',');
  }
}

const units: readonly (readonly [string, number])[] = [
  ['y', 365 * 86_400],
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];

/** The two largest units while the first is small, as `kubectl` shows them: `45s`, `3m5s`, `12m`, `5h`, `3d`. */
export function ageOf(time: string): string {
  const seconds = Math.floor((Date.now() - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return '<invalid>';
  if (seconds < 0) return seconds >= -2 ? '0s' : '<invalid>';
  if (seconds < 120) return `${seconds}s`;
  const first = units.findIndex(([, size]) => seconds >= size);
  const [[unit, size] = ['s', 1], [nextUnit, nextSize] = ['s', 1]] = units.slice(first);
  const count = Math.floor(seconds / size);
  const rest = Math.floor((seconds % size) / nextSize);
  return count < 10 && rest > 0 && unit !== 's' ? `${count}${unit}${rest}${nextUnit}` : `${count}${unit}`;
}
