/** A rotation whose answer is lost: a revision that has moved does not say whose rotation moved it. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  stoppedAfterEach,
  type Answer,
  type Asked,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const settleMs = 5000;
const registryId = '00000000-0000-4000-8000-00000000000a';
const ghcr: ObjectKey = 'ImageRegistry/default/ghcr';
const files = (password: string) =>
  desiredOf({
    ...access,
    'pull.yaml': stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'pull' },
      stringData: { username: 'robot', password },
    }),
    'ghcr.yaml': stringify({
      apiVersion,
      kind: 'ImageRegistry',
      metadata: { name: 'ghcr' },
      spec: {
        repository: 'ghcr.io/acme/web',
        credentialsSecretRef: { name: 'pull', usernameKey: 'username', passwordKey: 'password' },
      },
    }),
  });

interface Provider {
  readonly rotations: Asked[];
  readonly password: () => string;
  answers: (count: number) => 'answers' | 'loses the answer' | 'loses the request';
  /** Somebody else rotates. */
  readonly rotate: (password: string) => void;
}

const running = stoppedAfterEach();

async function fleetOf(): Promise<[ScriptedFleet, Provider]> {
  const rotations: Asked[] = [];
  const shown = { id: registryId, repository: 'ghcr.io/acme/web', revision: 0, linkedServices: [] };
  let password = '';
  const rotate = (next: string) => {
    password = next;
    shown.revision += 1;
  };
  const provider: Provider = { rotations, password: () => password, answers: () => 'answers', rotate };
  const fleet = await scriptedFleet(files('one'), {
    settleMs,
    prepare: (api) => {
      api.on['GET /api/registries'] = () => ({
        status: 200,
        body: { registries: shown.revision > 0 ? [shown] : [] },
      });
      api.on['POST /api/registries'] = ({ body }) => {
        rotate(body.password);
        return { status: 201, body: shown };
      };
      api.on[`PUT /api/registries/${registryId}`] = (asked): Answer => {
        const habit = provider.answers(rotations.length);
        rotations.push(asked);
        if (habit === 'loses the request') return 'lost';
        if (asked.body.revision !== shown.revision) return { status: 409 };
        rotate(asked.body.spec.password);
        return habit === 'loses the answer' ? 'lost' : { status: 200, body: shown };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, ghcr)).toBe('Available');
  return [fleet, provider];
}

test('it was lost, and somebody else has rotated: ours is sent again, with the revision that is there now', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => (count === 0 ? 'loses the request' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(1000);
  provider.rotate('of somebody else');
  await fleet.clock.advance(90_000);
  expect(provider.password()).toBe('two');
  const [first, second, ...more] = provider.rotations;
  expect(more).toEqual([]);
  expect(second?.body).toEqual({ ...first?.body, revision: 2 });
  expect(second?.key).not.toBe(first?.key);
  expect(readyReason(fleet, ghcr)).toBe('Available');
});

test('it was made, and its answer was lost: it is sent once more, which leads to the same', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(90_000);
  expect(provider.rotations.map(({ body }) => body.revision)).toEqual([1, 2]);
  expect(provider.password()).toBe('two');
  expect(readyReason(fleet, ghcr)).toBe('Available');
});

test('it was lost, and nobody has rotated: it is sent again with its key and its bytes', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => (count === 0 ? 'loses the request' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(90_000);
  const [first, second, ...more] = provider.rotations;
  expect(more).toEqual([]);
  expect([second?.key, second?.body]).toEqual([first?.key, first?.body]);
});

test('its answer was lost, and the Secret is as before by then: that is sent', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(1000);
  fleet.tell(files('one'));
  await fleet.clock.advance(90_000);
  expect(provider.password()).toBe('one');
  expect(readyReason(fleet, ghcr)).toBe('Available');
});

test('when no answer ever comes, it is sent three times, and then a person is asked', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = () => 'loses the answer';
  fleet.tell(files('two'));
  await fleet.clock.advance(600_000);
  expect(provider.rotations).toHaveLength(3);
  const stalled = fleet.store.record(ghcr)?.status?.conditions.find(({ type }) => type === 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
  expect(stalled?.message).toContain('fleetkeeper resolve ImageRegistry/ghcr --applied');
});
