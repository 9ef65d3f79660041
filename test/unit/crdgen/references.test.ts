import { expect, test } from 'vitest';
import type { StructuralSchema } from '../../../src/crdgen/index.ts';
import { managedKinds } from '../../../src/resources/index.ts';
import { documentOf, folderVerdict, openApiSchema } from './support.ts';

function fieldsOf(schema: StructuralSchema, at: string): string[] {
  const members = Object.entries(schema.properties ?? {});
  const entries = [schema.items, schema.additionalProperties].filter((entry) => entry !== undefined);
  return [
    ...members.map(([name]) => `${at}.${name}`),
    ...members.flatMap(([name, member]) => fieldsOf(member, `${at}.${name}`)),
    ...entries.flatMap((entry) => fieldsOf(entry, `${at}[]`)),
  ];
}

const fields = managedKinds.flatMap((kind) => fieldsOf(openApiSchema(kind).properties?.['spec'] ?? {}, kind));

test('no field of any spec can name a namespace: what is referred to is in its own', () => {
  expect(fields.filter((field) => /Ref(\[\])?\.name$/.test(field)).length).toBeGreaterThan(5);
  // Of a Budget it is `true`, for that of the budget itself.
  // In a cluster, only a Notification in the namespace of the operator may name others (AI5).
  expect(fields.filter((field) => /namespace/i.test(field))).toEqual([
    'Budget.namespace',
    'Notification.match.namespaces',
  ]);
  expect(folderVerdict('Budget', documentOf('Budget', { namespace: 'other' })).refusals).not.toEqual([]);
});

test.each([
  ['Account', { credentialsSecretRef: { name: 'a', key: 'b', namespace: 'other' } }],
  ['Account', { credentialsSecretRef: { name: 'other/a', key: 'b' } }],
  ['ContainerService', { accountRef: { name: 'other/default' } }],
  ['ContainerService', { accountRef: { name: 'default', namespace: 'other' } }],
  [
    'ContainerService',
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: '../other/a', key: 'b' } } }] },
  ],
  ['ImageRegistry', { credentialsSecretRef: { name: 'a', namespace: 'other' } }],
  ['ProtectedTask', { serviceRef: { name: 'other/web' } }],
] as const)('a %s with %j is refused', (kind, spec) => {
  expect(folderVerdict(kind, documentOf(kind, spec)).refusals).not.toEqual([]);
});
