/**
 * `npm run build`: the command with all of its libraries in `dist/`, which then needs nothing but Node. `dist/page/` has what browsers get,
 * as src/http/page-files.ts serves it.
 */
import { globSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { rolldown, type BuildOptions, type OutputBundle, type Plugin } from 'rolldown';

export default {
  input: 'src/main.ts',
  platform: 'node',
  // A file of ours does nothing by being imported; so a command does not load what it uses nothing of.
  treeshake: { moduleSideEffects: [{ test: /\/src\/(?!main\.ts$)/, sideEffects: false }] },
  plugins: [page(), oneByteCode(), thirdParty(), billOfMaterials()],
  output: {
    dir: 'dist',
    cleanDir: true,
    sourcemap: true,
    // Comments that document are a sixth of the package. Those that state a licence stay.
    comments: { legal: true, annotation: false, jsdoc: false },
    entryFileNames: '[name].mjs',
    // As deep as src/cli/examples.ts, so that what lies beside src/ lies beside dist/, too.
    chunkFileNames: 'chunks/[name]-[hash].mjs',
  },
} satisfies BuildOptions;

/** Libraries of the page. */
const pageModules: string[] = [];

/** Of the manager, and of the control plane. */
const pageScripts = ['src/page/main.ts', 'src/page/control-plane.ts'];

/** What a browser loads of each page: one script, one style, and no more. */
function page(): Plugin {
  return {
    name: 'page',
    async generateBundle() {
      for (const script of pageScripts) {
        const build = await rolldown({ input: script, platform: 'browser' });
        const { output } = await build.generate({ minify: true, comments: { legal: false } });
        for (const part of output) {
          if (part.type !== 'chunk') continue;
          pageModules.push(...part.moduleIds);
          this.emitFile({
            type: 'asset',
            fileName: `page/${path.basename(script, '.ts')}.js`,
            source: part.code,
          });
        }
        await build.close();
      }
      for (const file of globSync('src/page/*.{html,css,svg}'))
        this.emitFile({ type: 'asset', fileName: `page/${path.basename(file)}`, source: readFileSync(file) });
    },
  };
}

/**
 * V8 keeps the text of a module, and takes two bytes for each of its characters if a single one is not in Latin-1. So these are written as escapes,
 * which mean the same in texts, templates and expressions, but not in raw templates and after a backslash.
 */
function oneByteCode(): Plugin {
  return {
    name: 'one-byte-code',
    generateBundle(_options, bundle) {
      for (const part of Object.values(bundle)) {
        if (part.type !== 'chunk') continue;
        if (notEscapable.test(part.code))
          throw new Error(
            `${part.fileName}: a raw template, or a backslash, before a character that is not in Latin-1`,
          );
        part.code = part.code.replaceAll(wideCharacter, escaped);
      }
    },
  };
}

/** Without `u`: halves of pairs are escaped one by one. */
const wideCharacter = /[\u0100-\uFFFF]/g;
const notEscapable = /\braw`[^`]*[\u0100-\uFFFF]|(?<!\\)(?:\\\\)*\\[\u0100-\uFFFF]/;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Whose code is in the bundle, and on which terms. */
function thirdParty(): Plugin {
  return {
    name: 'third-party',
    generateBundle(_options, bundle) {
      const source = packagesIn(bundle).map(termsOf).join('\n\n');
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY.md', source });
    },
  };
}

/** The packages in the bundle for scanners, in the form of CycloneDX. */
function billOfMaterials(): Plugin {
  return {
    name: 'bill-of-materials',
    generateBundle(_options, bundle) {
      const components = packagesIn(bundle).map(componentOf);
      const document = { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, components };
      this.emitFile({
        type: 'asset',
        fileName: 'sbom.json',
        source: `${JSON.stringify(document, undefined, 2)}\n`,
      });
    },
  };
}

const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
};

function componentOf(folder: string): object {
  const { name = '', version = '', license } = manifestOf(folder);
  const [, sha512 = ''] = /^sha512-(.+)$/.exec(locked[path.relative('.', folder)]?.integrity ?? '') ?? [];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }],
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
  };
}

function manifestOf(folder: string): Record<string, string> {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<string, string>;
}

/** Their folders. */
function packagesIn(bundle: OutputBundle): string[] {
  const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  return [...new Set([...modules, ...pageModules].flatMap((id) => packageFolder.exec(id)?.[0] ?? []))].sort();
}

const packageFolder = /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
const termsFile = /^(?:licen[cs]e|notice|copying)/i;

function termsOf(folder: string): string {
  const text = (file: string) => readFileSync(path.join(folder, file), 'utf8').trim();
  const { name, version, license } = manifestOf(folder);
  const terms = readdirSync(folder).filter((file) => termsFile.test(file));
  return [`# ${name} ${version}`, ...(license ? [license] : []), ...terms.map(text)].join('\n\n');
}
