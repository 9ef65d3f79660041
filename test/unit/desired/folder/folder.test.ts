import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assemble, formatProblem, parseFile, type DesiredObject } from '../../../../src/desired/index.ts';
import { resolveEnvironment } from '../../../../src/kinds/container-service/environment-values.ts';
import { configMap, documents, secret, service, volume } from '../documents.ts';

const folder = (files: Record<string, string>) =>
  assemble(
    Object.entries(files).map(([file, text]) => parseFile(file, text)),
    1,
  );

describe('the documents of a folder', () => {
  test('an object written twice is used neither way, and both places are told', () => {
    const snapshot = folder({
      'b.yaml': service('web'),
      'a.yaml': documents(volume('data'), service('web')),
    });
    expect([...snapshot.objects.keys()]).toEqual(['StorageVolume/default/data']);
    expect([...snapshot.unusable.keys()]).toEqual(['ContainerService/default/web']);
    expect(snapshot.problems.map(formatProblem)).toEqual([
      'a.yaml:6: ContainerService/default/web is defined 2 times, at a.yaml:6, b.yaml:1; none of them is used; keep one of them',
    ]);
    expect(snapshot.complete).toBe(true);
  });

  test('a Secret written twice is absent', () => {
    const snapshot = folder({ 'a.yaml': secret('s', 'k', '1'), 'b.yaml': secret('s', 'k', '2') });
    expect(snapshot.secrets.size).toBe(0);
    expect(snapshot.problems.map(formatProblem)).toEqual([
      'a.yaml:1: Secret/default/s is defined 2 times, at a.yaml:1, b.yaml:1; none of them is used; keep one of them',
    ]);
  });

  test('one name may be used by different kinds, and in different namespaces', () => {
    const other = service('web').replace('name: web', 'name: web\n  namespace: lab');
    const snapshot = folder({
      'a.yaml': documents(service('web'), volume('web'), other, secret('web', 'a', 'b')),
    });
    expect(snapshot.objects.size).toBe(3);
    expect(snapshot.problems).toEqual([]);
  });

  test('a folder without a document is empty, and says so', () => {
    const snapshot = folder({ 'a.yaml': '# nothing\n' });
    expect(snapshot).toMatchObject({ empty: true, complete: true });
    expect(snapshot.problems.map(formatProblem)[0]).toContain(
      'there is no document in it; check that --source',
    );
  });

  test('a folder that could not be read is not empty', () => {
    expect(folder({ 'a.yaml': ': :\n\t[' })).toMatchObject({ empty: false, complete: false });
  });

  const withCount = (file: string, name: string, documentCount: number) => ({
    ...parseFile(file, service(name)),
    documentCount,
  });

  test('of more than 10,000 documents, the file that has most is not used, and nothing counts as removed', () => {
    const snapshot = assemble([withCount('a/a.yaml', 'a', 10_001), withCount('b/b.yaml', 'b', 20)], 1);
    expect([...snapshot.objects.keys()]).toEqual(['ContainerService/default/b']);
    expect(snapshot.complete).toBe(false);
    expect(snapshot.problems.map(formatProblem)).toEqual([
      '.: there are more than 10000 documents, so the files that have most are not used: a/a.yaml; check that this is the right folder, or split the fleet',
    ]);
  });

  test('of very many files with one document each, no file of another folder is left out for them', () => {
    const many = Array.from({ length: 9990 }, (_, index) =>
      withCount(`a/${index % 7}/${index}.yaml`, 'a', 1),
    );
    const snapshot = assemble([...many, withCount('b/b.yaml', 'b', 500)], 1);
    expect(snapshot.objects.has('ContainerService/default/b')).toBe(true);
    expect(snapshot.complete).toBe(false);
    expect(snapshot.problems[0]?.message).toMatch(/are not used: a\/.* and 485 more$/);
  });

  test('the order in which files are read makes no difference', () => {
    const files = [
      ['a.yaml', documents(service('web'), volume('data'))],
      ['b.yaml', documents(service('web'), secret('s', 'k', 'v'))],
      ['c.yaml', service('job', '  imgae: x\n  prot: 1\n')],
      ['d.yaml', 'kind: Pod\n'],
      ['e.yaml', documents(service('job'), secret('s', 'k', 'w'), configMap('c', 'k', 'v'))],
      ['f.yaml', '- "'],
    ].map(([file = '', text = '']) => parseFile(file, text));
    const seen = (order: typeof files) => {
      const { objects, unusable, secrets, configMaps, ...rest } = assemble(order, 1);
      return {
        ...rest,
        objects: [...objects],
        unusable: [...unusable],
        secrets: [...secrets],
        configMaps: [...configMaps],
      };
    };
    const expected = seen(files);
    fc.assert(
      fc.property(fc.shuffledSubarray(files, { minLength: files.length }), (order) => {
        expect(seen(order)).toEqual(expected);
      }),
    );
  });
});

const resolve = (env: string, ...others: string[]) => {
  const snapshot = folder({ 'a.yaml': documents(service('web', env), ...others) });
  const object = snapshot.objects.get('ContainerService/default/web') as DesiredObject<'ContainerService'>;
  const resolved = resolveEnvironment(object, snapshot);
  return resolved.ok ? { ok: true, environment: resolved.environment?.reveal() } : resolved;
};
const entry = (text: string) => `  env:\n    - {name: A, ${text}}\n`;

describe("a service's environment", () => {
  test('that is not written is not managed', () => {
    expect(resolve('')).toEqual({ ok: true, environment: undefined });
    expect(resolve('  env: []\n')).toEqual({ ok: true, environment: {} });
  });

  test('takes values, Secrets and ConfigMaps', () => {
    const env = `  env:
    - {name: A, value: "$(B)"}
    - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}}
    - {name: D}
    - {name: __proto__, value: x}
`;
    const resolved = resolve(env, secret('s', 'k', 'hidden'), configMap('c', 'k', 'shown'));
    expect(JSON.stringify(resolved)).toBe(
      '{"ok":true,"environment":{"A":"$(B)","B":"hidden","C":"shown","D":"","__proto__":"x"}}',
    );
  });

  test('names the reference that leads nowhere, and what to add', () => {
    expect(resolve(entry('valueFrom: {secretKeyRef: {name: s, key: k}}'))).toEqual({
      ok: false,
      reason: 'InvalidReference',
      path: ['spec', 'env', 0, 'valueFrom', 'secretKeyRef'],
      message: 'no usable Secret s in the namespace default',
      remedy: 'add it with the key `k` (or fix it, if it exists), or set `optional: true`',
    });
    expect(
      resolve(entry('valueFrom: {configMapKeyRef: {name: c, key: k}}'), configMap('c', 'other', 'x')),
    ).toMatchObject({
      ok: false,
      path: ['spec', 'env', 0, 'valueFrom', 'configMapKeyRef'],
      message: 'the ConfigMap c in the namespace default has no key `k`',
    });
  });

  test('looks in the namespace of the service only', () => {
    const elsewhere = secret('s', 'k', 'x').replace('{name: s}', '{name: s, namespace: lab}');
    expect(resolve(entry('valueFrom: {secretKeyRef: {name: s, key: k}}'), elsewhere)).toMatchObject({
      ok: false,
    });
  });

  test('leaves an optional variable out when there is nothing for it', () => {
    const reference = 'valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}';
    expect(resolve(entry(reference))).toEqual({ ok: true, environment: {} });
    expect(resolve(entry(reference), secret('s', 'k', 'x'))).toEqual({ ok: true, environment: { A: 'x' } });
  });
});
