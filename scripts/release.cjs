/**
 * `npm run release`: publishes the package, with provenance where the build system can prove it (`publishConfig`). It refuses what is not ready,
 * and says what to do. `npm run release -- --dry-run` publishes nothing.
 */
'use strict';
const { execFileSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const { version } = require('../package.json');
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

const changes = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
const problems = [
  [/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version), `package.json: ${version} is no semantic version`],
  [git('status', '--porcelain') === '', 'the work tree has changes: commit them'],
  [
    git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`),
    `HEAD has no tag v${version}: git tag v${version}`,
  ],
  [
    changes.includes(`\n## ${version} (`),
    `CHANGELOG.md has no section "## ${version} (DATE)": name what changed`,
  ],
].flatMap(([isGood, problem]) => (isGood ? [] : [problem]));
if (problems.length > 0) {
  process.stderr.write(
    `fleetkeeper ${version} is not published:\n${problems.map((problem) => `- ${problem}\n`).join('')}`,
  );
  process.exit(1);
}
const tag = version.includes('-') ? ['--tag', 'next'] : [];
execFileSync('npm', ['publish', ...tag, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
