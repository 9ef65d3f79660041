import { renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/base/index.ts';
import {
  createFileSource,
  formatProblem,
  type DesiredSnapshot,
  type DesiredSource,
} from '../../../../src/desired/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { documents, secret, service, volume } from '../../../unit/desired/documents.ts';
import {
  names,
  removeTemporary,
  temporaryFolder,
  reported,
  writeInto,
} from '../../../unit/desired/folders.ts';

let folder: string;
const started: DesiredSource[] = [];

const write = (file: string, text: string) => writeInto(folder, file, text);

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.stop()));
  removeTemporary(folder);
});

/** As most editors save: a new file, renamed over the old one. */
function replace(file: string, text: string): void {
  write(`${file}.tmp`, text);
  renameSync(join(folder, `${file}.tmp`), join(folder, file));
}

interface Watched {
  readonly source: DesiredSource;
  readonly first: DesiredSnapshot;
  /** Every snapshot delivered, the first one included. */
  readonly seen: DesiredSnapshot[];
  /** Resolves with the first snapshot, from now on, that is `wanted`. */
  readonly until: (wanted: (snapshot: DesiredSnapshot) => boolean) => Promise<DesiredSnapshot>;
}

async function watchFolder(directory = folder, clock: Clock = systemClock): Promise<Watched> {
  const seen: DesiredSnapshot[] = [];
  const waiting: {
    wanted: (snapshot: DesiredSnapshot) => boolean;
    resolve: (snapshot: DesiredSnapshot) => void;
  }[] = [];
  const source = createFileSource({ directory, clock });
  started.push(source);
  const first = await source.start((snapshot) => {
    seen.push(snapshot);
    for (const waiter of waiting) if (waiter.wanted(snapshot)) waiter.resolve(snapshot);
  });
  seen.unshift(first);
  return {
    source,
    first,
    seen,
    until: (wanted) => {
      const { promise, resolve } = Promise.withResolvers<DesiredSnapshot>();
      waiting.push({ wanted, resolve });
      return promise;
    },
  };
}

/** Moves the clock until a snapshot is as wanted: files are real, only time is not. */
async function advanceUntil(clock: ManualClock, stepMs: number, wanted: () => boolean): Promise<void> {
  // The disk takes its own time, however fast the clock goes.
  const untilMs = performance.now() + 60_000;
  while (!wanted() && performance.now() < untilMs) await clock.advance(stepMs);
  expect(wanted()).toBe(true);
}

