import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run } from './support.ts';

function folder(): string {
  const file = temporaryFile('fleet.yaml');
  writeFileSync(file, ['web', 'worker', 'db'].map((name) => serviceDocument(name)).join('---\n'));
  return path.dirname(file);
}

async function complete(...words: string[]): Promise<string[]> {
  const { stdout } = await run(['__complete', '--', ...words]);
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
}

describe('what may come next on a command line', () => {
  test('is a command', async () => {
    expect(await complete('inv')).toEqual(['inventory']);
    expect(await complete('')).toEqual(expect.arrayContaining(['plan', 'apply', 'logs', 'import']));
    expect(await complete('')).not.toContain('__complete');
  });

  test('is an option of the command', async () => {
    expect(await complete('plan', '--o')).toEqual(expect.arrayContaining(['--output', '--owner']));
    expect(await complete('logs', '--follo')).toEqual(['--follow']);
    expect(await complete('plan', '-')).toEqual(expect.arrayContaining(['-f', '-o', '--output']));
    expect(await complete('plan', '-o', 'y')).toEqual(['yaml']);
    expect(await complete('status', '-o', 'jsonp')).toEqual(['jsonpath=']);
  });

  test('is a choice of the option, also behind the = that bash takes apart', async () => {
    expect(await complete('plan', '--output', '')).toEqual(['text', 'json', 'yaml', 'markdown']);
    expect(await complete('plan', '--output', '=', 'y')).toEqual(['yaml']);
    expect(await complete('plan', '--output', '=')).toEqual(['text', 'json', 'yaml', 'markdown']);
    expect(await complete('metrics', 'web', '--minutes', '6')).toEqual(['60']);
    expect(await complete('completion', '')).toEqual(['bash', 'zsh']);
  });

  test('is the name of an object in the folder', async () => {
    const source = folder();
    expect(await complete('logs', '--source', source, 'w')).toEqual(['web', 'worker']);
    expect(await complete('exec', `--source=${source}`, 'd')).toEqual(['db']);
    expect(await complete('protect', '--source', source, 'w')).toEqual(['web', 'worker']);
    expect(await complete('stop', '--source', source, 'web', 'db', 'w')).toEqual(['web', 'worker']);
  });

  test('is nothing that a shell would run, or a terminal obey', async () => {
    const source = folder();
    const labels = ['$(touch x)', '`id`', 'a;b', 'a b', '*', '\\u001b]0;x\\u0007', '\\nplan', 'fine'];
    const written = labels.map((value, at) => `l${at}: "${value}"`).join(', ');
    const document = serviceDocument('odd').replace('{name: odd}', `{name: odd, labels: {${written}}}`);
    writeFileSync(path.join(source, 'odd.yaml'), document);
    expect(await complete('status', '-f', source, '-l', 'l')).toEqual(['l7=fine']);
  });

  test('is an object, a label or a namespace of it', async () => {
    const source = folder();
    writeFileSync(
      path.join(source, 'lab.yaml'),
      serviceDocument('trainer').replace(
        '{name: trainer}',
        '{name: trainer, namespace: lab, labels: {app: x}}',
      ),
    );
    expect(await complete('resolve', '-f', source, 'ContainerService/w')).toEqual([
      'ContainerService/web',
      'ContainerService/worker',
    ]);
    expect(await complete('status', '-f', source, '-l', '')).toEqual(['app=x']);
    expect(await complete('logs', '--source', source, '-n', '')).toEqual(['default', 'lab']);
    expect(await complete('logs', '--source', source, '-nlab', '')).toEqual(['trainer']);
    expect(await complete('restart', `-f${source}`, 'web', 'w')).toEqual(['web', 'worker']);
  });

  test('is a name in the folder that the command would use without a flag', async () => {
    const currentFolder = folder();
    const { stdout } = await run(['__complete', '--', 'logs', 'd'], { currentFolder });
    expect(stdout).toBe('db\tContainerService\n');
    const environment = { FLEETKEEPER_API_URL: 'http://127.0.0.1:9' };
    const ofEnvironment = await run(['__complete', '--', 'logs', 'd'], { currentFolder, environment });
    expect(ofEnvironment.stdout).toBe('');
  });

  test('is a reason', async () => {
    expect(await complete('explain', 'Volume')).toEqual(
      expect.arrayContaining(['VolumeNotReady', 'VolumeError', 'VolumeExpansionFailed']),
    );
    expect(await complete('explain', 'InvalidS')).toEqual(['InvalidSpec']);
    expect(await complete('explain', 'ServiceF')).toEqual(['ServiceFleet']);
    expect(await complete('status', '--reason', 'InvalidS')).toEqual(['InvalidSpec']);
    expect(await complete('status', '--kind', 'St')).toEqual(['StorageVolume']);
    expect(await complete('explain', 'InvalidSpec', '')).toEqual([]);
  });

  test('is left to the shell where files or anything else may come', async () => {
    expect(await complete('plan', '--source', '')).toEqual([]);
    expect(await complete('plan', '')).toEqual([]);
    expect(await complete('events', '--source', folder(), 'web', '')).toEqual([]);
    expect(await complete('exec', 'web', '--', 'l')).toEqual([]);
    expect(await complete('unknown', '')).toEqual([]);
    expect(await complete('logs', '--source', '/there/is/no/such/folder', '')).toEqual([]);
  });
});

test('zsh is given a script of its own, and another shell none', async () => {
  expect((await run(['completion', 'zsh'])).stdout).toContain('compdef _fleetkeeper fleetkeeper');
  expect(await run(['completion', 'fish'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('bash, zsh'),
  });
});
