/** Creations of states that share their digest key: an API that answers a key that it knows with what it answered first makes nothing twice. */
import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  shownService,
  stateIdentity,
  stoppedAfterEach,
  web,
  type Answer,
  type Asked,
  type ScriptedApi,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const reused: Answer = {
  status: 409,
  body: { error: { code: 'idempotency_key_reused', message: 'this key was used before' } },
};

/** Keeps its answer to each key for good, whatever becomes of the thing. */
class Provider {
  readonly sent: Asked[] = [];
  readonly #kept = new Map<string, Answer>();
  /** In place of any other answer; a refusal is kept, too. */
  refuses: (count: number) => Answer | undefined = () => undefined;
  /** To a key that has been seen before. */
  repeats: 'the first answer' | 'a refusal' = 'the first answer';
  /** Nothing happens before so many requests have come. */
  together = 1;
  #release: (() => void)[] = [];
  readonly #api: ScriptedApi;

  constructor(api: ScriptedApi) {
    this.#api = api;
    api.on['POST /api/services'] = (asked) => this.#create(asked);
  }

  get keys(): (string | undefined)[] {
    return this.sent.map(({ key }) => key);
  }

  remove(id: unknown): void {
    this.#api.services = this.#api.services.filter((service) => service['id'] !== id);
  }

  async #create(asked: Asked): Promise<Answer> {
    const count = this.sent.push(asked);
    if (this.sent.length < this.together) {
      await new Promise<void>((resolve) => {
        this.#release.push(resolve);
      });
    }
    for (const release of this.#release.splice(0)) release();
    return this.#answer(asked, count);
  }

  #answer({ key = '', body }: Asked, count: number): Answer {
    const kept = this.#kept.get(key);
    if (kept && this.repeats === 'a refusal') return reused;
    const answer = kept ?? this.refuses(count) ?? this.#made(body, count);
    this.#kept.set(key, answer);
    return answer;
  }

  #made({ environment, ...rest }: { readonly environment: object }, count: number): Answer {
    const id = `00000000-0000-4000-8000-0000000001${String(count).padStart(2, '0')}`;
    const shown = shownService({ ...rest, id, environmentNames: Object.keys(environment) });
    this.#api.services = [...this.#api.services, shown];
    this.#api.on[`POST /api/services/${id}/actions`] = ({ body }) => {
      if (body.action === 'delete') this.remove(id);
      return { status: 200, body: shown };
    };
    return { status: 201, body: shown };
  }
}

const shared = { ...stateIdentity, isKeyShared: true };
const stateless = () => new MemoryStore(shared, [], []);
const files = (document: string | undefined) =>
  desiredOf({ ...access, ...(document === undefined ? {} : { 'web.yaml': document }) });

const running = stoppedAfterEach();

async function fleetOf(options: ScriptedFleetOptions & { document?: string } = {}): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(files(options.document ?? serviceDocument('web')), {
    settleMs: 5000,
    store: stateless(),
    ...options,
  });
  running.push(fleet);
  return fleet;
}

async function begin(
  options: ScriptedFleetOptions & { document?: string } = {},
  together = 1,
): Promise<{ fleet: ScriptedFleet; provider: Provider }> {
  let provider: Provider | undefined;
  const prepare = (api: ScriptedApi) => {
    provider = new Provider(api);
    provider.together = together;
  };
  const fleet = await fleetOf({ ...options, prepare });
  if (!provider) throw new Error('the provider was not prepared');
  return { fleet, provider };
}

async function advance({ clock }: ScriptedFleet, durationMs: number): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= 1000) await clock.advance(Math.min(1000, leftMs));
}

const minuteMs = 60_000;

test('two managers that know nothing of each other send the same creation under the same key', async () => {
  const { fleet, provider } = await begin({}, 2);
  const other = await fleetOf({ beside: fleet });
  await advance(fleet, 5000);
  expect(provider.sent).toHaveLength(2);
  expect(new Set(provider.keys).size).toBe(1);
  expect(provider.sent[0]?.body).toEqual(provider.sent[1]?.body);
  expect(fleet.api.services).toHaveLength(1);
  const { id } = fleet.api.services[0] ?? {};
  expect([fleet, other].map(({ store }) => store.record(web)?.externalId)).toEqual([id, id]);
});

