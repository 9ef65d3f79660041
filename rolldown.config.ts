/** `npm run build`: the command with all of its libraries in `dist/`, which then needs nothing but Node. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { BuildOptions, Plugin } from 'rolldown';

export default {
  input: 'src/main.ts',
  platform: 'node',
  // A file of ours does nothing by being imported; so a command does not load what it uses nothing of.
  treeshake: { moduleSideEffects: [{ test: /\/src\/(?!main\.ts$)/, sideEffects: false }] },
  plugins: [thirdParty()],
  output: {
    dir: 'dist',
    cleanDir: true,
    sourcemap: true,
    entryFileNames: '[name].mjs',
    // As deep as src/cli/examples.ts, so that what lies beside src/ lies beside dist/, too.
    chunkFileNames: 'chunks/[name]-[hash].mjs',
  },
} satisfies BuildOptions;

/** Whose code is in the bundle, and on which terms. */
function thirdParty(): Plugin {
  return {
    name: 'third-party',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
      const folders = [...new Set(modules.flatMap((id) => packageFolder.exec(id)?.[0] ?? []))].sort();
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY.md', source: folders.map(termsOf).join('\n\n') });
    },
  };
}

const packageFolder = /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
const termsFile = /^(?:licen[cs]e|notice|copying)/i;

function termsOf(folder: string): string {
  const text = (file: string) => readFileSync(path.join(folder, file), 'utf8').trim();
  const { name, version, license } = JSON.parse(text('package.json')) as Record<string, string>;
  const terms = readdirSync(folder).filter((file) => termsFile.test(file));
  return [`# ${name} ${version}`, ...(license ? [license] : []), ...terms.map(text)].join('\n\n');
}
