/**
 * `npm run package`: the file that users install, from what `npm run build` has made. It holds no dependency: the bundle has them all
 * (dist/THIRD-PARTY.md, dist/sbom.json). `npm pack` alone does the same where dist/ is there; npm runs no script for it (.npmrc).
 */
'use strict';
const { execFileSync } = require('node:child_process');
const { mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const completions = path.join(root, 'dist', 'completions');
mkdirSync(completions, { recursive: true });
for (const shell of ['bash', 'zsh']) {
  const script = execFileSync(process.execPath, [
    path.join(root, 'bin', 'fleetkeeper.cjs'),
    'completion',
    shell,
  ]);
  writeFileSync(path.join(completions, `fleetkeeper.${shell}`), script);
}
execFileSync('npm', ['pack', '--loglevel=error', ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
