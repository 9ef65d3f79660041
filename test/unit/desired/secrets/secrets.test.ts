import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatProblem, readFolder, type DesiredSnapshot } from '../../../../src/desired/index.ts';
import { Sensitive } from '../../../../src/base/index.ts';
import { SecretsMemory, lossMs, settleMs } from '../../../../src/desired/secrets/memory.ts';
import { SecretsDirectory, answerMs } from '../../../../src/desired/secrets/secrets-directory.ts';
import { SecretsTreeReader, secretsLimits, type SecretsTree } from '../../../../src/desired/secrets/tree.ts';
import { resolveEnvironment } from '../../../../src/kinds/container-service/environment-values.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { secret, service } from '../documents.ts';
import { removeTemporary, temporaryFolder, writeInto } from '../folders.ts';

const canary = 'canary-9f27c1';
let folder: string;
let directory: string;

beforeEach(() => {
  folder = temporaryFolder();
  directory = join(dirname(folder), 'secrets');
  mkdirSync(directory);
});

afterEach(() => removeTemporary(folder));

const put = (file: string, text: string): void => {
  writeInto(directory, file, text);
  chmodSync(join(directory, file), 0o600);
};

/** Of a service with this reference, after one reading. */
async function read(notes: string[] = []): Promise<DesiredSnapshot> {
  const onNote = (line: string) => notes.push(line);
  return readFolder(folder, { directory, clock: new ManualClock(), onNote });
}

const lines = (snapshot: DesiredSnapshot) =>
  snapshot.problems.map(formatProblem).map((line) => line.replaceAll(directory, 'DIR'));

const valueOf = ({ secrets }: DesiredSnapshot, name: string, key: string) =>
  secrets.get(name)?.get(key)?.reveal();

const env = `  env:
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: db, key: password, optional: true}}
`;

/** What the variable of the service is, or why there is none. */
function environmentOf(snapshot: DesiredSnapshot): unknown {
  const [object] = snapshot.objects.values();
  if (object?.kind !== 'ContainerService') throw new Error('there is no service');
  const found = resolveEnvironment(
    { spec: object.spec as Parameters<typeof resolveEnvironment>[0]['spec'], namespace: object.namespace },
    snapshot,
  );
  return found.ok
    ? found.environment?.reveal()
    : `${found.reason}: ${found.message}`.replaceAll(directory, 'DIR');
}

describe('a directory of Secrets is read', () => {
  beforeEach(() => writeInto(folder, 'web.yaml', service('web', env)));

  test('a file is a value, with the line break at its end, which one line mentions', async () => {
    put('default/db/password', `${canary}\n`);
    put('default/db/.dockerconfigjson', '{}');
    const notes: string[] = [];
    const snapshot = await read(notes);
    expect(environmentOf(snapshot)).toEqual({ TOKEN: `${canary}\n` });
    expect(valueOf(snapshot, 'default/db', '.dockerconfigjson')).toBe('{}');
    expect(notes).toEqual([
      `${directory}/default/db/password ends with a line break, which is part of its value`,
    ]);
    expect([snapshot.problems, snapshot.complete]).toEqual([[], true]);
    expect(inspect(snapshot, { depth: 9 }) + JSON.stringify([...snapshot.secrets])).not.toContain(canary);
  });

  test('a file that others may read is a warning, and is used', async () => {
    put('default/db/password', 'p1');
    chmodSync(join(directory, 'default/db/password'), 0o640);
    const notes: string[] = [];
    expect(environmentOf(await read(notes))).toEqual({ TOKEN: 'p1' });
    expect(notes).toEqual([
      expect.stringContaining(`others than its owner may read ${directory}/default/db/password`),
    ]);
  });

  test('the layout of a Secret that Kubernetes mounts works, for one Secret and for all', async () => {
    put('default/db/..2026_01/password', 'p1');
    symlinkSync('..2026_01', join(directory, 'default/db/..data'));
    symlinkSync('..data/password', join(directory, 'default/db/password'));
    expect(environmentOf(await read())).toEqual({ TOKEN: 'p1' });
    renameSync(join(directory, 'default'), join(directory, '..2026_02'));
    symlinkSync('..2026_02', join(directory, '..data'));
    mkdirSync(join(directory, 'default'));
    symlinkSync('../..data/db', join(directory, 'default/db'));
    const snapshot = await read();
    expect([environmentOf(snapshot), snapshot.problems]).toEqual([{ TOKEN: 'p1' }, []]);
  });

  test('a Secret in a document and in the directory: neither is used', async () => {
    put('default/db/password', 'p1');
    put('default/other/password', 'p2');
    writeInto(folder, 'db.yaml', secret('db', 'password', 'p3'));
    const snapshot = await read();
    expect(environmentOf(snapshot)).toBe(
      'DuplicateSecret: Secret default/db is at db.yaml:1 and in DIR/default/db, so neither is used',
    );
    expect(lines(snapshot)).toEqual([
      expect.stringMatching(/^db.yaml:1: Secret default\/db is at .*; keep one of them$/),
    ]);
    expect(valueOf(snapshot, 'default/other', 'password')).toBe('p2');
  });

  test('a document of SOPS is refused with the command that decrypts it, and the directory is used', async () => {
    put('default/db/password', 'p1');
    const encrypted = secret('db', 'password', 'ENC[AES256_GCM,data:x]');
    writeInto(folder, 'db.yaml', `${encrypted}sops: {mac: "ENC[AES256_GCM,data:y]"}\n`);
    const snapshot = await read();
    expect(lines(snapshot)).toEqual([
      expect.stringContaining(
        `sops decrypt --extract '["stringData"]["password"]' db.yaml > DIR/default/db/password`,
      ),
    ]);
    expect([environmentOf(snapshot), snapshot.complete]).toEqual([{ TOKEN: 'p1' }, true]);
    rmSync(join(directory, 'default/db/password'));
    put('default/db/password', JSON.stringify({ data: 'ENC[AES256_GCM,data:x]', sops: {} }));
    expect(environmentOf(await read())).toContain(
      'InvalidReference: DIR/default/db/password is encrypted by SOPS',
    );
  });

  test('the command of a hostile document runs nothing else', async () => {
    const text = `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {"a'; rm -rf ~ '": x}\nsops: {}\n`;
    writeInto(folder, "x'; reboot '.yaml", text);
    const line = lines(await read()).find((each) => each.includes('sops decrypt')) ?? '';
    expect(line.slice(line.indexOf('umask'))).not.toMatch(/reboot|rm -rf/);
  });
});

