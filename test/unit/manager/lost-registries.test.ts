/**
 * Access to a repository whose creation lost its answer, where the API does not show which repository an entry is for: an account has one entry
 * for a repository, so the same request is sent once more, with its key, and its answer tells.
 */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { MemoryStore, type Resolution } from '../../../src/state/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  stateIdentity,
  stoppedAfterEach,
  type Answer,
  type Asked,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const settleMs = 5000;
const minuteMs = 60_000;
const registry = objectKey('ImageRegistry', 'default', 'ghcr');
const theirId = '00000000-0000-4000-8000-000000000900';

const document = stringify({
  apiVersion,
  kind: 'ImageRegistry',
  metadata: { name: 'ghcr' },
  spec: { repository: 'ghcr.io/acme/web', credentialsSecretRef: { name: 'robot' }, deletionPolicy: 'Delete' },
});
const secret = (password: string) =>
  stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'robot' },
    stringData: { username: 'robot', password },
  });
const files = (password = 'one') =>
  desiredOf({ ...access, 'registry.yaml': document, 'robot.yaml': secret(password) });

interface Made {
  readonly key: string | undefined;
  readonly entry: { readonly id: string; revision: number };
  password: string;
}

/** What becomes of a creation: a refusal has no effect. */
type Fate = 'answered' | 'answer lost' | 'request lost' | { readonly refused: Answer };

interface Provider {
  readonly made: Made[];
  readonly sent: Asked[];
  /** Of the creation after `count` others; default: answered. */
  fate: (count: number) => Fate;
  /** An entry of somebody else. */
  hasAnother: boolean;
}

const running = stoppedAfterEach();

const aProvider = (more: Partial<Provider> = {}): Provider => ({
  made: [],
  sent: [],
  fate: () => 'answered',
  hasAnother: false,
  ...more,
});

async function fleetBefore(provider: Provider, options: ScriptedFleetOptions = {}): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(files(), {
    settleMs,
    ...options,
    prepare: (api) => {
      api.on['GET /api/registries'] = () => {
        const others = provider.hasAnother ? [{ id: theirId, revision: 1 }] : [];
        return { status: 200, body: { registries: [...others, ...provider.made.map(({ entry }) => entry)] } };
      };
      api.on['POST /api/registries'] = (asked): Answer => {
        const fate = provider.fate(provider.sent.length);
        provider.sent.push(asked);
        if (typeof fate === 'object') return fate.refused;
        if (fate === 'request lost') return 'lost';
        const before = provider.made.find(({ key }) => key === asked.key);
        const id = `00000000-0000-4000-8000-00000000010${provider.made.length}`;
        const made = before ?? { key: asked.key, entry: { id, revision: 1 }, password: asked.body.password };
        if (!before) provider.made.push(made);
        api.on[`PUT /api/registries/${made.entry.id}`] = ({ body }) => {
          made.password = body.spec.password;
          made.entry.revision += 1;
          return { status: 200, body: made.entry };
        };
        api.on[`DELETE /api/registries/${made.entry.id}`] = () => {
          provider.made.splice(provider.made.indexOf(made), 1);
          return { status: 200, body: { id: made.entry.id, deleted: true } };
        };
        return fate === 'answer lost' ? 'lost' : { status: 201, body: made.entry };
      };
    },
  });
  running.push(fleet);
  return fleet;
}

const idOf = ({ store }: ScriptedFleet) => store.record(registry)?.externalId;
const stalled = ({ store }: ScriptedFleet) =>
  store.record(registry)?.status?.conditions.find(({ type }) => type === 'Stalled');

test('it was made: the same request is sent again with its key, and the answer names it', async () => {
  const provider = aProvider({ fate: (count) => (count === 0 ? 'answer lost' : 'answered') });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(3 * minuteMs);
  const [first, second, ...more] = provider.sent;
  expect(more).toEqual([]);
  expect([second?.key, second?.body]).toEqual([first?.key, first?.body]);
  expect(second?.atMs).toBeGreaterThanOrEqual((first?.atMs ?? 0) + minuteMs);
  expect(provider.made.map(({ entry }) => entry.id)).toEqual([idOf(fleet)]);
  expect(fleet.store.record(registry)?.creationInDoubt).toBeUndefined();
});

test('it was not made, and there is an entry of others: the same request makes it', async () => {
  const provider = aProvider({
    hasAnother: true,
    fate: (count) => (count === 0 ? 'request lost' : 'answered'),
  });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(3 * minuteMs);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
  expect(provider.made.map(({ entry }) => entry.id)).toEqual([idOf(fleet)]);
});

