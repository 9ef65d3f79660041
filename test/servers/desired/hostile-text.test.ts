/** Texts that are made to keep a pattern busy: each costs little more than any other text of its length. */
import { describe, expect, test } from 'vitest';
import { foreignText, parseRetryAfter, parseRfc3339, terminalLines } from '../../../src/base/index.ts';
import { lastLines, newPart } from '../../../src/cli/output/log-text.ts';
import { oneLine } from '../../../src/cli/output/terminal-text.ts';
import type { StructuralSchema } from '../../../src/crdgen/index.ts';
import { parseFile } from '../../../src/desired/index.ts';
import { managedKinds } from '../../../src/resources/index.ts';
import { documentOf, folderVerdict, openApiSchema } from '../../unit/crdgen/support.ts';
import { cpuMs } from '../../support/cpu-time.ts';

const pieces = 'a|A|0|-|.|/|:|@| |*|,|\\|[|"|=|a.|a-|a/|0-|*/|//|://a|a,|1,|\u001b[|\u001b]|\r|\n| \n'.split(
  '|',
);
const length = 50_000;
const hostile = pieces.flatMap((piece) => {
  const long = piece.repeat(Math.floor(length / piece.length));
  return [long, `${long}!`, `a${long}\n`, `https://${long}/`];
});
/** A pattern that goes back and forth would take minutes. */
const mostMs = 3000;

/** The texts that took too long. */
function slow(work: (text: string) => unknown): string[] {
  return hostile.filter((text) => {
    const startedAt = cpuMs();
    work(text);
    return cpuMs() - startedAt > mostMs;
  });
}

/** What `schema` describes, with `text` for every text in it. */
function filled(schema: StructuralSchema, text: string): unknown {
  if (schema.properties) {
    const members = Object.entries(schema.properties).map(([name, member]) => [name, filled(member, text)]);
    return Object.fromEntries(members);
  }
  if (schema.items) return [filled(schema.items, text)];
  if (schema.type === 'integer' || schema.type === 'number') return 1;
  return schema.type === 'boolean' ? true : text;
}

describe.each(managedKinds)('a document of the kind %s', (kind) => {
  const spec = openApiSchema(kind).properties?.['spec'] ?? {};

  test('is checked at once, whatever is written for its texts', () => {
    expect(
      slow((text) => folderVerdict(kind, documentOf(kind, filled(spec, text) as Record<string, unknown>))),
    ).toEqual([]);
  });

  test('is checked at once, whatever its names, labels and annotations are', () => {
    const metadata = (text: string) => ({
      metadata: {
        name: text,
        namespace: text,
        labels: { a: text, [text]: 'a' },
        annotations: { [text]: text },
      },
    });
    expect(slow((text) => folderVerdict(kind, documentOf(kind, {}, metadata(text))))).toEqual([]);
  });
});

test.each<readonly [string, (text: string) => unknown]>([
  ['a file', (text) => parseFile('web.yaml', text)],
  ['a time', parseRfc3339],
  ['a Retry-After', (text) => parseRetryAfter(text, 0)],
  ['a text of the API', (text) => foreignText(text, { secrets: [text.slice(0, 1000)] })],
  ['a line for a terminal', oneLine],
  ['the output of a container', terminalLines],
  ['a log', (text) => newPart(text, lastLines(`${text}\n${text}`, 10))],
])('%s is read at once, whatever it is', (_what, work) => {
  expect(slow(work)).toEqual([]);
});
