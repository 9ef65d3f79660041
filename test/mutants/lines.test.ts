/** Of rules.ts: what is to be broken is there. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { brokenRules } from './rules.ts';

const source = (file: string) => readFileSync(path.join(import.meta.dirname, '../../src', file), 'utf8');

test.each(brokenRules)(
  '$item: the line stands in $file once, and is written anew in test/mutants/rules.ts when it changes',
  ({ file, line }) => {
    expect(source(file).split(line)).toHaveLength(2);
  },
);
