import { expect, test } from 'vitest';
import { isSameImage } from '../../../../src/engine/plan/index.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  ['nginx', 'nginx'],
  ['nginx', 'nginx:latest'],
  ['nginx', 'docker.io/library/nginx:latest'],
  ['nginx:1', 'docker.io/library/nginx:1'],
  ['acme/app:1', 'index.docker.io/acme/app:1'],
  ['ghcr.io/acme/app:1', `ghcr.io/acme/app:1@${digest}`],
  [`ghcr.io/acme/app@${digest}`, `ghcr.io/acme/app:1@${digest}`],
  ['localhost:5000/app', 'localhost:5000/app:latest'],
  ['ghcr.io/acme/app:1', 'GHCR.IO/ACME/APP:1'],
  ['odd image!', 'odd image!'],
])('%s is shown as %s', (desired, observed) => {
  expect(isSameImage(desired, observed)).toBe(true);
});

test.each([
  ['nginx:1', 'nginx:2'],
  ['nginx:1', 'nginx'],
  ['nginx', 'acme/nginx'],
  ['nginx:1', `nginx@${digest}`],
  [`nginx@${digest}`, 'nginx:latest'],
  [`nginx:1@${digest}`, `nginx:1@sha256:${'b'.repeat(64)}`],
  ['ghcr.io/acme/app:1', 'acme/app:1'],
  ['ghcr.io/acme/app:rc', 'GHCR.IO/ACME/APP:RC'],
  ['odd image!', 'odd image'],
])('%s is not %s', (desired, observed) => {
  expect(isSameImage(desired, observed)).toBe(false);
});
