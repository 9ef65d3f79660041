/**
 * The files of the page, all in memory: as the build has bundled them, or in a checkout the sources of `src/page/`, types taken out. A
 * browser looks for no package, so there the names of libraries become addresses.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StaticFile, StaticFiles } from '../read-api/index.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The pages there are, each with its script and its document. */
const pages = { manager: ['main', 'index'], 'control-plane': ['control-plane', 'control-plane'] } as const;

/** By path. `/` is the page itself. What only the other page has is left out. */
export function pageFiles(page: keyof typeof pages = 'manager'): StaticFiles {
  const contents = import.meta.url.endsWith('.ts') ? fromSources() : fromBuild();
  const [script, document] = pages[page];
  const others = Object.values(pages).filter(([other]) => other !== script);
  for (const name of others.flatMap(([other, its]) => [`${other}.js`, `${its}.html`])) contents.delete(name);
  return new Map(
    Array.from(contents, ([name, content]) => [
      name === `${document}.html` ? '/' : `/page/${name}`,
      fileOf(name, content),
    ]),
  );
}

function fileOf(name: string, content: Buffer): StaticFile {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  return { type: types[path.extname(name)] ?? 'application/octet-stream', content, etag: `"${digest}"` };
}

/** This file is as deep in the build as it is here (rolldown.config.ts). */
function fromBuild(): Map<string, Buffer> {
  const folder = fileURLToPath(new URL('../page', import.meta.url));
  return filesIn(folder, globSync('*', { cwd: folder }));
}

function filesIn(folder: string, names: readonly string[]): Map<string, Buffer> {
  return new Map(names.map((name) => [name, readFileSync(path.join(folder, name))]));
}

function fromSources(): Map<string, Buffer> {
  const folder = fileURLToPath(new URL('../page', import.meta.url));
  const files = filesIn(folder, globSync('*.{html,css,svg}', { cwd: folder }));
  for (const name of globSync('**/*.ts', { cwd: folder })) {
    const code = withoutTypes(readFileSync(path.join(folder, name), 'utf8'));
    files.set(name.replace(/\.ts$/, '.js'), Buffer.from(forBrowser(code)));
  }
  for (const [name, source] of libraryFiles()) files.set(name, readFileSync(source));
  return files;
}

/** Node warns of what is experimental. Whoever runs a checkout can do nothing about it. */
function withoutTypes(code: string): string {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(code);
  } finally {
    process.emitWarning = emitWarning;
  }
}

const importedFile = /(\bfrom\s+|\bimport\s+)'([^']+)'/g;

/** Imports of a source, as addresses. */
function forBrowser(code: string): string {
  return code.replaceAll(importedFile, (_, before: string, name: string) => {
    const address = name.startsWith('.')
      ? name.replace(/\.ts$/, '.js')
      : `/page/lib/${entries[name] ?? name}`;
    return `${before}'${address}'`;
  });
}

const entries: Readonly<Record<string, string>> = {
  'lit-html': 'lit-html/lit-html.js',
  'eventsource-parser': 'eventsource-parser/dist/index.js',
};

/** What a browser may ask for, with the files of the checkout. */
function libraryFiles(): [name: string, source: string][] {
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  return globSync(['lit-html/*.js', 'lit-html/directives/*.js', 'eventsource-parser/dist/*.js'], {
    cwd: modules,
  }).map((file): [string, string] => [`lib/${file}`, path.join(modules, file)]);
}
