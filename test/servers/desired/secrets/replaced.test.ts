/** Whether a source notices that its folder was replaced. Nothing is read again after ten seconds here: only what is noticed arrives. */
import { cpSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/base/index.ts';
import { createFileSource, type DesiredSnapshot, type DesiredSource } from '../../../../src/desired/index.ts';
import { service } from '../../../unit/desired/documents.ts';
import { names, removeTemporary, temporaryFolder, writeInto } from '../../../unit/desired/folders.ts';

const rescanMs = 10_000;
const withoutRescans: Clock = {
  ...systemClock,
  wallMs: () => systemClock.wallMs(),
  monotonicMs: () => systemClock.monotonicMs(),
  after: (delayMs, run) =>
    delayMs >= rescanMs ? { cancel: () => undefined } : systemClock.after(delayMs, run),
};

let folder: string;
let base: string;
let source: DesiredSource | undefined;

beforeEach(() => {
  folder = temporaryFolder();
  base = dirname(folder);
  writeInto(folder, 'web.yaml', service('web'));
});

afterEach(async () => {
  await source?.stop();
  source = undefined;
  removeTemporary(folder);
});

/** Resolves with the snapshot of now, or the first one from now on, that is wanted. */
type Until = (wanted: (snapshot: DesiredSnapshot) => boolean) => Promise<DesiredSnapshot>;

async function watched(directory: string | undefined): Promise<Until> {
  const waiting: {
    wanted: (snapshot: DesiredSnapshot) => boolean;
    resolve: (snapshot: DesiredSnapshot) => void;
  }[] = [];
  let last: DesiredSnapshot | undefined;
  source = createFileSource({
    directory: folder,
    clock: withoutRescans,
    ...(directory === undefined ? {} : { secrets: { directory } }),
  });
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

const has = (value: string) => (snapshot: DesiredSnapshot) =>
  snapshot.secrets.get('default/db')?.get('password')?.reveal() === value;

const secretIn = (place: string, value: string): void => {
  writeInto(base, `${place}/default/db/password`, value);
};

/** As `ln -sfn` and the kubelet do: the link is never absent. */
function relink(place: string, target: string): void {
  symlinkSync(target, join(base, `${place}.new`));
  renameSync(join(base, `${place}.new`), join(base, place));
}

function exchange(place: string): void {
  renameSync(join(base, place), join(base, `${place}.old${Date.now()}`));
  renameSync(join(base, `${place}.next`), join(base, place));
}

interface Replacement {
  /** `--secrets-dir`. */
  readonly directory: string;
  readonly begin: () => void;
  readonly replace: (value: string) => void;
  /** What took the place is changed as it is. The file, by the value that it came with. */
  readonly place: (value: string) => string;
}

/** What `kubectl` mounts for one Secret: `KEY -> ..data/KEY`, `..data -> ..DATE`. */
function mount(place: string, version: string, value: string): void {
  writeInto(base, `${place}/..${version}/password`, value);
  relink(`${place}/..data`, `..${version}`);
}

const replacements: Record<string, Replacement> = {
  'the directory, by two renames': {
    directory: 'secrets',
    begin: () => secretIn('secrets', 'v1'),
    replace: (value) => {
      cpSync(join(base, 'secrets'), join(base, 'secrets.next'), { recursive: true });
      secretIn('secrets.next', value);
      exchange('secrets');
    },
    place: () => 'secrets/default/db/password',
  },
  'one Secret in it, by two renames': {
    directory: 'secrets',
    begin: () => secretIn('secrets', 'v1'),
    replace: (value) => {
      writeInto(base, 'secrets/default/.db.next/password', value);
      renameSync(join(base, 'secrets/default/db'), join(base, `gone-${value}`));
      renameSync(join(base, 'secrets/default/.db.next'), join(base, 'secrets/default/db'));
    },
    place: () => 'secrets/default/db/password',
  },
  'the link `..data` of a mounted Secret': {
    directory: 'secrets',
    begin: () => {
      mount('secrets/default/db', 'v1', 'v1');
      symlinkSync('..data/password', join(base, 'secrets/default/db/password'));
    },
    replace: (value) => mount('secrets/default/db', value, value),
    place: (value) => `secrets/default/db/..${value}/password`,
  },
  'a link that is the directory': {
    directory: 'secrets',
    begin: () => {
      secretIn('v1', 'v1');
      symlinkSync('v1', join(base, 'secrets'));
    },
    replace: (value) => {
      secretIn(value, value);
      relink('secrets', value);
    },
    place: (value) => `${value}/default/db/password`,
  },
  'a link on the way to the directory': {
    directory: 'mounted/..data/team',
    begin: () => {
      secretIn('mounted/..v1/team', 'v1');
      symlinkSync('..v1', join(base, 'mounted/..data'));
    },
    replace: (value) => {
      secretIn(`mounted/..${value}/team`, value);
      relink('mounted/..data', `..${value}`);
    },
    place: (value) => `mounted/..${value}/team/default/db/password`,
  },
  'a file behind a link that is the directory': {
    directory: 'secrets',
    begin: () => {
      secretIn('v1', 'v1');
      symlinkSync('v1', join(base, 'secrets'));
    },
    replace: (value) => secretIn('v1', value),
    place: () => 'v1/default/db/password',
  },
};

test.each(Object.entries(replacements))(
  'of --secrets-dir is noticed, time after time: %s',
  async (_what, { directory, begin, replace, place }) => {
    begin();
    const until = await watched(join(base, directory));
    await until(has('v1'));
    for (const value of ['v2', 'v3', 'v4']) {
      replace(value);
      const { problems, complete } = await until(has(value));
      expect([problems, complete]).toEqual([[], true]);
      writeInto(base, place(value), `${value}, changed`);
      expect(await until(has(`${value}, changed`))).toMatchObject({ problems: [] });
    }
  },
);

test('a directory of Secrets that appears later is noticed, and so is a change in it', async () => {
  const until = await watched(join(base, 'secrets'));
  await until(({ complete }) => !complete);
  secretIn('secrets.next', 'v1');
  renameSync(join(base, 'secrets.next'), join(base, 'secrets'));
  await until(has('v1'));
  secretIn('secrets', 'v2');
  expect(await until(has('v2'))).toMatchObject({ problems: [], complete: true });
});

test('a folder of documents that is replaced by renames is noticed, time after time', async () => {
  const until = await watched(undefined);
  for (const name of ['a', 'b']) {
    mkdirSync(join(base, 'next'));
    writeInto(base, 'next/web.yaml', service(name));
    renameSync(folder, join(base, `before-${name}`));
    renameSync(join(base, 'next'), folder);
    const { problems } = await until((snapshot) => names(snapshot).join() === name);
    expect(problems).toEqual([]);
  }
});