test('its credentials were changed meanwhile: it is sent again as it was, and then rotated', async () => {
  const provider = aProvider({ fate: (count) => (count === 0 ? 'answer lost' : 'answered') });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(10_000);
  fleet.tell(files('two'));
  await fleet.clock.advance(5 * minuteMs);
  expect(provider.sent.map(({ body }) => body.password)).toEqual(['one', 'one']);
  expect(provider.made.map(({ password }) => password)).toEqual(['two']);
});

test('when no answer ever comes, it is sent three times, and then a person is asked', async () => {
  const provider = aProvider({ fate: () => 'answer lost' });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(30 * minuteMs);
  expect(provider.sent).toHaveLength(3);
  expect(provider.made).toHaveLength(1);
  expect(stalled(fleet)).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
  expect(stalled(fleet)?.message).toContain('fleetkeeper resolve ImageRegistry/ghcr --applied --id ID');
});

test('a repetition that is refused says nothing of the first one: a person is asked, and no other key is used', async () => {
  const refused = { status: 409, body: { error: { code: 'idempotency_key_reused', message: 'used' } } };
  const provider = aProvider({ fate: (count) => (count === 0 ? 'answer lost' : { refused }) });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(30 * minuteMs);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
  expect(stalled(fleet)).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
  expect(stalled(fleet)?.message).toContain('fleetkeeper resolve ImageRegistry/ghcr --applied --id ID');
});

test('an entry of others that is answered is not taken, and it is not sent for ever', async () => {
  const provider = aProvider({
    hasAnother: true,
    fate: (count) =>
      count === 0 ? 'request lost' : { refused: { status: 201, body: { id: theirId, revision: 1 } } },
  });
  const fleet = await fleetBefore(provider);
  await fleet.clock.advance(60 * minuteMs);
  expect(idOf(fleet)).toBeUndefined();
  expect(provider.sent.length).toBeLessThanOrEqual(3);
  expect(stalled(fleet)?.message).toContain(theirId);
});

test('the next process sends it again, too', async () => {
  const provider = aProvider({ fate: () => 'answer lost' });
  const first = await fleetBefore(provider);
  await first.clock.advance(10_000);
  await first.manager.stop();
  provider.fate = () => 'answered';
  const fleet = await fleetBefore(provider, { store: first.store });
  await fleet.clock.advance(5 * minuteMs);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
  expect(provider.made.map(({ entry }) => entry.id)).toEqual([idOf(fleet)]);
  expect(readyReason(fleet, registry)).not.toBe('OutcomeUnknown');
});

test('the next process does not take an entry of others that is answered', async () => {
  const provider = aProvider({ hasAnother: true, fate: () => 'request lost' });
  const first = await fleetBefore(provider);
  await first.clock.advance(10_000);
  await first.manager.stop();
  provider.fate = () => ({ refused: { status: 201, body: { id: theirId, revision: 1 } } });
  const fleet = await fleetBefore(provider, { store: first.store });
  await fleet.clock.advance(60 * minuteMs);
  expect(idOf(fleet)).toBeUndefined();
});

class ResolvedStore extends MemoryStore {
  word: Resolution | undefined;

  override resolution(): Resolution | undefined {
    return this.word;
  }
}

/** It was made, its repetition was refused, and a person says which entry it is. */
async function resolvedFleet(isLeaving: boolean): Promise<[ScriptedFleet, Provider]> {
  const refused = { status: 503 };
  const provider = aProvider({ fate: (count) => (count === 0 ? 'answer lost' : { refused }) });
  const store = new ResolvedStore(stateIdentity, [], []);
  const fleet = await fleetBefore(provider, { store });
  await fleet.clock.advance(3 * minuteMs);
  expect(fleet.store.record(registry)?.creationInDoubt).toBeDefined();
  if (isLeaving) fleet.tell(desiredOf({ ...access, 'robot.yaml': secret('one') }));
  await fleet.clock.advance(15 * minuteMs);
  const [{ key = '', entry } = { entry: { id: '' } }] = provider.made;
  store.word = { idempotencyKey: key, applied: true, id: entry.id };
  await fleet.clock.advance(2 * minuteMs);
  return [fleet, provider];
}

test('what a person says that it made is taken, and not made again', async () => {
  const [fleet, provider] = await resolvedFleet(false);
  expect(provider.made.map(({ entry }) => entry.id)).toEqual([idOf(fleet)]);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
});

test('what a person says that it made goes with its document, and the object after it', async () => {
  const [fleet, provider] = await resolvedFleet(true);
  expect(provider.made).toEqual([]);
  expect(fleet.store.record(registry)).toBeUndefined();
});
