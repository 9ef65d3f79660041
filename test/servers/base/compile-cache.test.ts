/** In a process of its own: that of the test keeps compiled code already (test/support/compile-cache.ts), and does so in one folder only. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFile } from '../../support/temporary.ts';

const subject = path.join(import.meta.dirname, '../../../src/base/compile-cache.ts');

/** Where a process of this user keeps compiled code, empty if nowhere; `owner`: whom it takes this user for. */
function kept(caches: string, owner = process.getuid?.()): string {
  const program = `
    import { getCompileCacheDir } from 'node:module';
    import { keepCompiledCode } from ${JSON.stringify(subject)};
    keepCompiledCode({ XDG_CACHE_HOME: ${JSON.stringify(caches)} }, ${owner});
    process.stdout.write(getCompileCacheDir() ?? '');
  `;
  const { NODE_COMPILE_CACHE: _none, ...env } = process.env;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env,
  });
}

test('compiled code is kept in a folder of the user', () => {
  const caches = temporaryFile('caches');
  expect(kept(caches)).toContain(caches);
});

test.each(['of somebody else', 'in which others may write', 'to which a link leads'])(
  'compiled code is not taken from a folder %s',
  (which) => {
    const caches = temporaryFile('caches');
    const folder = path.join(caches, 'fleetkeeper');
    mkdirSync(path.join(caches, 'theirs'), { recursive: true });
    if (which === 'to which a link leads') symlinkSync('theirs', folder);
    else mkdirSync(folder);
    if (which === 'in which others may write') chmodSync(folder, 0o777);
    expect(kept(caches, which === 'of somebody else' ? 12_345 : undefined)).toBe('');
  },
);
