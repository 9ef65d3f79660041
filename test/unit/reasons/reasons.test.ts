import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { catalogTtlMs } from '../../../src/observed/index.ts';
import { entryOf, isBlocking, reasonNames, reasons, type Reason } from '../../../src/reasons/index.ts';
import { committedText, generatedText } from '../../support/generated-part.ts';
import { reasonLines, reasonsPart } from './reasons-document.ts';

const root = path.join(import.meta.dirname, '../../../src');
const sources = globSync('**/*.ts', { cwd: root })
  .filter((file) => !file.startsWith('reasons/') && !file.startsWith('control-plane/'))
  .map((file) => readFileSync(path.join(root, file), 'utf8'));

describe('the table of reasons', () => {
  test('has no entry that nothing uses', () => {
    const laterNames = reasonNames.filter(isBlocking).map((name) => entryOf(name).stalled?.as);
    const isUsed = (name: Reason) =>
      laterNames.some((later) => later === name) || sources.some((text) => text.includes(`'${name}'`));
    expect(reasonNames.filter((name) => !isUsed(name))).toEqual([]);
  });

  test('knows every reason that is written as one', () => {
    const written =
      /\b(?:holdFor|waitFor|notReady|conflict|hold|wait|scarce|yes|no)\(\s*'([A-Z]\w+)'|\breason: '([A-Z]\w+)'/g;
    const found = sources.flatMap((text) =>
      Array.from(text.matchAll(written), ([, one, two]) => one ?? two ?? ''),
    );
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter((name) => !Object.hasOwn(reasons, name))).toEqual([]);
  });

  test('is documented as it is (if not: npm run docs:reasons)', () => {
    expect(committedText(reasonsPart)).toBe(generatedText(reasonsPart, reasonLines()));
  });

  test('says in plain sentences what each reason means and what to do', () => {
    const texts = reasonNames.flatMap((name) => [reasons[name].meaning, reasons[name].remedy ?? '.']);
    const sentences = texts.flatMap((text) => text.split(/(?<=[.:]) /));
    expect(texts.filter((text) => !text.endsWith('.'))).toEqual([]);
    expect(sentences.filter((sentence) => sentence.split(' ').length > 30)).toEqual([]);
  });

  test('leads to a person, or to a wait that ends', () => {
    const holds = reasonNames.filter((name) => reasons[name].kind === 'held');
    expect(holds.filter((name) => reasons[name].whose === 'fleetkeeper')).toEqual([]);
  });
});

describe('what follows from a reason', () => {
  const blocking = reasonNames.filter(isBlocking);

  test('an account that can not be read is no observation of what is in it', () => {
    const unread = blocking.filter((name) => entryOf(name).accountUnread);
    expect(unread.length).toBeGreaterThan(0);
    expect(unread.filter((name) => entryOf(name).observed !== 'no')).toEqual([]);
  });

  test('a read that is not believed is none', () => {
    expect(blocking.filter((name) => entryOf(name).distrusted && entryOf(name).observed === 'yes')).toEqual(
      [],
    );
  });

  test('what the catalog refuses is asked again when the catalog may be another one', () => {
    for (const name of ['UnknownRegion', 'UnknownGeography', 'NoGpuOffered'] as const) {
      expect(entryOf(name).recheckMs).toBeGreaterThanOrEqual(catalogTtlMs);
    }
  });

  test('only a wait is stalled after a time, and only a hold is rechecked', () => {
    const odd = blocking.filter((name) => {
      const { kind, stalled, recheckMs, event } = entryOf(name);
      return kind === 'held' ? stalled !== undefined || event : recheckMs !== undefined;
    });
    expect(odd).toEqual([]);
  });
});