describe('a folder is watched', () => {
  test('a new, a changed and a deleted file are seen', async () => {
    write('a.yaml', service('a'));
    const { until, first } = await watchFolder();
    const before = first.objects.get('ContainerService/default/a');
    write('sub/b.yaml', service('b'));
    const added = await until((snapshot) => names(snapshot).join() === 'a,b');
    expect(added.objects.get('ContainerService/default/a')).toBe(before);
    write('sub/b.yaml', service('b', '  httpPort: 80\n'));
    await until((snapshot) => 'httpPort' in (snapshot.objects.get('ContainerService/default/b')?.spec ?? {}));
    rmSync(join(folder, 'sub'), { recursive: true });
    const removed = await until((snapshot) => names(snapshot).join() === 'a');
    expect(removed.complete).toBe(true);
    expect(removed.sequence).toBeGreaterThan(added.sequence);
  });

  test('an editor that replaces the file does not make its objects vanish for a moment', async () => {
    write('a.yaml', service('a'));
    const { until, seen } = await watchFolder();
    replace('a.yaml', service('a', '  httpPort: 80\n'));
    await until((snapshot) => 'httpPort' in (snapshot.objects.get('ContainerService/default/a')?.spec ?? {}));
    const second = until(() => true);
    replace('a.yaml', service('a', '  httpPort: 81\n'));
    expect((await second).objects.get('ContainerService/default/a')?.spec).toMatchObject({ httpPort: 81 });
    expect(seen.every((snapshot) => names(snapshot).join() === 'a')).toBe(true);
  });

  test('a renamed file is the same objects from another place, never a duplicate', async () => {
    write('a.yaml', service('a'));
    const { until, seen } = await watchFolder();
    renameSync(join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    const moved = await until(
      (snapshot) => snapshot.objects.get('ContainerService/default/a')?.location.file === 'b.yaml',
    );
    expect(moved.problems).toEqual([]);
    expect(seen.every((snapshot) => names(snapshot).join() === 'a')).toBe(true);
  });

  test('a folder that is emptied, and one that is removed then, are seen for what they are', async () => {
    write('web.yaml', service('web'));
    write('team/worker.yaml', service('worker'));
    const { first, until } = await watchFolder();
    expect([...(first.folders ?? [])]).toEqual(['team']);
    rmSync(join(folder, 'team/worker.yaml'));
    const emptied = await until(({ objects }) => objects.size === 1);
    expect([...(emptied.folders ?? [])]).toEqual(['team']);
    rmSync(join(folder, 'team'), { recursive: true });
    await until(({ folders }) => folders?.size === 0);
  });

  test('a mounted ConfigMap that is swapped is seen', async () => {
    write('..v1/a.yaml', service('a'));
    symlinkSync('..v1', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    const { first, until } = await watchFolder();
    expect(names(first)).toEqual(['a']);
    write('..v2/a.yaml', service('b'));
    symlinkSync('..v2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    rmSync(join(folder, '..v1'), { recursive: true });
    const swapped = await until((snapshot) => names(snapshot).join() === 'b');
    expect(swapped).toMatchObject({ complete: true, problems: [] });
  });

  test('a folder with a circle of links is watched like any other', async () => {
    write('real/a.yaml', service('a'));
    symlinkSync('..', join(folder, 'real', 'circle'));
    const { until } = await watchFolder();
    write('real/b.yaml', service('b'));
    expect((await until((snapshot) => names(snapshot).join() === 'a,b')).problems).toEqual([]);
  });

  test('a single file that is replaced is seen', async () => {
    write('a.yaml', service('a'));
    const { until } = await watchFolder(join(folder, 'a.yaml'));
    replace('a.yaml', service('b'));
    expect(names(await until((snapshot) => names(snapshot).join() === 'b'))).toEqual(['b']);
  });

  test('a half-written file leaves its objects alone until it is whole again', async () => {
    write('a.yaml', documents(service('a'), volume('data'), secret('s', 'k', 'v')));
    write('b.yaml', service('b'));
    const { until } = await watchFolder();
    write('a.yaml', service('a', '  restartToken: "half'));
    const half = await until((snapshot) => !snapshot.complete);
    expect(names(half)).toEqual(['b']);
    expect([...half.unusable.keys()].sort()).toEqual([
      'ContainerService/default/a',
      'StorageVolume/default/data',
    ]);
    expect(half.unusable.get('StorageVolume/default/data')?.map(formatProblem)[0]).toMatch(
      /^a.yaml:\d+: not valid YAML/,
    );
    expect(half.secrets.get('default/s')?.get('k')?.reveal()).toBe('v');
    write('a.yaml', documents(service('a', '  restartToken: "whole"\n'), volume('data')));
    const whole = await until((snapshot) => snapshot.complete && names(snapshot).join() === 'a,b,data');
    expect(whole.unusable.size).toBe(0);
    expect(whole.secrets.size).toBe(0);
  });

  test('a folder that vanishes keeps what it had, and comes back', async () => {
    write('a.yaml', service('a'));
    const { until } = await watchFolder();
    renameSync(folder, `${folder}.away`);
    const gone = await until((snapshot) => !snapshot.complete);
    expect(names(gone)).toEqual(['a']);
    expect(gone.empty).toBe(false);
    expect(reported(gone)).toHaveLength(1);
    expect(reported(gone)[0]).toMatch(
      /the folder .* can't be read: ENOENT.*what was read from it before is kept; check/,
    );
    renameSync(`${folder}.away`, folder);
    const back = await until((snapshot) => snapshot.complete);
    expect(names(back)).toEqual(['a']);
    expect(back.problems).toEqual([]);
  });
});

describe('without a word from the file system', () => {
  test('the folder is read again every 10 s, and nothing is told when nothing changed', async () => {
    write('a.yaml', service('a'));
    const clock = new ManualClock();
    const { seen } = await watchFolder(folder, clock);
    utimesSync(join(folder, 'a.yaml'), 1, 1);
    write('a.yaml', service('a'));
    await clock.advance(30_000);
    write('b.yaml', service('b'));
    await advanceUntil(clock, 1000, () => seen.length > 1);
    expect(seen.map(names)).toEqual([['a'], ['a', 'b']]);
    expect(seen.map((snapshot) => snapshot.sequence)).toEqual([1, 2]);
  });

  test('a loss is believed at the second look only: an emptied or missing file may be just being written', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', documents(service('b'), service('c')));
    const clock = new ManualClock();
    const { seen } = await watchFolder(folder, clock);
    write('a.yaml', '');
    rmSync(join(folder, 'b.yaml'));
    write('new.yaml', service('new'));
    await advanceUntil(clock, 10, () => seen.length > 1);
    expect(names(seen[1] as DesiredSnapshot)).toEqual(['a', 'b', 'c', 'new']);
    write('a.yaml', service('a', '  httpPort: 80\n'));
    await advanceUntil(clock, 10, () => names(seen.at(-1) as DesiredSnapshot).join() === 'a,new');
    expect(
      seen.every((snapshot) => snapshot.complete && snapshot.objects.has('ContainerService/default/a')),
    ).toBe(true);
  });

  test('it is read when somebody asks, and what it shows then is as of then', async () => {
    write('a.yaml', service('a'));
    const clock = new ManualClock();
    const { first, seen, source } = await watchFolder(folder, clock);
    await clock.advance(5000);
    const same = await source.readNow?.();
    expect(same).toMatchObject({ sequence: 1, readAtMs: (first.readAtMs ?? Number.NaN) + 5000 });
    expect(same?.objects).toBe(first.objects);
    expect(seen).toHaveLength(1);
    write('b.yaml', service('b'));
    // One of these may have begun before.
    const [, second] = await Promise.all([source.readNow?.(), source.readNow?.()]);
    expect(names(second as DesiredSnapshot)).toEqual(['a', 'b']);
    expect(seen.at(-1)).toEqual(second);
    await source.stop();
    expect(await source.readNow?.()).toBeUndefined();
  });

  test('after stop nothing is told any more', async () => {
    write('a.yaml', service('a'));
    const clock = new ManualClock();
    const { seen } = await watchFolder(folder, clock);
    await started[0]?.stop();
    write('b.yaml', service('b'));
    await clock.advance(60_000);
    expect(seen).toHaveLength(1);
  });
});
