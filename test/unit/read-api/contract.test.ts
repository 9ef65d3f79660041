/** The answers against the OpenAPI document that is served, read by a validator that knows nothing of its schemas in the code. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ObjectKey } from '../../../src/resources/index.ts';
import {
  ask,
  condition,
  createWorld,
  FakeSource,
  held,
  intentOf,
  readAccount,
  recordOf,
  waiting,
  type Json,
  type World,
} from './support.ts';

const hostile = `"><script>alert(1)</script> javascript:alert(1) \u202e\u0000`;
const fleet: ObjectKey = 'ServiceFleet/default/llm';
const web: ObjectKey = 'ContainerService/default/web';

/** Each kind of thing, each health, what others have written, and amounts without measure. */
function richSource(): FakeSource {
  const stalled = held('UnknownRegion', { message: hostile });
  const roster = [0, 1].map((slot) => ({
    slot,
    phase: slot === 0 ? 'wanted' : 'draining',
    since: 0,
    revision: 1,
    cause: 'scale',
    by: 'schedule nights',
    place: { account: 'default', region: hostile },
  }));
  const source = new FakeSource(
    [
      recordOf('Account/default/default'),
      recordOf('Account/never/default', { conditions: [] }),
      recordOf(fleet, {
        conditions: waiting('RolloutPaused'),
        kind: { roster },
        status: {
          desiredReplicas: 2,
          rollout: { phase: 'Paused', revision: 'r2', message: hostile },
          revisions: [{ name: 'r1', outcome: 'Healthy', at: '2026-11-27T10:00:00Z', image: hostile }],
        },
      }),
      recordOf('ContainerService/default/llm-0', { derived: { owner: fleet }, externalId: 'id-0' }),
      recordOf(web, {
        conditions: stalled,
        labels: { team: hostile },
        annotations: { 'fleetkeeper.dev/paused': hostile, other: hostile },
        spec: { region: hostile, image: hostile },
        status: {
          state: hostile,
          endpoint: 'javascript:alert(1)',
          hourlyMicros: Number.MAX_SAFE_INTEGER,
          drift: [
            {
              path: hostile,
              kind: 'Changed',
              desired: hostile,
              observed: null,
              since: '2026-11-27T10:00:00Z',
              cause: hostile,
            },
          ],
        },
      }),
      recordOf('ContainerService/lab/paused', { conditions: held('Paused') }),
      recordOf('ContainerService/lab/gone', { deletionRequestedAt: 1_700_000_000_000 }),
      recordOf('ContainerService/never/unread', { conditions: [condition('Ready', 'Unknown', 'Unknown')] }),
      recordOf('StorageVolume/default/data', { status: { status: 'ready' } }),
      recordOf('ProtectedTask/default/train', {
        spec: { serviceRef: { name: 'web' } },
        status: { activityId: hostile, state: 'held' },
      }),
      recordOf('Budget/default/team', {
        spec: { limits: { hourlyMicros: 1, monthlyMicros: Number.MAX_SAFE_INTEGER }, mode: 'Shed' },
        status: { hourlyMicros: 50, month: '2026-11', spentMicros: Number.MAX_SAFE_INTEGER },
      }),
    ],
    [
      readAccount('default/default', { balanceMicros: Number.MAX_SAFE_INTEGER }),
      readAccount('lab/default', {
        failure: { reason: 'Unauthorized', message: hostile },
        requests: undefined,
      }),
      readAccount('never/default', { readAt: undefined, ageMs: undefined, quotas: [] }),
    ],
  );
  source.unusable = [
    { key: undefined, file: hostile, line: 3, path: hostile, message: hostile, remedy: hostile },
  ];
  const why = {
    reason: 'SpecChanged',
    fields: ['image'],
    askedBy: { by: 'Rollout', name: hostile, revision: 3 },
  } as const;
  const outcomes = ['pending', 'applied', 'refused', 'unknown', 'not-applied', 'outdated'] as const;
  for (const [index, outcome] of outcomes.entries()) {
    const finishedAt = outcome === 'pending' ? undefined : Date.now();
    const more = { idempotencyKey: `key-${index}`, outcome, finishedAt, note: hostile };
    source.intents.push({ number: index, intent: intentOf(web, index % 2 === 0 ? { ...more, why } : more) });
  }
  return source;
}

