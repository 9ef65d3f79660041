import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { documents, root } from './documents.ts';

function textOf(document: string): string {
  return readFileSync(path.join(root, document), 'utf8');
}

/** As GitHub makes them of headings, and those that a heading had before it was renamed. */
function anchorsOf(document: string): string[] {
  const former = Array.from(textOf(document).matchAll(/^<a id="([^"]+)"><\/a>$/gm), ([, id = '']) => id);
  const headings = textOf(document)
    .split('\n')
    .filter((line) => /^#+ /.test(line))
    .map((line) => line.replace(/^#+ /, '').toLowerCase())
    .map((heading) => heading.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
  return [...headings, ...former];
}

/** What is wrong with a link in `document`; undefined when it leads somewhere. */
function problemWith(document: string, link: string): string | undefined {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? document : path.join(path.dirname(document), file);
  if (!existsSync(path.join(root, target))) return `${link}: there is no ${target}`;
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(target).includes(anchor) ? undefined : `${link}: ${target} has no such heading`;
}

test.each(documents)('every link in %s leads to a file and a heading that exist', (document) => {
  const links = Array.from(textOf(document).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link);
  const ownLinks = links.filter((link) => !/^https?:/.test(link));
  expect(ownLinks.flatMap((link) => problemWith(document, link) ?? [])).toEqual([]);
});

test.each(documents)('every file of this repository that %s names exists', (document) => {
  const named = textOf(document).matchAll(
    /`((?:test|src|examples|manifests|bench|crds|docs)\/[\w./-]+\.\w+)`/g,
  );
  const missing = Array.from(named, ([, file = '']) => file).filter(
    (file) => !existsSync(path.join(root, file)),
  );
  expect(missing).toEqual([]);
});

test('the map of the documents leads to each of them', () => {
  const map = textOf('docs/README.md');
  const links = Array.from(map.matchAll(/\]\(([^)#\s]+)/g), ([, link = '']) => path.join('docs', link));
  const shown = new Set(['docs/README.md', ...links]);
  expect(documents.filter((document) => document.startsWith('docs/') && !shown.has(document))).toEqual([]);
});
