import { expect, test } from 'vitest';
import { observedTemplate, templateHealth } from '../../../../src/kinds/service-template/status.ts';
import { aTemplate } from '../../../support/shared-kinds.ts';

const present = <Value>(value: Value) => ({ kind: 'present' as const, value });
const absent = { kind: 'absent', confirmed: true } as const;

test('a template is available when it is there, and tells who uses it and what they lack', () => {
  expect(templateHealth(present(aTemplate()))).toMatchObject({ ready: 'True', reason: 'Available' });
  expect(templateHealth(absent)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  const users = [
    { name: 'web', missing: ['TOKEN'] },
    { name: 'api', missing: [] },
  ];
  expect(observedTemplate(present(aTemplate()), users)).toEqual({
    services: ['web', 'api'],
    missingEnvironment: [{ service: 'web', variables: ['TOKEN'] }],
  });
  expect(observedTemplate(absent, users)).toEqual({});
});
