import { expect, test } from 'vitest';
import { objectPath } from '../../../src/kubernetes/paths.ts';

const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true } as const;
const place = { type: secrets, namespace: 'shop', name: 'compute' };

test.each(['../other/secrets/x', 'a/b', 'a?watch=1', 'a#b', 'a\r\nHost: x', '%2e%2e', ' '])(
  'the name %j stays in its place of a path',
  (name) => {
    const url = new URL(objectPath({ ...place, name }), 'https://cluster.example');
    expect(url.pathname.split('/').slice(0, 6).join('/')).toBe('/api/v1/namespaces/shop/secrets');
    expect([url.pathname.split('/').length, url.search, url.hash, url.host]).toEqual([
      7,
      '',
      '',
      'cluster.example',
    ]);
  },
);

test.each(['', '.', '..'])('the name %j, which would lead elsewhere, gets into no path', (name) => {
  expect(() => objectPath({ ...place, name })).toThrow('must not be');
  expect(() => objectPath({ ...place, namespace: name })).toThrow('must not be');
});
