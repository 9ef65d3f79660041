import { expect, test } from 'vitest';
import { key, startWorld } from './support.ts';

const nobody = '00000000-0000-4000-8000-000000000000';

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

test.each([
  ['POST', '/api/services'],
  ['DELETE', `/api/volumes/${nobody}`],
  ['POST', `/api/services/${nobody}/browser-session`],
])(
  'a body of %s %s that is nested without end is refused, also where none is needed',
  async (method, path) => {
    await using world = await startWorld();
    expect(await world.refusal(method, path, nested(100_000))).toBe('400 invalid_request');
    expect(await world.refusal(method, path, nested(33))).toBe('400 invalid_request');
  },
);

test('32 levels are not too deep for a body that nobody needs', async () => {
  await using world = await startWorld();
  expect(await world.refusal('DELETE', `/api/volumes/${nobody}`, nested(32))).toBe('404 not_found');
});

test.each([
  ['a value', String.raw`{"name": "a\ud800", "image": "nginx"}`],
  ['a name', String.raw`{"name": "a", "image": "nginx", "\udfff": 1}`],
])('half a surrogate pair in %s is refused; a whole one is a character', async (_, body) => {
  await using world = await startWorld();
  expect(await world.refusal('POST', '/api/templates', body)).toBe('400 invalid_request');
  const whole = await world.ok(
    'POST',
    '/api/templates',
    String.raw`{"name": "\ud83d\ude80", "image": "nginx"}`,
  );
  expect(whole.name).toBe('🚀');
});

test.each(['ff', 'c0af', 'eda080', 'f09f92'])(
  'bytes that are no UTF-8 (%s) are refused, not replaced',
  async (hex) => {
    await using world = await startWorld();
    const body = Buffer.concat([
      Buffer.from('{"image":"nginx","name":"'),
      Buffer.from(hex, 'hex'),
      Buffer.from('"}'),
    ]);
    const response = await fetch(`${world.url}/api/templates`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key.alice}`,
        'idempotency-key': 'k',
        'content-type': 'application/json',
      },
      body,
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'malformed_json' } },
    ]);
  },
);
