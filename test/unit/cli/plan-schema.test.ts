/** `schemas/plan-v1.json`: what programs may expect of `plan --output json`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { planJsonSchema, planSchemaFiles } from '../../../src/cli/output/plan-schema.ts';
import { noPlan as plan } from '../../support/no-plan.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { planDocument, renderPlanDocument } from './plan-document.ts';

const root = path.join(import.meta.dirname, '../../..');

test.each(planSchemaFiles())(
  'schemas/$file is what is generated (else: npm run schemas)',
  ({ file, text }) => {
    expect(readFileSync(path.join(root, 'schemas', file), 'utf8')).toBe(text);
  },
);

test('docs/reference/plan.md is what is generated (else: npm run docs:plan)', () => {
  expect(readFileSync(planDocument, 'utf8')).toBe(renderPlanDocument());
});

test('a later version may add fields, and may not leave any out', () => {
  const accepts = new Ajv({ strict: false }).compile(planJsonSchema(false));
  expect(accepts({ ...plan, later: 1, cost: { ...plan.cost, later: 1 } })).toBe(true);
  const { summary: _summary, ...without } = plan;
  expect(accepts(without)).toBe(false);
});

test('the tests of this version notice a field that the schema does not describe', () => {
  expect(readPlanJson(JSON.stringify(plan))).toEqual(plan);
  expect(() => readPlanJson(JSON.stringify({ ...plan, added: 1 }))).toThrow('added');
});
