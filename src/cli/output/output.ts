/**
 * Results for programs. Field names are a contract; see docs/reference/output.md. Texts of others are in them as they are, but for characters that a
 * terminal would obey or not show: those are written as escapes, which a parser turns back.
 */
import { Document, isScalar, visit } from 'yaml';

export const outputFormats = ['text', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Control characters but the line break, marks that turn the direction of writing, tags, line separators. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

export function structured(format: 'json' | 'yaml', value: object): string {
  if (format === 'json') return JSON.stringify(value, null, 2).replaceAll(unprintable, escapedUnits);
  const document = new Document(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // Only between double quotes does YAML know escapes.
      if (typeof node.value === 'string' && node.value.search(unprintable) !== -1) node.type = 'QUOTE_DOUBLE';
    },
    Pair(_, { key }) {
      if (isScalar(key) && typeof key.value === 'string' && key.value.search(unprintable) !== -1)
        key.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).trimEnd().replaceAll(unprintable, escapedPoint);
}

/** As JSON has it: a character beyond the first plane is two. */
function escapedUnits(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join(
    '',
  );
}

function escapedPoint(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return point > 0xff_ff ? `\\U${hex(point, 8)}` : `\\u${hex(point, 4)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

const latestMs = 8_640_000_000_000_000;

/** RFC 3339 of a stamp that the API gave, which may be any number. */
export function stamp(unixMs: number): string {
  const ms = Math.min(Math.max(unixMs, -latestMs), latestMs);
  return new Date(ms).toISOString();
}
