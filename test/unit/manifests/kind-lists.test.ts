import { expect, test } from 'vitest';
import { listFiles, listsAsDeclared, listsAsTheyAre } from './kind-lists.ts';

test('the rights in manifests/ and the list of crds/ have every kind that is declared; else run `npm run rights`', () => {
  expect(listFiles.filter((file) => listsAsDeclared(file) !== listsAsTheyAre(file))).toEqual([]);
  expect(listFiles).toContain('manifests/cluster-wide/fleets.yaml');
});
