/** `-o jsonpath=TEMPLATE`, as kubectl has it. */
import { expect, test } from 'vitest';
import { UserError } from '../../../../src/base/index.ts';
import { parseTemplate } from '../../../../src/cli/status/json-path.ts';

const list = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'web', labels: { 'app.kubernetes.io/name': 'shop', 'team-a': 'x' } },
      status: {
        id: 'id-1',
        sizes: [1, 2, 3],
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Synced', status: 'False' },
        ],
      },
    },
    { metadata: { name: 'api' }, status: { id: 'id-2', conditions: [] } },
  ],
};

test.each([
  ['{.items[*].status.id}', 'id-1 id-2'],
  ['{$.items[*].status.id}', 'id-1 id-2'],
  ['{ .items[0].metadata.name }', 'web'],
  ['{.items[-1:].metadata.name}', 'api'],
  ['{.items[0].status.sizes[0:2]}', '1 2'],
  ["{.items[0].metadata['name','labels']}", 'web {"app.kubernetes.io/name":"shop","team-a":"x"}'],
  [String.raw`{.items[0].metadata.labels.app\.kubernetes\.io/name}`, 'shop'],
  ['{.items[0].metadata.labels.team-a}', 'x'],
  ["{.items[0].metadata.labels['app.kubernetes.io/name']}", 'shop'],
  ['{.items[0].status.conditions[?(@.type=="Ready")].status}', 'True'],
  ['{.items[0].status.conditions[?(@.type!="Ready")].type}', 'Synced'],
  ['{..id}', 'id-1 id-2'],
  ['{.items[*].metadata.*}', 'web {"app.kubernetes.io/name":"shop","team-a":"x"} api'],
  ['{.items[0].status.missing}', ''],
  ['name: {.items[0].metadata.name}!', 'name: web!'],
  [String.raw`{range .items[*]}{.metadata.name}{"\t"}{@.status.id}{"\n"}{end}`, 'web\tid-1\napi\tid-2\n'],
  [
    '{range .items[*]}{.metadata.name}:{range .status.conditions[*]} {.type}{end};{end}',
    'web: Ready Synced;api:;',
  ],
  ["{range .items[*]}{$.kind}{' }'}{end}", 'List }List }'],
])('%s prints %j', (template, expected) => {
  expect(parseTemplate(template).render(list)).toBe(expected);
});

test.each([
  ['.items', 1, 'no expression in braces'],
  ['a{.items[*}', 11, 'unclosed bracketed selection'],
  ['{.items[?(@.a==)].x}', 16, "unexpected ')'"],
  ['{.items', 1, 'not closed'],
  ['{.items}}', 9, 'closes nothing'],
  ['{}', 1, 'empty'],
  ['{items}', 2, 'expected a path that begins with a dot'],
  ['{range .items[*]}{.a}', 2, 'has no {end}'],
  ['{.a}{end}', 6, 'no range'],
  [String.raw`{"\q"}`, 2, 'unknown escape'],
])('in %s the mistake is at character %i: %s', (template, at, message) => {
  const error = caught(() => parseTemplate(template));
  expect(error.message).toContain(message);
  const [first = '', text = '', mark = ''] = error.message.split('\n');
  expect(first).toContain(`at character ${at}:`);
  expect(text).toBe(`  ${template}`);
  expect(mark.indexOf('^')).toBe(at + 1);
});

function caught(work: () => unknown): UserError {
  try {
    work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}
