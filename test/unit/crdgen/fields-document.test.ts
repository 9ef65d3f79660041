import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fieldsDocument, renderFieldsDocument } from './fields-document.ts';

test('the fields of all kinds are documented as their schemas have them (if not: npm run docs:fields)', () => {
  expect(readFileSync(fieldsDocument, 'utf8')).toBe(renderFieldsDocument());
});