describe('what is not there or can not be used holds, and is never taken for absent', () => {
  beforeEach(() => writeInto(folder, 'web.yaml', service('web', env)));

  test.each<[string, () => void, string | RegExp]>([
    [
      'the directory is absent',
      () => rmSync(directory, { recursive: true }),
      /--secrets-dir DIR is not there$/,
    ],
    ['the directory is empty', () => undefined, /--secrets-dir DIR has no Secret in it$/],
    [
      'its namespace is empty',
      () => mkdirSync(join(directory, 'default')),
      /DIR\/default is an empty directory/,
    ],
    [
      'it is empty',
      () => mkdirSync(join(directory, 'default/db'), { recursive: true }),
      /default\/db is an empty dir/,
    ],
    ['its file is empty', () => put('default/db/password', ''), /DIR\/default\/db\/password is empty$/],
    [
      'is no text',
      () =>
        writeFileSync(
          (put('default/db/password', ''), join(directory, 'default/db/password')),
          Buffer.from([0xff]),
        ),
      /is not text/,
    ],
    [
      'is too large',
      () => put('default/db/password', 'x'.repeat(secretsLimits.fileBytes + 1)),
      /is larger than 64 KiB$/,
    ],
    [
      'leads out of the directory',
      () => (
        put('default/db/a', 'x'),
        symlinkSync(join(folder, 'web.yaml'), join(directory, 'default/db/password'))
      ),
      /is a link to something that is not in the directory/,
    ],
    [
      'its directory leads out',
      () => (
        mkdirSync(join(directory, 'default')),
        writeInto(dirname(folder), 'out/password', 'x'),
        symlinkSync('../../out', join(directory, 'default/db'))
      ),
      /default\/db is a link to something that is not in/,
    ],
    [
      'is a link to nothing',
      () => (put('default/db/a', 'x'), symlinkSync('nothing', join(directory, 'default/db/password'))),
      /password is not there$/,
    ],
    [
      'is a pipe',
      () => (
        put('default/db/a', 'x'),
        execFileSync('sh', ['-c', 'mkfifo "$0"', join(directory, 'default/db/password')])
      ),
      /is no plain file$/,
    ],
  ])('%s', async (_name, arrange, message) => {
    arrange();
    const snapshot = await read();
    expect(environmentOf(snapshot)).toMatch(message);
    expect(environmentOf(snapshot)).toMatch(/^InvalidReference: /);
    expect(snapshot.problems.length).toBeGreaterThan(0);
  });

  test('without --secrets-dir, a Secret that is required is missing, as ever', async () => {
    writeInto(folder, 'web.yaml', service('web', env.replace(', optional: true', '')));
    expect(environmentOf(await readFolder(folder))).toMatch(/^InvalidReference: no usable Secret db/);
  });

  test('a hostile tree: bad names are reported without control characters, and the rest is used', async () => {
    put('default/db/password', 'p1');
    put('default/db/a\nb', 'x');
    put('default/db/..hidden', 'x');
    put('default/Db/password', 'x');
    put('-x/db/password', 'x');
    put('file', 'x');
    symlinkSync('.', join(directory, 'loop'));
    symlinkSync('/', join(directory, 'root'));
    const snapshot = await read();
    expect(environmentOf(snapshot)).toEqual({ TOKEN: 'p1' });
    expect(
      lines(snapshot)
        .join('\n')
        .replaceAll(/;[^\n]*/g, '')
        .split('\n')
        .sort(),
    ).toEqual([
      'DIR/-x: is no name that a namespace may have',
      'DIR/default/Db: is no name that a Secret may have',
      'DIR/default/db/a?b: is no name that a key may have',
      'DIR/file: is no directory',
      'DIR/loop: is a link to something that is not in the directory, so it is not read',
      'DIR/root: is a link to something that is not in the directory, so it is not read',
    ]);
    expect(JSON.stringify(snapshot.problems)).not.toContain('\\n');
  });
});

