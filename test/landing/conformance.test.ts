import { expect, test } from 'vitest';
import { everyAccount, Plane, Run } from '../support/processes/conformance.ts';
import { eventually } from '../support/processes/processes.ts';

/** So that nothing is waited for long, and a 429 can be seen. */
const fast = ['--time-scale', '100', '--rate-limit', '150/s'];

// COVERAGE 111
test('the reference control plane conforms: every fact passes and none is skipped', async () => {
  const plane = await Plane.start(...fast);
  const options = [
    await everyAccount(plane, 'nginx'),
    ['--geography', 'europe', '--command', '["sleep","infinity"]'],
    ['--broken-image', 'registry.invalid/app:1', '--exec-body', '{"command":["true"]}'],
    ['--fill-limits', '--idle-sleep', '--rate-limit-burst', '500'],
  ];
  const run = new Run(plane, ...options.flat());
  expect([await run.code(), run.output]).toEqual([
    0,
    expect.stringMatching(/^all +\d{3} passed, 0 failed, 0 skipped$/m),
  ]);
  expect(await plane.countOf('key-of-tester')).toBe(0);
});

test('what is violated is told, what can not be asked for says what it needs, and nothing stays there', async () => {
  const plane = await Plane.start(...fast);
  // Nobody with this key may create a volume.
  const run = new Run(plane, '--api-key', 'key-of-broke', '--only', '§4 POST /api/');
  expect(await run.code()).toBe(1);
  expect(run.output).toMatch(
    /✗ §4 POST \/api\/volumes: is answered 201 with the bare volume\n.*201 was expected, not 409/,
  );
  expect(run.output).toMatch(/– §4 POST \/api\/registries: .* \(skipped: needs --registry-spec\)/);
  expect(run.output).toContain('the contract is violated');
  expect(await plane.countOf('key-of-broke')).toBe(0);
});

test('a run that is interrupted removes what it has made', async () => {
  const plane = await Plane.start(...fast);
  const run = new Run(plane, '--only', '§2 Service create spec');
  await eventually('something is made', async () => (await plane.countOf('key-of-tester')) > 0);
  run.interrupt();
  expect([await run.code(), run.output]).toEqual([1, expect.stringContaining('stopped before the end')]);
  expect(await plane.countOf('key-of-tester')).toBe(0);
});
