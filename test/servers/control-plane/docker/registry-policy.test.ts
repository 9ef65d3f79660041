import { expect, test } from 'vitest';
import { RegistryPolicy } from '../../../../src/control-plane/runtimes/containers/registry-policy.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'ghcr.io': ['140.82.121.33'],
  'rebound.example': ['203.0.113.7', '10.0.0.7'],
  'metadata.example': ['169.254.169.254'],
  'six.example': ['2606:4700::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'mapped-hex.example': ['::ffff:7f00:1'],
  'local6.example': ['fd00::1'],
  'nat64.example': ['64:ff9b::7f00:1'],
};
const resolve = (name: string) =>
  names[name] ? Promise.resolve(names[name]) : Promise.reject(new Error('ENOTFOUND'));
const policy = new RegistryPolicy(['registry.acme.internal:5000', '10.0.0.5'], resolve);

test.each(['ghcr.io/a/b', 'docker.io/library/nginx', 'six.example/a/b', 'unknown.example/a/b'])(
  'images of %s may be pulled',
  async (repository) => {
    expect(await policy.refuses(repository)).toBe(false);
  },
);

test.each(Object.keys(names).filter((name) => !['ghcr.io', 'six.example'].includes(name)))(
  'a name that leads into a private network is refused: %s',
  async (name) => {
    expect(policy.refusesByName(`${name}/a/b`)).toBe(false);
    expect(await policy.refuses(`${name}/a/b`)).toBe(true);
  },
);

test('what the operator allows is allowed exactly as it is named', async () => {
  expect(await policy.refuses('registry.acme.internal:5000/a/b')).toBe(false);
  expect(await policy.refuses('10.0.0.5/a/b')).toBe(false);
  expect(await policy.refuses('registry.acme.internal/a/b')).toBe(true);
  expect(await policy.refuses('registry.acme.internal:5001/a/b')).toBe(true);
  expect(await policy.refuses('10.0.0.5:80/a/b')).toBe(true);
});