/** The readings of one process: what is in the directory is given, and so is the time. */
class Readings {
  readonly memory = new SecretsMemory('DIR');
  nowMs = 0;

  read(secrets: Readonly<Record<string, Readonly<Record<string, string>>>>, more: Partial<SecretsTree> = {}) {
    const found = Object.entries(secrets).map(([name, values]) => {
      const files = Object.entries(values).map(
        ([key, value]) =>
          [key, { value: new Sensitive(value), endsWithNewline: false, isOpen: false }] as const,
      );
      return [name, new Map(files)] as const;
    });
    const tree = {
      failed: undefined,
      secrets: new Map(found),
      unlisted: new Map(),
      strays: new Map(),
      ...more,
    };
    return this.memory.take(tree, this.nowMs);
  }

  /** What is used of `a/s` after a reading of this. */
  used(...given: Parameters<Readings['read']>): unknown {
    const values = this.read(...given).secrets.get('a/s');
    return values && Object.fromEntries([...values].map(([key, value]) => [key, value.reveal()]));
  }
}

const gone = { message: 'is not there', remedy: 'mount it' };

describe('while a manager runs', () => {
  test('a rotated Secret is used as a whole, when it has been the same for 100 ms', () => {
    const readings = new Readings();
    const [old, next] = [
      { user: 'u1', password: 'p1' },
      { user: 'u2', password: 'p2' },
    ];
    expect(readings.used({ 'a/s': old })).toEqual(old);
    // Half of it is written.
    expect(readings.used({ 'a/s': { ...old, user: 'u2' } })).toEqual(old);
    readings.nowMs += settleMs - 1;
    expect(readings.used({ 'a/s': next })).toEqual(old);
    readings.nowMs += settleMs - 1;
    expect(readings.read({ 'a/s': next }).againAfterMs).toBe(1);
    readings.nowMs += 1;
    expect(readings.used({ 'a/s': next })).toEqual(next);
  });

  test.each<[string, Partial<SecretsTree>]>([
    ['unmounted, or replaced by a rename', { failed: gone }],
    ['its namespace can not be listed', { unlisted: new Map([['a', gone]]) }],
    ['its own directory is empty', { unlisted: new Map([['a/s', gone]]) }],
  ])('the last values are kept, and a problem is reported, for however long: %s', (_name, tree) => {
    const readings = new Readings();
    readings.used({ 'a/s': { key: 'v1' } });
    for (let hours = 0; hours < 3; hours += 1) {
      readings.nowMs += 3_600_000;
      expect(readings.used({}, tree)).toEqual({ key: 'v1' });
    }
    const reading = readings.read({}, tree);
    expect([reading.complete, reading.againAfterMs]).toEqual([false, undefined]);
    expect(reading.problems).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/is kept|are kept/) }),
    ]);
    readings.nowMs += 1;
    const back = readings.read({ 'a/s': { key: 'v1' } });
    expect([back.complete, back.problems]).toEqual([true, []]);
  });

  test('a file that is emptied, too large or unreadable keeps its last value', () => {
    const readings = new Readings();
    readings.used({ 'a/s': { key: 'v1' } });
    readings.nowMs += 3_600_000;
    const tree = { secrets: new Map([['a/s', new Map([['key', gone]])]]) };
    readings.read({}, tree);
    readings.nowMs += 3_600_000;
    const reading = readings.read({}, tree);
    expect(reading.secrets.get('a/s')?.get('key')?.reveal()).toBe('v1');
    expect(reading.problems).toEqual([expect.objectContaining({ file: 'DIR/a/s/key' })]);
  });

  test('a removed key, and a removed Secret, are gone after 2 s, and not before', () => {
    const readings = new Readings();
    const rest = { 'a/other': { key: 'x' } };
    readings.used({ 'a/s': { key: 'v1', more: 'v2' }, ...rest });
    readings.used({ 'a/s': { key: 'v1' }, ...rest });
    readings.nowMs += lossMs - 1;
    expect(readings.used({ 'a/s': { key: 'v1' }, ...rest })).toEqual({ key: 'v1', more: 'v2' });
    readings.nowMs += 1;
    expect(readings.used({ 'a/s': { key: 'v1' }, ...rest })).toEqual({ key: 'v1' });
    expect(readings.used(rest)).toEqual({ key: 'v1' });
    readings.nowMs += lossMs;
    expect(readings.used(rest)).toBeUndefined();
  });

  test('a Secret that appears later is used when it has been the same for 100 ms', () => {
    const readings = new Readings();
    expect(readings.read({}, { failed: gone }).unknown.get('')).toMatchObject({ reason: 'InvalidReference' });
    expect(readings.used({ 'a/s': { key: 'v' } })).toEqual({});
    readings.nowMs += settleMs;
    expect(readings.used({ 'a/s': { key: 'v1' } })).toEqual({});
    readings.nowMs += settleMs;
    expect(readings.used({ 'a/s': { key: 'v1' } })).toEqual({ key: 'v1' });
  });

  test('a directory that hangs delays nobody: the last values are used, and its answer when it comes', async () => {
    const clock = new ManualClock();
    const found = { failed: undefined, secrets: new Map(), unlisted: new Map(), strays: new Map() };
    const files = (value: string) =>
      new Map([['k', { value: new Sensitive(value), endsWithNewline: false, isOpen: false }]]);
    let answer: (tree: SecretsTree) => void = () => undefined;
    let asked = 0;
    const hanging = Object.assign(new SecretsTreeReader('DIR'), {
      read: () => {
        asked += 1;
        return new Promise<SecretsTree>((resolve) => {
          answer = resolve;
        });
      },
    });
    const watchFolder = () => ({ close: async () => undefined });
    const watched = new SecretsDirectory({ directory: 'DIR', clock, watchFolder }, hanging);
    let changes = 0;
    const started = watched.start(() => {
      changes += 1;
    });
    await clock.advance(answerMs);
    await started;
    expect(watched.reading).toMatchObject({
      complete: false,
      problems: [{ message: expect.stringContaining('10 s') }],
    });
    await clock.advance(60_000);
    expect(asked).toBe(1);
    answer({ ...found, secrets: new Map([['a/s', files('v1')]]) });
    await clock.advance(settleMs * 2);
    answer({ ...found, secrets: new Map([['a/s', files('v1')]]) });
    await clock.advance(settleMs * 2);
    answer({ ...found, secrets: new Map([['a/s', files('v1')]]) });
    await clock.advance(0);
    expect([watched.reading.complete, watched.reading.secrets.get('a/s')?.get('k')?.reveal()]).toEqual([
      true,
      'v1',
    ]);
    expect(changes).toBeGreaterThan(0);
    await watched.stop();
  });

  test('more files than the limit are the wrong directory', async () => {
    for (const namespace of ['a', 'b']) {
      mkdirSync(join(directory, namespace, 's'), { recursive: true });
      for (let file = 0; file < 3; file += 1) writeFileSync(join(directory, namespace, 's', `k${file}`), 'x');
    }
    const few = await new SecretsTreeReader(directory, { ...secretsLimits, files: 5 }).read();
    expect(few).toMatchObject({ failed: { message: 'has more than 5 files' }, secrets: new Map() });
    expect(
      (await new SecretsTreeReader(directory, { ...secretsLimits, files: 6 }).read()).failed,
    ).toBeUndefined();
  });

  test('a file that was written twice within one tick of the clock is read again after an event', async () => {
    put('a/s/k', 'v1');
    const reader = new SecretsTreeReader(directory);
    const value = async (anew: boolean) => {
      const found = (await reader.read(anew)).secrets.get('a/s')?.get('k');
      return found && 'value' in found ? found.value.reveal() : found;
    };
    expect(await value(false)).toBe('v1');
    put('a/s/k', 'v2');
    expect(await value(true)).toBe('v2');
  });
});