const targets: Readonly<Record<string, readonly string[]>> = {
  '/api/v1/summary': [''],
  '/api/v1/objects': ['', '?limit=3&sort=cost', '?health=Suspended', '?q=script'],
  '/api/v1/objects/{kind}/{namespace}/{name}': [
    web,
    fleet,
    'Budget/default/team',
    'ProtectedTask/default/train',
    'ContainerService/lab/gone',
    'Account/never/default',
  ],
  '/api/v1/tree': ['?depth=6', '?account=default/default', '?fleet=default/llm'],
  '/api/v1/timeline': ['', '?limit=2', `?object=${web}`],
  '/api/v1/money': ['', '?by=account', '?by=label%3Dteam'],
  '/api/v1/fleets/{namespace}/{name}': ['default/llm'],
  '/api/v1/fleets/{namespace}/{name}/endpoints': ['default/llm'],
  '/api/v1/fleets/{namespace}/{name}/revisions': ['default/llm'],
  '/api/v1/problems': ['', '?limit=1'],
};

/** `{kind}/{namespace}/{name}` of a path is given by one of `targets`, which may begin with `?`. */
function addressOf(path: string, target: string): string {
  return target.startsWith('?') || target === '' ? `${path}${target}` : path.replace(/\{.*\}/, target);
}

let world: World;
let document: Json;
let ajv: Ajv2020;

const validatorOf = (path: string, status: number, media: string) => {
  const pointer = [path, 'get', 'responses', status, 'content', media, 'schema']
    .map((part) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  return ajv.compile({ $ref: `api#/paths/${pointer}` });
};

beforeAll(async () => {
  world = createWorld(richSource());
  ({ body: document } = await ask(world, '/api/v1/openapi.json'));
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: 'api', ...document });
});

test('each documented path is asked here, and is there', () => {
  expect(Object.keys(document.paths).toSorted()).toEqual(
    [...Object.keys(targets), '/api/v1/stream'].toSorted(),
  );
});

describe.each(Object.entries(targets))('%s', (path, ways) => {
  test('answers as the document has it', async () => {
    const validate = validatorOf(path, 200, 'application/json');
    for (const way of ways) {
      const { status, body } = await ask(world, addressOf(path, way));
      expect([way, status]).toEqual([way, 200]);
      expect([way, validate(body), validate.errors]).toEqual([way, true, null]);
    }
  });

  test('is documented with what it answers: without a required field, the same answer is refused', async () => {
    const validate = validatorOf(path, 200, 'application/json');
    const { body } = await ask(world, addressOf(path, ways[0] ?? ''));
    const [field = ''] = Object.keys(body);
    expect(validate({ ...body, [field]: undefined })).toBe(false);
  });

  test('refuses a parameter that is not documented, in the documented form', async () => {
    const address = addressOf(path, ways[0] ?? '');
    const { status, body } = await ask(world, `${address}${address.includes('?') ? '&' : '?'}nonsense=1`);
    const validate = validatorOf(path, 400, 'application/json');
    expect([status, body.error.code, validate(body)]).toEqual([400, 'unknown_parameter', true]);
  });

  test('refuses a foreign Host', async () => {
    const headers = { host: 'rebound.example' };
    const { status, body } = await ask(world, addressOf(path, ways[0] ?? ''), { headers });
    expect([status, Object.keys(body)]).toEqual([421, ['error']]);
  });
});

test('all that is asked has no defect, and changes nothing', async () => {
  const digest = () => JSON.stringify([...world.source.store.records(), ...world.source.intents]);
  const before = digest();
  for (const [path, ways] of Object.entries(targets))
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
      for (const way of ways) await ask(world, addressOf(path, way), { method, body: '{}' });
  expect(digest()).toBe(before);
  expect(world.counts.defects).toEqual([]);
});
