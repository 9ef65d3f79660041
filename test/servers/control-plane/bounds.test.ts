/** One tenant sends what no client needs: too much, or too little. */
import { expect, test } from 'vitest';
import { bounds } from '../../../src/control-plane/domain/requests.ts';
import { startWorld, trainer } from './support.ts';

const many = (count: number, of: (index: number) => [string, string]) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => of(index)));

const tooMuch: [string, object][] = [
  ['a name', { name: 'x'.repeat(257) }],
  ['an image', { image: 'x'.repeat(1025) }],
  ['a region', { region: 'x'.repeat(65) }],
  ['a geography', { geography: 'x'.repeat(65) }],
  ['a mode', { volumeGb: 10, volumeMode: 'x'.repeat(65) }],
  ['a word of a command', { command: ['x'.repeat(64 * 1024 + 1)] }],
  ['all words of a command', { command: Array.from({ length: 1000 }, () => 'x'.repeat(66)) }],
  ['a command in bytes', { command: ['é'.repeat(32 * 1024 + 1)] }],
  ['the number of words', { command: Array.from({ length: 1025 }, () => '') }],
  ['the name of a variable', { environment: { ['X'.repeat(257)]: '' } }],
  ['a value', { environment: { A: 'x'.repeat(128 * 1024) } }],
  ['all variables', { environment: many(500, (index) => [`N${index}`, 'x'.repeat(300)]) }],
  ['the number of variables', { environment: many(1025, (index) => [`N${index}`, '']) }],
];

test.each(tooMuch)('too much in %s is refused, and nothing of it is kept', async (_, fields) => {
  await using world = await startWorld();
  expect(await world.refusal('POST', '/api/services', { ...trainer, ...fields })).toBe('400 invalid_request');
  expect((await world.ok('GET', '/api/account')).services).toEqual([]);
});

test('a patch and a template have the same maxima', async () => {
  await using world = await startWorld();
  const { id, revision } = await world.ok('POST', '/api/services', trainer);
  const command = ['x'.repeat(bounds.commandBytes + 1)];
  expect(await world.refusal('PATCH', `/api/services/${id}`, { revision, patch: { command } })).toBe(
    '400 invalid_request',
  );
  expect(await world.refusal('POST', '/api/templates', { name: 'a', image: 'b', command })).toBe(
    '400 invalid_request',
  );
});

test('what is just small enough is accepted', async () => {
  await using world = await startWorld();
  const service = await world.ok('POST', '/api/services', {
    ...trainer,
    name: 'x'.repeat(bounds.serviceNameLength),
    command: ['x'.repeat(bounds.commandBytes)],
    environment: { A: 'x'.repeat(bounds.environmentBytes - 1) },
    resources: { gpuCount: 0, cpu: bounds.leastCpu, memoryGb: bounds.leastMemoryGb },
  });
  expect(service).toMatchObject({ state: 'provisioning', environmentNames: ['A'] });
});

// An engine takes 0 for "unlimited", and rounds to it.
test.each([{ cpu: 4e-10 }, { cpu: 0.009 }, { memoryGb: 4e-10 }, { memoryGb: 0.005 }])(
  'resources that an engine could round to "unlimited" are refused everywhere: %j',
  async (least) => {
    await using world = await startWorld();
    const resources = { gpuCount: 0, cpu: 1, memoryGb: 1, ...least };
    const { id } = await world.ok('POST', '/api/services', trainer);
    const refusals = [
      await world.refusal('POST', '/api/services', { ...trainer, resources }),
      await world.refusal('POST', `/api/services/${id}/actions`, { action: 'resize', resources }),
      await world.refusal('POST', '/api/templates', { name: 'a', image: 'b', resources }),
    ];
    expect(refusals).toEqual(['400 invalid_request', '400 invalid_request', '400 invalid_request']);
  },
);

test('a refusal is short, however much is wrong', async () => {
  await using world = await startWorld();
  const members = many(2_000, (index) => [`${index}${'x'.repeat(100)}`, '']);
  const wrong = [
    { ...trainer, ...members },
    { ...trainer, command: Array.from({ length: 4_000 }, () => 1) },
    { ...trainer, ['x'.repeat(200_000)]: 1 },
  ];
  for (const body of wrong) {
    const answer = await world.call('POST', '/api/services', body);
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(4_000);
  }
});

test('a body of more values than any request needs is refused before anything looks at them', async () => {
  await using world = await startWorld();
  const body = { ...trainer, command: Array.from({ length: 60_000 }, () => 'x') };
  const answer = await world.call('POST', '/api/services', body);
  expect(answer.body.error).toMatchObject({ code: 'invalid_request', message: /more than \d+ values/ });
});
