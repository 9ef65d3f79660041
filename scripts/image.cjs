/**
 * `npm run image`: the image of what `npm run build` has made. Nothing comes over the network but its base: Node is the pinned one in
 * node_modules, without its symbols. `npm run image -- --help` lists the options.
 */
'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { withoutSymbols } = require('./image/elf.cjs');

const root = path.join(__dirname, '..');
const { version, devDependencies, files } = require('../package.json');
const mostBytes = 150e6;
const program = 'image/usr/local/lib/fleetkeeper';

const help = `npm run image [-- OPTION...]

  --tag REF      of the image; default fleetkeeper:${version}
  --base REF     instead of the base in the Dockerfile, for example pinned by digest
  --node FILE    a Node for Linux; its architecture is that of the image; default the pinned one
  --engine CMD   docker or podman; default the first that is installed
  --prepare      only put together image/, what the Dockerfile needs, for another builder
`;

const option = { type: 'string' };
const { values: flags } = parseArgs({
  options: {
    tag: { ...option, default: `fleetkeeper:${version}` },
    base: option,
    node: option,
    engine: option,
    prepare: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (flags.help) process.stdout.write(help);
else build();

function build() {
  process.umask(0o022);
  process.chdir(root);
  const { architecture, bytes: node } = readNode();
  if (!flags.prepare) process.once('exit', () => fs.rmSync('image', { recursive: true, force: true }));
  prepare(node);
  if (flags.prepare) return;
  const engine =
    flags.engine ?? ['docker', 'podman'].find((name) => spawnSync(name, ['--version']).status === 0);
  if (engine === undefined) fail('there is neither docker nor podman: install one, or name it with --engine');
  const base = flags.base === undefined ? [] : ['--build-arg', `BASE=${flags.base}`];
  const options = ['--platform', `linux/${architecture}`, ...base, '--tag', flags.tag];
  run(engine, ['build', ...options, '--file', path.join(root, 'Dockerfile'), root], 'inherit');
  const bytes = Number(run(engine, ['image', 'inspect', '--format', '{{.Size}}', flags.tag]));
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  if (!(bytes < mostBytes)) fail(`${flags.tag} has ${size}, and is to have less than ${mostBytes / 1e6} MB`);
  if (architecture === architectureOf(process.arch)) requireVersion(engine);
  process.stdout.write(`${flags.tag}: ${size}, linux/${architecture}\n`);
}

function readNode() {
  const file = flags.node ?? pinnedNode();
  try {
    return withoutSymbols(fs.readFileSync(file));
  } catch (error) {
    return fail(`${file} can't be used: ${error.message}`);
  }
}

/** What the image is to have beside its base, in image/. */
function prepare(node) {
  fs.rmSync('image', { recursive: true, force: true });
  fs.mkdirSync('image/usr/local/bin', { recursive: true });
  for (const name of ['LICENSE', 'examples', 'dist', ...documents()]) copy(name, `${program}/${name}`);
  const main = `${program}/dist/main.mjs`;
  // The image has no /usr/bin/env.
  fs.writeFileSync(main, fs.readFileSync(main, 'utf8').replace(/^#!.*/, '#!/usr/local/bin/node'));
  fs.chmodSync(main, 0o755);
  fs.symlinkSync('../lib/fleetkeeper/dist/main.mjs', 'image/usr/local/bin/fleetkeeper');
  fs.writeFileSync('image/usr/local/bin/node', node, { mode: 0o755 });
}

/** Those of the package: messages name them. */
function documents() {
  const internals = 'docs/internals';
  const forUsers = fs.readdirSync('docs').map((name) => `docs/${name}`);
  return [
    ...forUsers.filter((name) => name !== internals && !name.endsWith('.svg')),
    ...files.filter((name) => name.startsWith(`${internals}/`)),
  ];
}

/** Of the maps of the bundle, a stack trace makes no use; they are large. */
function copy(from, to) {
  if (fs.statSync(from).isDirectory()) {
    fs.mkdirSync(to, { recursive: true });
    for (const name of fs.readdirSync(from)) copy(`${from}/${name}`, `${to}/${name}`);
  } else if (!from.endsWith('.map')) {
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, fs.readFileSync(from));
  }
}

function pinnedNode() {
  const wanted = devDependencies.node;
  const pinned = path.join(root, 'node_modules', 'node', 'bin', 'node');
  if (process.platform === 'linux') {
    if (fs.existsSync(pinned)) return pinned;
    if (process.versions.node === wanted) return process.execPath;
  }
  const bring = process.platform === 'linux' ? 'run "npm rebuild node --ignore-scripts=false", or ' : '';
  return fail(`there is no Node ${wanted} for Linux in node_modules: ${bring}name one with --node`);
}

/** It runs as nobody, on a root file system that can't be written to. */
function requireVersion(engine) {
  const confined = ['--rm', '--read-only', '--cap-drop', 'ALL', '--network', 'none'];
  const shown = run(engine, ['run', ...confined, flags.tag, '--version']).trim();
  if (shown !== version) fail(`${flags.tag} shows the version ${shown} instead of ${version}`);
}

function run(engine, args, stdout = 'pipe') {
  const done = spawnSync(engine, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', stdout, 'inherit'] });
  if (done.status === 0) return done.stdout ?? '';
  return fail(`${engine} ${args[0]} failed${done.error ? `: ${done.error.message}` : ''}`);
}

function architectureOf(name) {
  return name === 'x64' ? 'amd64' : name;
}

function fail(message) {
  process.stderr.write(`fleetkeeper: no image was made: ${message}\n`);
  return process.exit(1);
}
