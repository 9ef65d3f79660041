/**
 * `node scripts/with-node.cjs [FILE [ARGS]]`: runs a file on Node 24; without one it only sees to it that Node 24 is
 * what npm's scripts find.
 *
 * Nothing runs a script when it is installed (.npmrc: ignore-scripts). One package needs it: `node`, whose script
 * brings Node itself. It is run here, by name, when it is needed: the first time on a machine with an older Node.
 *
 * | this process is | the pinned Node is | what happens                                        |
 * |-----------------|--------------------|-----------------------------------------------------|
 * | Node 24 or newer | any               | the file is loaded into this process                |
 * | older           | there              | the file runs on it, in a child                     |
 * | older           | not there          | `npm rebuild node` with its script, then as above   |
 *
 * Written for any Node from 12 on.
 */
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, rmdirSync, statSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const root = path.join(__dirname, '..');
const modules = path.join(root, 'node_modules');
const isWindows = process.platform === 'win32';
const pinned = path.join(modules, 'node', 'bin', isWindows ? 'node.exe' : 'node');
const wanted = 24;
const [file, ...args] = process.argv.slice(2);

function fail(message) {
  process.stderr.write(`fleetkeeper: ${message}\n`);
  process.exit(1);
}

/** Several commands may start at once on a fresh checkout: one brings Node, the others wait for it. */
function bringNode() {
  if (!existsSync(modules)) fail(`${modules} is missing: run "npm ci" first`);
  const lock = path.join(modules, '.bringing-node');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const longestMs = 300000;
  while (!existsSync(pinned)) {
    try {
      mkdirSync(lock);
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`can't write to ${modules}: ${error.message}`);
      try {
        // Left behind by a process that was killed.
        if (Date.now() - statSync(lock).mtimeMs > longestMs) rmdirSync(lock);
      } catch (gone) {
        if (gone.code !== 'ENOENT') throw gone;
      }
      Atomics.wait(pause, 0, 0, 100);
      continue;
    }
    try {
      if (!existsSync(pinned)) rebuild(longestMs);
    } finally {
      rmdirSync(lock);
    }
  }
}

function rebuild(timeout) {
  process.stderr.write(`Node ${process.versions.node} is too old; bringing the pinned Node ${wanted} …\n`);
  const cli = process.env.npm_execpath;
  const command = cli ? [process.execPath, cli] : [isWindows ? 'npm.cmd' : 'npm'];
  const rebuilding = [...command.slice(1), 'rebuild', 'node', '--ignore-scripts=false', '--loglevel=error'];
  const { status, stderr } = spawnSync(command[0], rebuilding, { cwd: root, encoding: 'utf8', timeout });
  if (status === 0 && existsSync(pinned)) return;
  process.stderr.write(stderr || '');
  fail(`can't bring Node ${wanted}: install it by hand, or run "npm rebuild node --ignore-scripts=false"`);
}

if (Number(process.versions.node.split('.')[0]) >= wanted) {
  if (file !== undefined) {
    const target = path.resolve(file);
    process.argv.splice(1, process.argv.length - 1, target, ...args);
    void import(pathToFileURL(target).href);
  }
} else {
  bringNode();
  if (file !== undefined) {
    const child = spawn(pinned, [path.resolve(file), ...args], {
      stdio: 'inherit',
      // So that what it starts in turn finds the same Node.
      env: { ...process.env, PATH: `${path.join(modules, '.bin')}${path.delimiter}${process.env.PATH}` },
    });
    // Ctrl-C reaches the child from the terminal itself; a second signal would mean "at once".
    const isOnTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => (signal === 'SIGINT' && isOnTerminal ? undefined : child.kill(signal)));
    }
    child.on('error', (error) => fail(`can't start ${pinned}: ${error.message}`));
    child.on('exit', (code, signal) => {
      if (signal === null) return process.exit(code);
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
}
