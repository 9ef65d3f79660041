import { expect, test } from 'vitest';
import { reasonNames } from '../../../src/reasons/index.ts';
import { run } from './support.ts';

test('a reason is explained: what it is, whose turn it is, what to do, and where there is more', async () => {
  const { code, stdout } = await run(['explain', 'OutcomeUnknown']);
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'OutcomeUnknown',
    '  kind     waiting, an Event',
    '  severity critical',
    '  turn     fleetkeeper',
  ]);
  expect(stdout).toMatch(/remedy +Wait\..*`fleetkeeper resolve`/);
  expect(stdout).toContain('docs/concepts/unknown-outcomes.md#operator-confirmation');
});

test('programs get the same as JSON', async () => {
  const { stdout } = await run(['explain', 'AccountNotFound', '--output', 'json']);
  expect(JSON.parse(stdout)).toEqual({
    reason: 'AccountNotFound',
    kinds: ['held'],
    severity: 'critical',
    whose: 'user',
    meaning: 'There is no Account of the name in `accountRef`.',
    remedy: 'Add the Account, or correct the name.',
    docs: 'docs/reference/reasons.md',
  });
});

test('without a name all reasons are listed', async () => {
  const { code, stdout } = await run(['explain']);
  expect([
    code,
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ]).toEqual([0, reasonNames]);
  const all = JSON.parse((await run(['explain', '--output', 'json'])).stdout) as {
    reasons: { reason: string }[];
  };
  expect(all.reasons.map(({ reason }) => reason)).toEqual(reasonNames);
});

test('an unknown name is an error that names the nearest one', async () => {
  expect(await run(['explain', 'OutcomeUnkown'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/there is no reason OutcomeUnkown\n.*did you mean OutcomeUnknown\?/),
  });
  const { code, stderr } = await run(['explain', 'zzzzzzzzzzzz']);
  expect([code, stderr.includes('did you mean')]).toEqual([1, false]);
});
