/** Results for programs. Field names are a contract; see docs/command-line.md. */
import { stringify } from 'yaml';

export const outputFormats = ['text', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export function structured(format: 'json' | 'yaml', value: object): string {
  if (format === 'json') return JSON.stringify(value, null, 2);
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd();
}

const latestMs = 8_640_000_000_000_000;

/** RFC 3339 of a stamp that the API gave, which may be any number. */
export function stamp(unixMs: number): string {
  const ms = Math.min(Math.max(unixMs, -latestMs), latestMs);
  return new Date(ms).toISOString();
}
