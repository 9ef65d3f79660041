import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { expect, test } from 'vitest';
import { keepCompiledCode } from '../../../src/base/index.ts';
import { temporaryFile } from '../../support/temporary.ts';

test.each(['of somebody else', 'in which others may write', 'to which a link leads'])(
  'compiled code is not taken from a folder %s',
  (which) => {
    const caches = temporaryFile('caches');
    const folder = path.join(caches, 'fleetkeeper');
    mkdirSync(path.join(caches, 'theirs'), { recursive: true });
    if (which === 'to which a link leads') symlinkSync('theirs', folder);
    else mkdirSync(folder);
    if (which === 'in which others may write') chmodSync(folder, 0o777);
    const user = which === 'of somebody else' ? 12_345 : process.getuid?.();
    keepCompiledCode({ XDG_CACHE_HOME: caches }, user);
    expect(getCompileCacheDir() ?? '').not.toContain(caches);
  },
);
