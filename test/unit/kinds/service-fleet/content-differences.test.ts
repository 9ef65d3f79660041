/** What a plan shows of a rollout. */
import { expect, test } from 'vitest';
import { differenceText } from '../../../../src/engine/plan/index.ts';
import { contentDifferences } from '../../../../src/kinds/service-fleet/content-differences.ts';

const env = (name: string, value: string) => ({ name, value });
const revision = (content: object, values = 'v1') => ({ content: { image: 'a:1', ...content }, values });
const shown = (before: object, after: object, values?: string) =>
  contentDifferences(revision(before), revision(after, values)).map((each) => differenceText(each));

test('each field that changes is shown, as it was and as it is declared', () => {
  const resources = { gpuCount: 0, cpu: 1, memoryGb: 2 };
  expect(shown({ resources, httpPort: 80 }, { image: 'a:2', resources: { ...resources, cpu: 2 } })).toEqual([
    'template.image: "a:1" → "a:2"',
    'template.httpPort: 80 → (none)',
    'template.resources: {"gpuCount":0,"cpu":1,"memoryGb":2} → {"gpuCount":0,"cpu":2,"memoryGb":2}',
  ]);
});

test('no value of the environment is shown, also not of a Secret that has changed', () => {
  const before = { env: [env('KEY', 'old-secret'), env('GONE', 'x'), env('SAME', 'y')] };
  const after = { env: [env('KEY', 'new-secret'), env('NEW', 'x'), env('SAME', 'y')] };
  expect(shown(before, after)).toEqual([
    'template.env.GONE: (set) → (none)',
    'template.env.KEY: (set) → (set anew)',
    'template.env.NEW: (none) → (set)',
  ]);
  expect(shown(before, before, 'v2')).toEqual(['template.env: (values before) → (present values)']);
});

test('without a Healthy revision there is nothing to compare with', () => {
  expect(contentDifferences(undefined, revision({}))).toEqual([]);
});
