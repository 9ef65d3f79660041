/** Documents and messages are in plain English: short sentences, and the terms of the glossary. */
import { globSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { documents, root } from './documents.ts';
import {
  blocksOf,
  commentsIn,
  findingsIn,
  forbiddenForms,
  forbiddenInTexts,
  identifiersIn,
  messagesIn,
  sentencesOf,
  wordsIn,
  wordsOfName,
} from './prose.ts';

const textOf = (document: string) => readFileSync(path.join(root, document), 'utf8');

/** Its table shows the forbidden forms. */
const terms = 'docs/internals/terms.md';
const forbidden = forbiddenForms(textOf(terms));

const proseOf = (document: string) =>
  document === terms ? (textOf(document).split('## Instead of')[0] ?? '') : textOf(document);

test.each(documents)(
  '%s has short sentences, short table cells, and the words of the glossary',
  (document) => {
    expect(findingsIn(proseOf(document), forbidden)).toEqual([]);
  },
);

const rooms = readdirSync(path.join(root, 'src'));

function forbiddenInRoom(room: string, textsIn: (source: string) => string[]): string[] {
  const files = globSync(room.endsWith('.ts') ? room : `${room}/**/*.ts`, { cwd: path.join(root, 'src') });
  return files.flatMap((file) => forbiddenInTexts(textsIn(textOf(`src/${file}`)), forbidden));
}

describe.each([
  { texts: 'messages', textsIn: messagesIn },
  { texts: 'comments', textsIn: commentsIn },
])('$texts', ({ textsIn }) => {
  test.each(rooms)('of src/%s have the terms of the glossary', (room) => {
    expect(forbiddenInRoom(room, textsIn)).toEqual([]);
  });
});

describe('names', () => {
  /** As words of a name: `isToldOver` is `is told over`. A kind's `Look` is a term (`engine/kind.ts`). */
  const ruledOut =
    /\b(?:un)?told\b|\bdoors?\b|\bshel(?:f|ves)\b|\bstrangers?\b|\bdisguises?\b|\bportraits?\b|\bdoubts?\b|\bdoubted\b|\bgoes\b|\bgo on\b|\blook(?:ed)? (?:at|now|again|after|once)\b|\blooked\b|\bmeets?\b|\blay\b|\bbeats?\b|\bkeepers?\b|\bpurses?\b|\bhappenings?\b|\bbelieve[ds]?\b/;
  /** Fields of records that an earlier version has saved, and a reason. */
  const kept = new Set(['creationInDoubt', 'doubted', 'NotLookedAt']);

  test.each(rooms)('of src/%s have the terms of the glossary', (room) => {
    const files = globSync(room.endsWith('.ts') ? room : `${room}/**/*.ts`, { cwd: path.join(root, 'src') });
    const found = files.flatMap((file) =>
      identifiersIn(textOf(`src/${file}`))
        .filter((name) => !kept.has(name) && ruledOut.test(wordsOfName(name)))
        .map((name) => `src/${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test('are found in code and in values of texts, and nowhere else', () => {
    // A comment may say isToldOver.
    const source =
      "const isToldOver = 'onlyTold'; // lookAt\nlay(`a door ${goesOn}`); export type TaskLook = Told;";
    const names = identifiersIn(source).filter((name) => ruledOut.test(wordsOfName(name)));
    expect(names).toEqual(['isToldOver', 'lay', 'goesOn', 'Told']);
  });
});

describe('the check itself', () => {
  test('knows the left side of the table', () => {
    expect(forbidden).toContain('told');
    expect(forbidden.length).toBeGreaterThan(25);
  });

  test('ends a sentence at a full stop before a capital, a number or code, and nowhere else', () => {
    expect(
      sentencesOf('It has 1.5 GB, e.g. Linux. `run` starts. See [a. B](x.md). "Yes." 2 are left'),
    ).toEqual(['It has 1.5 GB, e.g. Linux.', 'CODE starts.', 'See a.', 'B.', '"Yes."', '2 are left']);
    expect(sentencesOf('Node needs `a. B` here')).toEqual(['Node needs CODE here']);
  });

  test('joins the lines of a paragraph, and keeps list items and cells apart', () => {
    const document =
      '# No sentence\n\none\ntwo\n- three\n  four\n\n```sh\nfive\n```\n| six | `a \\| b` |\n|---|---|\n1. seven';
    expect(blocksOf(document)).toEqual([
      { kind: 'text', line: 3, text: 'one two' },
      { kind: 'text', line: 5, text: 'three four' },
      { kind: 'cell', line: 11, text: 'six' },
      { kind: 'cell', line: 11, text: '`a \\| b`' },
      { kind: 'text', line: 13, text: 'seven' },
    ]);
  });

  test('counts inline code as one word, and names of files as none', () => {
    expect(wordsIn('`fleetkeeper plan --all` reads `test/unit/a.test.ts` — [a folder](b.md)')).toBe(4);
  });

  test('finds a long sentence, a long cell and a forbidden word', () => {
    const words = (count: number) => 'one '.repeat(count).trim();
    expect(findingsIn(`${words(40)}\n\n| One ${words(29)}. One ${words(29)} |`, forbidden)).toEqual([]);
    expect(findingsIn(words(41), forbidden)).toHaveLength(1);
    expect(findingsIn(`| One ${words(30)}. One ${words(30)} |`, forbidden)).toHaveLength(1);
    expect(findingsIn('Nobody is told. `told` is code, and untold is another term', ['told'])).toHaveLength(
      1,
    );
  });

  test('finds messages and comments in source text, and leaves out values', () => {
    const source =
      "// the word's\n/** it says */ f('one', 'it goes on', `all ${'says'.length} of it`, 'https://x', \"a word\");";
    expect(messagesIn(source)).toEqual(['it goes on', 'all  of it', 'a word']);
    expect(forbiddenInTexts(messagesIn(source), ['goes', 'a word', 'says'])).toHaveLength(2);
    expect(commentsIn(source)).toEqual(["// the word's", '/** it says */']);
  });
});