test('a state whose key is its own has random keys', async () => {
  const { fleet, provider } = await begin({ store: new MemoryStore(stateIdentity, [], []) }, 2);
  await fleetOf({ beside: fleet, store: new MemoryStore(stateIdentity, [], []) });
  await advance(fleet, 5000);
  expect(new Set(provider.keys).size).toBe(2);
});

test('what was deleted by somebody else is created under another key', async () => {
  const { fleet, provider } = await begin();
  await advance(fleet, 2 * minuteMs);
  provider.remove(fleet.api.services[0]?.['id']);
  await advance(fleet, 2 * minuteMs);
  expect(new Set(provider.keys).size).toBe(2);
  expect(fleet.api.services).toHaveLength(1);
});

test('what was deleted while no state was kept is answered with its old id, and created under the next key once that was looked for long enough', async () => {
  const { fleet, provider } = await begin();
  await advance(fleet, 5000);
  const old = fleet.api.services[0]?.['id'];
  await fleet.manager.stop();
  provider.remove(old);
  const next = await fleetOf({ beside: fleet });
  await advance(next, 9 * minuteMs);
  expect([next.store.record(web)?.externalId, next.api.services]).toEqual([old, []]);
  await advance(next, 3 * minuteMs);
  expect(next.api.services).toHaveLength(1);
  expect(next.store.record(web)?.externalId).toBe(next.api.services[0]?.['id']);
  // The old id is where the next one comes after, for whoever else sees this.
  expect(provider.keys.length).toBe(3);
  expect(new Set(provider.keys).size).toBe(2);
});

test('an API that refuses a key that it has seen makes one thing for two, and one anew for what is gone', async () => {
  const { fleet, provider } = await begin({}, 2);
  provider.repeats = 'a refusal';
  const other = await fleetOf({ beside: fleet });
  await advance(fleet, minuteMs);
  expect(new Set(provider.keys).size).toBe(1);
  const old = fleet.api.services[0]?.['id'];
  expect(fleet.api.services).toHaveLength(1);
  for (const one of [fleet, other]) {
    expect([one.store.record(web)?.externalId, readyReason(one, web)]).toEqual([old, 'Running']);
    await one.manager.stop();
  }
  provider.remove(old);
  const next = await fleetOf({ beside: fleet });
  await advance(next, 9 * minuteMs);
  expect([next.api.services, readyReason(next, web)]).toEqual([[], 'OutcomeUnknown']);
  await advance(next, 3 * minuteMs);
  expect(next.api.services).toHaveLength(1);
  expect(new Set(provider.keys).size).toBe(2);
});

test('a refusal that the API keeps by its key is not asked for again', async () => {
  const { fleet, provider } = await begin();
  provider.refuses = (count) =>
    count === 2
      ? { status: 409, body: { error: { code: 'capacity_unavailable', message: 'none' } } }
      : undefined;
  await advance(fleet, 5000);
  provider.remove(fleet.api.services[0]?.['id']);
  await advance(fleet, 20 * minuteMs);
  expect(new Set(provider.keys).size).toBe(3);
  expect(fleet.api.services).toHaveLength(1);
});

test('what was taken out and is declared again is another thing', async () => {
  const { fleet, provider } = await begin();
  await advance(fleet, 10_000);
  fleet.tell(files(undefined));
  await advance(fleet, 30_000);
  expect([fleet.store.record(web), fleet.api.services]).toEqual([undefined, []]);
  fleet.tell(files(serviceDocument('web')));
  await advance(fleet, 30_000);
  expect(new Set(provider.keys).size).toBe(2);
  expect(fleet.api.services).toHaveLength(1);
});

test('what is replaced there and back is another thing each time, and the same for all who see it', async () => {
  const of = (region: string) =>
    serviceDocument('web', ['replacement: Recreate']).replace('standard', region);
  const { fleet, provider } = await begin({ document: of('standard') });
  await advance(fleet, 10_000);
  for (const region of ['economy', 'standard']) {
    fleet.tell(files(of(region)));
    await advance(fleet, 2 * minuteMs);
    expect(fleet.api.services.map(({ region: shown }) => shown)).toEqual([region]);
  }
  expect(provider.keys).toHaveLength(3);
  expect(new Set(provider.keys).size).toBe(3);
});
