import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryFile } from '../../support/temporary.ts';
import { startWorld, trainer } from './support.ts';

/** How often `secret` is in the files of a database, used or not. */
function occurrences(file: string, secret: string): number {
  const text = [file, `${file}-wal`].map((path) => readFileSync(path, 'latin1')).join('');
  return text.split(secret).length - 1;
}

test('replaced credentials and environment values are gone from the files within a minute', async () => {
  const file = temporaryFile('a.db');
  await using world = await startWorld({ database: file });
  const registry = {
    repository: 'ghcr.io/acme/trainer',
    username: 'canary-user',
    password: 'canary-password',
  };
  const { id: registryId } = await world.ok('POST', '/api/registries', registry);
  const { id } = await world.ok('POST', '/api/services', {
    ...trainer,
    environment: { TOKEN: 'canary-value' },
  });
  for (const secret of ['canary-user', 'canary-password', 'canary-value']) {
    expect(occurrences(file, secret)).toBeGreaterThan(0);
  }
  const spec = { ...registry, username: 'u', password: 'p' };
  await world.ok('PUT', `/api/registries/${registryId}`, { revision: 1, spec });
  await world.ok('PATCH', `/api/services/${id}`, { revision: 1, patch: { environment: { TOKEN: 'new' } } });
  await world.clock.advance(60_000);
  for (const secret of ['canary-user', 'canary-password', 'canary-value']) {
    expect({ secret, occurrences: occurrences(file, secret) }).toEqual({ secret, occurrences: 0 });
  }
});

test('so are those of many services, whose rows moved from page to page', async () => {
  const file = temporaryFile('a.db');
  await using world = await startWorld({ database: file });
  const ids: string[] = [];
  for (let n = 0; n < 150; n += 1) {
    const environment = { TOKEN: `canary-${n}-`.padEnd(20 + ((n * 137) % 1500), 'x') };
    ids.push((await world.ok('POST', '/api/services', { ...trainer, environment })).id);
  }
  // In another order than that of their creation.
  for (const id of ids.toSorted((left, right) => (left.slice(-4) < right.slice(-4) ? -1 : 1))) {
    await world.ok('POST', `/api/services/${id}/actions`, { action: 'delete' });
  }
  await world.clock.advance(60_000);
  expect((await world.ok('GET', '/api/account')).services).toEqual([]);
  expect(occurrences(file, 'canary-')).toBe(0);
});
