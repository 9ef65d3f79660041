import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSourceFile, replaceText } from '../../../src/cli/edit/source-file.ts';
import { systemRandom } from '../../../src/base/index.ts';
import { serviceDocument } from '../../support/desired.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run } from './support.ts';

const textOf = (file: string) => readFileSync(file, 'utf8');

/** A folder with one file, `fleet.yaml`. */
function fleet(text = ['web', 'worker'].map((name) => serviceDocument(name)).join('---\n')) {
  const file = temporaryFile('fleet.yaml');
  writeFileSync(file, text);
  return { file, source: path.dirname(file) };
}

describe('stop and start', () => {
  test('set the desired state of the services that are named, and of no other', async () => {
    const { file, source } = fleet();
    const { code, stdout } = await run(['stop', 'worker', '--source', source]);
    expect(code).toBe(0);
    expect(textOf(file)).toBe(
      [serviceDocument('web'), serviceDocument('worker', ['desiredState: Stopped'])].join('---\n'),
    );
    expect(stdout).toBe(
      `${file}:16:\n+   desiredState: Stopped\n` +
        `The provider is not changed yet: \`fleetkeeper apply --source ${source}\` does that. ` +
        'A manager that runs on this folder does it by itself.\n',
    );
    const started = await run(['start', 'ContainerService/worker', '--source', source]);
    expect(started.stdout).toContain('-   desiredState: Stopped\n+   desiredState: Running\n');
    expect(textOf(file)).toContain('desiredState: Running');
  });

  test('write nothing when it is so already', async () => {
    const { file, source } = fleet();
    const { ino, mtimeNs } = statSync(file, { bigint: true });
    const { code, stdout } = await run(['start', 'web', '--source', source]);
    expect([code, stdout]).toEqual([0, `fleet.yaml:1: web is unchanged: it has that already\n`]);
    expect(statSync(file, { bigint: true })).toMatchObject({ ino, mtimeNs });
  });

  test('take several names, in several files, and all of them or none', async () => {
    const { file, source } = fleet(serviceDocument('web'));
    mkdirSync(path.join(source, 'more'));
    const other = path.join(source, 'more', 'api.yaml');
    writeFileSync(other, serviceDocument('api', ['desiredState: &s Running']));
    const refused = await run(['stop', 'web', 'api', '--source', source]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`${other}:8: the document of api is not edited`);
    expect(refused.stderr).toContain(`set \`spec.desiredState: "Stopped"\` at ${other}:8 by hand`);
    expect(textOf(file)).toBe(serviceDocument('web'));
    writeFileSync(other, serviceDocument('api'));
    expect((await run(['stop', 'web', 'api', 'web', '--source', source])).code).toBe(0);
    for (const each of [file, other]) expect(textOf(each).match(/desiredState: Stopped/g)).toHaveLength(1);
  });
});

describe('restart', () => {
  test('writes a new token each time', async () => {
    const { file, source } = fleet(serviceDocument('web'));
    const clock = new ManualClock();
    const tokens = [];
    for (const round of [1, 2, 3]) {
      const { code } = await run(['restart', 'csvc/web', '--source', source], { clock });
      expect(code).toBe(0);
      tokens.push(/restartToken: "(.+)"/.exec(textOf(file))?.[1]);
      if (round === 2) await clock.advance(1000);
    }
    expect(new Set(tokens).size).toBe(3);
    expect(textOf(file).match(/restartToken/g)).toHaveLength(1);
  });

  test('is refused for a service that is to be stopped', async () => {
    const { source } = fleet(serviceDocument('web', ['desiredState: Stopped']));
    const { code, stderr } = await run(['restart', 'web', '--source', source]);
    expect(code).toBe(1);
    expect(stderr).toContain('`fleetkeeper start web` starts it');
  });
});

describe('a file', () => {
  test('keeps its mode, its links and its byte order mark, and nothing is left beside it', async () => {
    const { source, file } = fleet(`\uFEFF${serviceDocument('api')}`);
    chmodSync(file, 0o640);
    const link = path.join(source, 'a.yaml');
    symlinkSync('fleet.yaml', link);
    expect((await run(['stop', 'api', '--source', source])).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(textOf(file)).toBe(`\uFEFF${serviceDocument('api', ['desiredState: Stopped'])}`);
    expect(readdirSync(source)).toEqual(['a.yaml', 'fleet.yaml']);
  });

  test.each([
    ['that is read-only', (file: string) => chmodSync(file, 0o444), 'it is read-only'],
    [
      'that has another name',
      (file: string) => linkSync(file, temporaryFile('other')),
      'it has 2 names (hard links)',
    ],
  ])('%s is left alone', async (_, prepare, why) => {
    const { file, source } = fleet();
    prepare(file);
    const { code, stderr } = await run(['stop', 'web', '--source', source]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${file} is not edited: ${why}`);
    expect(textOf(file)).not.toContain('Stopped');
  });

  test('is left alone if it is a link out of the folder, and is edited if the link is the source', async () => {
    const { file } = fleet();
    const { source } = fleet(serviceDocument('other'));
    const link = path.join(source, 'linked.yaml');
    symlinkSync(file, link);
    expect((await run(['stop', 'web', '--source', source])).code).toBe(1);
    await expect(openSourceFile(source, 'linked.yaml')).rejects.toThrow(
      `it is a link to ${file}, outside of ${source}`,
    );
    expect(textOf(file)).not.toContain('Stopped');
    expect((await run(['stop', 'web', '--source', link])).code).toBe(0);
    expect(textOf(file)).toContain('Stopped');
  });

  test('that changes meanwhile is left as it is', async () => {
    const { file, source } = fleet();
    const opened = await openSourceFile(source, 'fleet.yaml');
    writeFileSync(file, 'of somebody else');
    await expect(replaceText(opened, Buffer.from('mine'), systemRandom)).rejects.toThrow('changed meanwhile');
    expect(textOf(file)).toBe('of somebody else');
    expect(readdirSync(source)).toEqual(['fleet.yaml']);
  });
});

describe('what is named', () => {
  test.each([
    [['wbe'], 'did you mean web?'],
    [['web', '--namespace', 'lab'], 'there is no document of a ContainerService web in the namespace lab'],
    [['StorageVolume/web'], 'write NAME or ContainerService/NAME'],
    [[], "missing required argument 'name'"],
  ])('has to be a service of the folder: %j', async (names, advice) => {
    const { source } = fleet();
    const { code, stderr } = await run(['stop', ...names, '--source', source]);
    expect(code).toBe(1);
    expect(stderr).toContain(advice);
  });

  test('has to have a document without problems', async () => {
    const { file, source } = fleet(serviceDocument('web', ['imgae: x']));
    const { code, stderr } = await run(['stop', 'web', '--source', source]);
    expect(code).toBe(1);
    expect(stderr).toContain('fleet.yaml:8: unknown field `imgae`');
    expect(textOf(file)).not.toContain('Stopped');
  });

  test('is patched with kubectl in a cluster', async () => {
    const args = ['stop', 'web', '--namespace', 'lab', '--context', 'test', '--source', 'kubernetes'];
    const { code, stderr } = await run(args);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'kubectl patch containerservices.fleetkeeper.dev web --namespace=lab --context=test --type=merge ' +
        `--patch='{"spec":{"desiredState":"Stopped"}}'`,
    );
  });
});
