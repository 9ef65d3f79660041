/** A provider that answers with texts of any length. */
import { expect, test } from 'vitest';
import { Descriptions } from '../../../src/api/descriptions.ts';
import * as readers from '../../../src/api/readers.ts';

const long = 'x'.repeat(8_000_000);
const id = '00000000-0000-4000-8000-000000000001';
const nothing = { descriptions: new Descriptions([]), note: () => undefined, spelled: () => undefined };

test('what informs is cut', () => {
  const shown = {
    id,
    state: 'running',
    name: long,
    region: long,
    geography: { name: long },
    endpoint: long,
    error: long,
  };
  const service = readers.service.read({ service: shown }, nothing) as unknown as {
    readonly service: object;
  };
  const read = JSON.stringify(service);
  expect(read).toContain('running');
  expect(read.length).toBeLessThan(100_000);
});

test.each(['state', 'image'])('a %s that is too long to be one can not be read', (field) => {
  const read = readers.service.read({ service: { id, state: 'running', [field]: long } }, nothing);
  expect(JSON.stringify(read)).toContain('"decides":true');
  expect(JSON.stringify(read).length).toBeLessThan(100_000);
});
