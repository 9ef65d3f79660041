import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  normalRepository as theirNormal,
  repositoryOf as theirs,
} from '../../../src/control-plane/domain/image-reference.ts';
import {
  normalRepository,
  repositoryOf,
  shownRepository,
  shownRepositoryOf,
} from '../../../src/resources/index.ts';

// COVERAGE 68
describe('the repository of an image', () => {
  test.each([
    ['ghcr.io/acme/trainer:1.4', 'ghcr.io/acme/trainer'],
    ['ghcr.io/acme/trainer', 'ghcr.io/acme/trainer'],
    ['GHCR.IO/acme/trainer:1', 'ghcr.io/acme/trainer'],
    [`ghcr.io/acme/trainer:1@sha256:${'a'.repeat(64)}`, 'ghcr.io/acme/trainer'],
    ['localhost:5000/trainer:1', 'localhost:5000/trainer'],
    ['localhost/trainer', 'localhost/trainer'],
    ['postgres', 'docker.io/library/postgres'],
    ['postgres:17', 'docker.io/library/postgres'],
    ['docker.io/postgres', 'docker.io/library/postgres'],
    ['index.docker.io/acme/web', 'docker.io/acme/web'],
    ['acme/web:latest', 'docker.io/acme/web'],
  ])('%s is of %s', (image, repository) => {
    expect(repositoryOf(image)).toBe(repository);
  });

  test.each(['', ':1', 'ghcr.io/Acme/web', 'ghcr.io//web', 'a b'])('%j is of none', (image) => {
    expect(repositoryOf(image)).toBeUndefined();
  });

  test.each([
    ['GHCR.IO/ACME/WEB', 'ghcr.io/acme/web'],
    [' ghcr.io/acme/web/ ', 'ghcr.io/acme/web'],
    ['https://ghcr.io/acme/web', 'ghcr.io/acme/web'],
    ['DOCKER.IO/POSTGRES', 'docker.io/library/postgres'],
    ['', undefined],
    [undefined, undefined],
    ['ghcr.io/acme/web:1', undefined],
    ['web images', undefined],
  ])('an API that shows %j means %j', (shown, repository) => {
    expect(shownRepository(shown)).toBe(repository);
  });

  test.each([
    ['GHCR.IO/ACME/WEB:1', 'ghcr.io/acme/web'],
    ['ACME/WEB', 'docker.io/acme/web'],
    ['GHCR.IO/acme/web', 'ghcr.io/acme/web'],
    ['a b', undefined],
  ])('an API that shows the image %j means one of %j', (image, repository) => {
    expect(shownRepositoryOf(image)).toBe(repository);
  });

  test('the control plane, which has its own idea of it, has the same', () => {
    const part = fc.constantFrom('acme', 'web', 'a.b', 'a_b', 'a-b', 'library', 'x');
    const host = fc.constantFrom(
      '',
      'ghcr.io/',
      'GHCR.io/',
      'localhost/',
      'localhost:5000/',
      'docker.io/',
      'host:1/',
    );
    const version = fc.constantFrom('', ':1', ':latest', '@sha256:0', ':1@sha256:0');
    const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(host, path, version, (registry, name, tag) => {
        expect(repositoryOf(`${registry}${name}${tag}`)).toBe(theirs(`${registry}${name}${tag}`));
        expect(normalRepository(`${registry}${name}`)).toBe(theirNormal(`${registry}${name}`));
      }),
    );
  });
});
