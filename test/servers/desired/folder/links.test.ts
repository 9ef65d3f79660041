/** How a source with links is watched. Nothing is read again after ten seconds here: only what is noticed arrives. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/base/index.ts';
import { watchFolder } from '../../../../src/desired/folder-watch.ts';
import {
  createFileSource,
  type DesiredSnapshot,
  type DesiredSource,
  type WatchFolder,
} from '../../../../src/desired/index.ts';
import { service } from '../../../unit/desired/documents.ts';
import {
  names,
  removeTemporary,
  reported,
  temporaryFolder,
  writeInto,
} from '../../../unit/desired/folders.ts';

const withoutRescans: Clock = {
  ...systemClock,
  wallMs: () => systemClock.wallMs(),
  monotonicMs: () => systemClock.monotonicMs(),
  after: (delayMs, run) =>
    delayMs >= 10_000 ? { cancel: () => undefined } : systemClock.after(delayMs, run),
};

let folder: string;
let base: string;
let source: DesiredSource | undefined;
/** What the watcher of the file system has seen, and what it has reported. */
let met: Set<string>;
let touched: string[];

beforeEach(() => {
  folder = temporaryFolder();
  base = dirname(folder);
  met = new Set();
  touched = [];
});

afterEach(async () => {
  await source?.stop();
  source = undefined;
  removeTemporary(folder);
});

const watching: WatchFolder = (directory, options) =>
  watchFolder(directory, {
    ...options,
    isIgnored: (path, isFile) => {
      met.add(path);
      return options.isIgnored(path, isFile);
    },
    onTouched: (path) => {
      touched.push(path);
      options.onTouched(path);
    },
    onReady: () => {
      touched.push('ready');
      options.onReady();
    },
  });

/** Resolves with the snapshot of now, or the first one from now on, that is wanted. */
type Until = (wanted: (snapshot: DesiredSnapshot) => boolean) => Promise<DesiredSnapshot>;

async function watched(directory: string): Promise<Until> {
  const waiting: {
    wanted: (snapshot: DesiredSnapshot) => boolean;
    resolve: (snapshot: DesiredSnapshot) => void;
  }[] = [];
  let last: DesiredSnapshot | undefined;
  source = createFileSource({ directory, clock: withoutRescans, watchFolder: watching });
  last = await source.start((snapshot) => {
    last = snapshot;
    for (const { wanted, resolve } of waiting) if (wanted(snapshot)) resolve(snapshot);
  });
  return (wanted) => {
    if (last && wanted(last)) return Promise.resolve(last);
    const { promise, resolve } = Promise.withResolvers<DesiredSnapshot>();
    waiting.push({ wanted, resolve });
    return promise;
  };
}

const has = (expected: string) => (snapshot: DesiredSnapshot) => names(snapshot).join() === expected;

/** As `ln -sfn`, git-sync and the kubelet do: the link is never absent. */
function relink(place: string, target: string): void {
  symlinkSync(target, join(base, `${place}.new`));
  renameSync(join(base, `${place}.new`), join(base, place));
}

test('a link to the root of the file system is not walked, and edits of others are noticed as before', async () => {
  writeInto(folder, 'team/a.yaml', service('a'));
  writeInto(base, 'outside/o.yaml', service('o'));
  const until = await watched(folder);
  symlinkSync('/', join(folder, 'team/x'));
  symlinkSync(join(base, 'outside'), join(folder, 'team/o'));
  const linked = await until(({ problems }) => problems.length === 2);
  expect(reported(linked)[1]).toMatch(/^team\/x: is a link to something outside of the source folder/);
  writeInto(folder, 'b.yaml', service('b'));
  expect((await until(has('a,b'))).complete).toBe(false);
  expect([...met].filter((path) => /\/team\/[xo]\//.test(path) || !path.startsWith(folder))).toEqual([]);
  rmSync(join(folder, 'team/x'));
  rmSync(join(folder, 'team/o'));
  expect(await until(({ complete }) => complete)).toMatchObject({ problems: [] });
});

test('a link that is replaced by another one is noticed', async () => {
  writeInto(folder, '.a/a.yaml', service('a'));
  writeInto(folder, '.b/a.yaml', service('b'));
  symlinkSync('.a', join(folder, 'linked'));
  const until = await watched(folder);
  await until(has('a'));
  for (const [target, name] of [
    ['.b', 'b'],
    ['.a', 'a'],
    ['.b', 'b'],
  ] as const) {
    relink('fleet/linked', target);
    expect(await until(has(name))).toMatchObject({ complete: true, problems: [] });
  }
});

test.each([
  ['the source', (it: string) => it],
  ['a file that is the source', (it: string) => join(it, 'a.yaml')],
])('a mounted ConfigMap that is swapped is noticed, time after time: %s', async (_what, place) => {
  const mount = (version: string, name: string) => {
    writeInto(folder, `..${version}/a.yaml`, service(name));
    relink('fleet/..data', `..${version}`);
  };
  mount('v0', 'a');
  symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
  const until = await watched(place(folder));
  await until(has('a'));
  for (const [index, name] of ['b', 'c', 'd'].entries()) {
    mount(`v${index + 1}`, name);
    rmSync(join(folder, `..v${index}`), { recursive: true });
    expect(await until(has(name))).toMatchObject({ complete: true, problems: [] });
  }
});

test('a checkout of git-sync that is replaced is noticed, time after time, and so are edits in it', async () => {
  const checkout = (revision: string, name: string) => {
    writeInto(base, `git/${revision}/fleet/sub/a.yaml`, service(name));
    relink('git/current', revision);
  };
  mkdirSync(join(base, 'git'));
  checkout('r0', 'a');
  const until = await watched(join(base, 'git/current/fleet'));
  await until(has('a'));
  for (const [index, name] of ['b', 'c', 'd'].entries()) {
    checkout(`r${index + 1}`, name);
    rmSync(join(base, `git/r${index}`), { recursive: true });
    expect(await until(has(name))).toMatchObject({ complete: true, problems: [] });
  }
  writeInto(base, 'git/r3/fleet/sub/b.yaml', service('e'));
  await until(has('d,e'));
  expect(touched).toContain(join(base, 'git/current/fleet/sub/b.yaml'));
});
