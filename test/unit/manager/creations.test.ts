/** Creations that take effect late, or are shown late: at no time are there two things for one object. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { MemoryStore, type Intent, type ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
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

interface Made {
  readonly key: string;
  readonly shown: Record<string, unknown>;
  readonly atMs: number;
}

/** How a provider deals with creations of services. */
interface Habits {
  /** From the arrival of the request to its effect, by how many requests came before; infinite: it never arrives. */
  readonly effectAfterMs?: (count: number) => number;
  /** From its effect to its first being shown, in the list and by its id. */
  readonly shownAfterMs?: number;
  /** When it is shown at all, some time after its effect; default: from `shownAfterMs` on. */
  readonly isShown?: (ageMs: number) => boolean;
  /** The client gives up after that, with no answer; by how many requests came before. */
  readonly lostAfterMs?: (count: number) => number | undefined;
  readonly keys?: 'honoured' | 'ignored';
  /** No names of variables are shown, so no mark is. */
  readonly hidesNames?: true;
  /** What the account and reads by id show in another way, some time after its effect. */
  readonly shownAs?: (ageMs: number) => object;
  /** Services of somebody else, some time after the start. */
  readonly others?: (sinceMs: number) => Record<string, unknown>[];
  /** What is answered in place of anything else, and nothing happens; by how many requests came before. */
  readonly refuses?: (count: number) => Answer | undefined;
}

/** A provider of services on the clock of the test. */
class Provider {
  readonly #api: ScriptedApi;
  readonly #clock: ManualClock;
  readonly #habits: Habits;
  readonly made: Made[] = [];
  readonly sent: Asked[] = [];

  constructor(api: ScriptedApi, clock: ManualClock, habits: Habits) {
    this.#api = api;
    this.#clock = clock;
    this.#habits = habits;
    const { shownAs = () => ({}), others = () => [] } = habits;
    const startMs = this.#nowMs;
    api.on['POST /api/services'] = (asked) => this.#create(asked);
    api.on['GET /api/account'] = () => {
      const made = this.shown.map(({ shown, atMs }) => ({ ...shown, ...shownAs(this.#nowMs - atMs) }));
      api.services = [...made, ...others(this.#nowMs - startMs)];
      return undefined;
    };
  }

  get shown(): Made[] {
    const { shownAfterMs = 0, isShown = (ageMs: number) => ageMs >= shownAfterMs } = this.#habits;
    return this.made.filter(({ atMs }) => atMs <= this.#nowMs && isShown(this.#nowMs - atMs));
  }

  get alive(): Made[] {
    return this.made.filter(({ atMs }) => atMs <= this.#nowMs);
  }

  remove(id: unknown): void {
    const at = this.made.findIndex(({ shown }) => shown['id'] === id);
    if (at >= 0) this.made.splice(at, 1);
  }

  get #nowMs(): number {
    return this.#clock.monotonicMs();
  }

  async #create(asked: Asked): Promise<Answer> {
    const count = this.sent.length;
    this.sent.push(asked);
    const { effectAfterMs, lostAfterMs, refuses, keys = 'honoured', hidesNames } = this.#habits;
    const refusal = refuses?.(count);
    if (refusal) return refusal;
    const { environment, ...rest } = asked.body;
    const before = keys === 'honoured' ? this.made.find(({ key }) => key === asked.key) : undefined;
    const id = `00000000-0000-4000-8000-00000000010${count}`;
    const environmentNames = hidesNames ? undefined : Object.keys(environment ?? {});
    const shown = shownService({ ...rest, id, environmentNames });
    const atMs = asked.atMs + (effectAfterMs?.(count) ?? 0);
    const made = before ?? { key: asked.key ?? '', shown, atMs };
    if (!before && Number.isFinite(atMs)) {
      this.made.push(made);
      this.#api.on[`PATCH /api/services/${id}`] = ({ body }) => {
        Object.assign(shown, body.patch, { revision: Number(shown['revision']) + 1 });
        return { status: 200, body: shown };
      };
      this.#api.on[`POST /api/services/${id}/actions`] = ({ body }) => {
        if (body.action === 'delete') this.remove(id);
        return { status: 200, body: shown };
      };
    }
    const lostMs = lostAfterMs?.(count);
    if (lostMs === undefined) return { status: 201, body: made.shown };
    if (lostMs > 0) await new Promise<void>((resolve) => this.#clock.after(lostMs, resolve));
    return 'lost';
  }
}

const image = (tag: string) => serviceDocument('web').replace('web:1', tag);
const files = (document: string | undefined) =>
  desiredOf({ ...access, ...(document === undefined ? {} : { 'web.yaml': document }) });

const running = stoppedAfterEach();

async function fleetBefore(
  habits: Habits,
  options: ScriptedFleetOptions & { document?: string; empty?: true } = {},
): Promise<{ fleet: ScriptedFleet; provider: Provider }> {
  let provider: Provider | undefined;
  const fleet = await scriptedFleet(files(options.empty ? undefined : (options.document ?? image('web:1'))), {
    settleMs: 5000,
    ...options,
    prepare: (api) => {
      provider = new Provider(api, api.clock, habits);
    },
  });
  running.push(fleet);
  if (!provider) throw new Error('the provider was not prepared');
  return { fleet, provider };
}

/** Moves on in steps, and looks that there is never more than one. */
async function advance({ clock }: ScriptedFleet, provider: Provider, durationMs: number): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= 1000) {
    await clock.advance(Math.min(1000, leftMs));
    expect(provider.alive.map(({ shown }) => shown['id']).length).toBeLessThanOrEqual(1);
  }
}

const minuteMs = 60_000;

test('a creation that takes effect 42 s after it was sent is not made twice, although its document is edited meanwhile', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: () => 42_000,
    lostAfterMs: (count) => (count === 0 ? 30_000 : undefined),
  });
  await advance(fleet, provider, 33_000);
  expect(fleet.store.openIntent(web)).toMatchObject({ action: 'create-service', outcome: 'unknown' });
  fleet.tell(files(image('web:2')));
  await advance(fleet, provider, 20 * minuteMs);
  expect(provider.alive).toHaveLength(1);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
  expect(provider.alive[0]?.shown['image']).toBe('ghcr.io/acme/web:2');
});

/** The disk is full when this outcome is to be written, once. */
class StoreWithoutOutcome extends MemoryStore {
  isFull = false;

  override async saveIntent(intent: Intent, record: ObjectRecord): Promise<void> {
    if (this.isFull && intent.outcome === 'unknown') {
      this.isFull = false;
      throw new Error('database or disk is full');
    }
    await super.saveIntent(intent, record);
  }
}

test('a creation whose unknown outcome could not be written down is waited for as long as any other', async () => {
  const store = new StoreWithoutOutcome(stateIdentity, [], []);
  const { fleet, provider } = await fleetBefore(
    {
      effectAfterMs: (count) => (count === 0 ? 4 * minuteMs : 0),
      lostAfterMs: (count) => (count === 0 ? 0 : undefined),
    },
    { store, empty: true },
  );
  // Longer than `visibilitySeconds`: the start of the process is no beginning of the window.
  await advance(fleet, provider, 15 * minuteMs);
  store.isFull = true;
  fleet.tell(files(image('web:1')));
  await advance(fleet, provider, 30_000);
  expect([provider.sent.length, store.isFull]).toEqual([1, false]);
  fleet.tell(files(image('web:2')));
  await advance(fleet, provider, 10 * minuteMs);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
  expect(provider.made.at(-1)?.shown['image']).toBe('ghcr.io/acme/web:2');
});

test('a provider that ignores idempotency keys makes one service of a creation that was reset and took effect late', async () => {
  const { fleet, provider } = await fleetBefore({
    keys: 'ignored',
    effectAfterMs: (count) => (count === 0 ? 42_000 : 0),
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
  });
  await advance(fleet, provider, 20 * minuteMs);
  expect(provider.sent).toHaveLength(1);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('a creation that never arrived is sent again with the bytes and the key it had, and then patched to the edited document', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: (count) => (count === 0 ? Number.POSITIVE_INFINITY : 0),
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
  });
  const { clock } = fleet;
  await clock.advance(2000);
  fleet.tell(files(image('web:2')));
  await clock.advance(3 * minuteMs);
  expect(provider.sent.map(({ key, body }) => [key, body])).toEqual([
    [provider.sent[0]?.key, provider.sent[0]?.body],
    [provider.sent[0]?.key, provider.sent[0]?.body],
  ]);
  expect(provider.made.at(-1)?.shown['image']).toBe('ghcr.io/acme/web:2');
});

test('after a restart the edited document of a lost creation waits, and another key is used only when minutes have passed', async () => {
  const neverArrives: Habits = {
    effectAfterMs: (count) => (count === 0 ? Number.POSITIVE_INFINITY : 0),
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
  };
  const first = await fleetBefore(neverArrives);
  await first.fleet.clock.advance(2000);
  const { store } = first.fleet;
  await first.fleet.manager.stop();
  const second = await fleetBefore({}, { store, document: image('web:2') });
  await advance(second.fleet, second.provider, 9 * minuteMs);
  expect(second.provider.sent).toEqual([]);
  expect(readyReason(second.fleet, web)).toBe('OutcomeUnknown');
  await advance(second.fleet, second.provider, 3 * minuteMs);
  expect(second.provider.sent).toHaveLength(1);
  expect(second.provider.sent[0]?.key).not.toBe(first.provider.sent[0]?.key);
});

test('the refusal of a repetition proves nothing of the first one: another key waits until minutes have passed', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: (count) => (count === 0 ? 4 * minuteMs : 0),
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
    refuses: (count) => (count === 1 ? { status: 503 } : undefined),
  });
  await advance(fleet, provider, 20 * minuteMs);
  expect(provider.sent).toHaveLength(2);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('a repetition that is told that its key is in use waits for the first one to take effect', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: (count) => (count === 0 ? 2 * minuteMs : 0),
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
    refuses: (count) =>
      count > 0
        ? { status: 409, body: { error: { code: 'idempotency_key_in_use', message: 'in use' } } }
        : undefined,
  });
  await advance(fleet, provider, 10 * minuteMs);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('an object whose creation may still take effect is not forgotten with its document', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: () => 3 * minuteMs,
    lostAfterMs: () => 0,
  });
  await fleet.clock.advance(2000);
  fleet.tell(files(undefined));
  await advance(fleet, provider, 20 * minuteMs);
  expect(provider.sent).toHaveLength(1);
  expect(provider.alive).toEqual([]);
  expect(fleet.store.record(web)).toBeUndefined();
});

/** The first one is late, and its repetition is refused: what becomes of the first one can only be waited for. */
const lateAndRefused: Habits = {
  effectAfterMs: (count) => (count === 0 ? 4 * minuteMs : 0),
  lostAfterMs: (count) => (count === 0 ? 0 : undefined),
  refuses: (count) => (count === 1 ? { status: 503 } : undefined),
};
const retained = (tag: string) => image(tag).replace('spec:', 'spec:\n  deletionPolicy: Retain');

test('an object that is given up while its creation may still take effect, and comes back, is not created twice', async () => {
  const { fleet, provider } = await fleetBefore(lateAndRefused, { document: retained('web:1') });
  await advance(fleet, provider, 100_000);
  fleet.tell(files(undefined));
  await advance(fleet, provider, 30_000);
  expect(readyReason(fleet, web)).toBe('OutcomeUnknown');
  fleet.tell(files(retained('web:2')));
  await advance(fleet, provider, 20 * minuteMs);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('what an object left, and reads do not show yet, is not created again by the next process', async () => {
  const first = await fleetBefore({ shownAfterMs: 4 * minuteMs }, { document: retained('web:1') });
  await advance(first.fleet, first.provider, 20_000);
  first.fleet.tell(files(undefined));
  await advance(first.fleet, first.provider, 20_000);
  const { store } = first.fleet;
  expect(store.record(web)).toBeUndefined();
  await first.fleet.manager.stop();
  const second = await fleetBefore({}, { store, document: retained('web:1') });
  await advance(second.fleet, second.provider, 3 * minuteMs);
  expect(second.provider.sent).toEqual([]);
  await advance(second.fleet, second.provider, 10 * minuteMs);
  expect(second.provider.sent).toHaveLength(1);
});

test('what an object left is awaited for no longer than `visibilitySeconds`, although the wall clock was set back', async () => {
  const first = await fleetBefore({ shownAfterMs: 4 * minuteMs }, { document: retained('web:1') });
  await advance(first.fleet, first.provider, 20_000);
  first.fleet.tell(files(undefined));
  await advance(first.fleet, first.provider, 20_000);
  const { store } = first.fleet;
  expect(store.record(web)).toBeUndefined();
  await first.fleet.manager.stop();
  const startMs = first.fleet.clock.wallMs() - 60 * minuteMs;
  const second = await fleetBefore({}, { store, document: retained('web:1'), startMs });
  await advance(second.fleet, second.provider, 9 * minuteMs);
  expect(second.provider.sent).toEqual([]);
  await advance(second.fleet, second.provider, 2 * minuteMs);
  expect(second.provider.sent).toHaveLength(1);
});

test('an object that is given up while its creation may still take effect is not forgotten because the API is away', async () => {
  const { fleet, provider } = await fleetBefore(lateAndRefused, { document: retained('web:1') });
  await advance(fleet, provider, 100_000);
  fleet.api.on['GET /api/account'] = () => ({ status: 503 });
  await advance(fleet, provider, 30_000);
  fleet.tell(files(undefined));
  await advance(fleet, provider, 4 * minuteMs);
  expect(readyReason(fleet, web)).toBe('OutcomeUnknown');
  await advance(fleet, provider, 5 * minuteMs);
  expect(fleet.store.record(web)).toBeUndefined();
});

test('where marks are hidden, a creation without an answer is not made again when the window is over: a person is asked', async () => {
  const { fleet, provider } = await fleetBefore({ ...lateAndRefused, hidesNames: true });
  await advance(fleet, provider, 20 * minuteMs);
  expect(provider.sent).toHaveLength(2);
  expect(readyReason(fleet, web)).toBe('OutcomeUnknown');
  const conditions = fleet.store.record(web)?.status?.conditions ?? [];
  expect(conditions.find(({ type }) => type === 'Stalled')).toMatchObject({ status: 'True' });
});

/** The first one has no answer. */
const unanswered: Habits = { keys: 'ignored', lostAfterMs: (count) => (count === 0 ? 0 : undefined) };
const notYetRun = { state: 'provisioning', environmentNames: [] };

test('what a creation without an answer made, and shows no variables before it runs, is not created again', async () => {
  const { fleet, provider } = await fleetBefore({
    ...unanswered,
    shownAs: (ageMs) => (ageMs < 4 * minuteMs ? notYetRun : {}),
  });
  await advance(fleet, provider, 3 * minuteMs);
  expect([provider.sent.length, readyReason(fleet, web)]).toEqual([1, 'OutcomeUnknown']);
  await advance(fleet, provider, 20 * minuteMs);
  expect([provider.sent.length, readyReason(fleet, web)]).toEqual([1, 'Running']);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('the next process does not take what a creation without an answer made for what was there before', async () => {
  const first = await fleetBefore({ ...unanswered, shownAs: () => notYetRun });
  await advance(first.fleet, first.provider, 2000);
  const { store } = first.fleet;
  await first.fleet.manager.stop();
  const [made] = first.provider.alive;
  const second = await fleetBefore(
    {
      ...unanswered,
      others: (sinceMs) => [{ ...made?.shown, ...(sinceMs < 4 * minuteMs ? notYetRun : {}) }],
    },
    { store },
  );
  await advance(second.fleet, second.provider, 20 * minuteMs);
  expect(second.provider.sent).toEqual([]);
  expect(store.record(web)?.externalId).toBe(made?.shown['id']);
});

test.each(['error', 'paused', 'queued'])(
  'where what a creation without an answer made shows no variables, and is %s, a person is asked',
  async (state) => {
    const shownAs = () => ({ state, environmentNames: [] });
    const { fleet, provider } = await fleetBefore({ ...unanswered, shownAs });
    await advance(fleet, provider, 20 * minuteMs);
    expect([provider.sent.length, readyReason(fleet, web)]).toEqual([1, 'OutcomeUnknown']);
    const conditions = fleet.store.record(web)?.status?.conditions ?? [];
    expect(conditions.find(({ type }) => type === 'Stalled')).toMatchObject({ status: 'True' });
  },
);

test.each([
  ['comes to run', (sinceMs: number) => (sinceMs < 2000 ? [] : [sinceMs < 4 * minuteMs ? notYetRun : {}])],
  ['runs', (sinceMs: number) => (sinceMs < 2000 ? [] : [{}])],
  ['was there before', () => [notYetRun]],
  ['was there before, and is paused', () => [{ state: 'paused' }]],
])(
  'a service of somebody else that has the same name, no variables, and %s, is neither taken nor deleted',
  async (_what, others) => {
    const theirId = '00000000-0000-4000-8000-000000000900';
    const { fleet, provider } = await fleetBefore({
      effectAfterMs: (count) => (count === 0 ? Number.POSITIVE_INFINITY : 0),
      lostAfterMs: (count) => (count === 0 ? 0 : undefined),
      others: (sinceMs) => others(sinceMs).map((more) => shownService({ id: theirId, ...more })),
    });
    await advance(fleet, provider, 20 * minuteMs);
    expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(1);
    expect([provider.sent.length, readyReason(fleet, web)]).toEqual([2, 'Running']);
    expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
    fleet.tell(files(undefined));
    await advance(fleet, provider, 5 * minuteMs);
    expect(provider.alive).toEqual([]);
    const touched = fleet.api.asked.filter(({ what }) => !what.startsWith('GET') && what.includes(theirId));
    expect(touched).toEqual([]);
  },
);

test('a repetition may be as late as the first one: the window begins anew with it', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: (count) => (count === 0 ? Number.POSITIVE_INFINITY : 9.7 * minuteMs),
    lostAfterMs: (count) => (count <= 1 ? 0 : undefined),
    refuses: (count) => (count === 2 ? { status: 503 } : undefined),
  });
  await advance(fleet, provider, 25 * minuteMs);
  expect(provider.sent).toHaveLength(3);
  expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
});

test('what a creation without an answer made, and flaps, is not created again', async () => {
  const { fleet, provider } = await fleetBefore({
    effectAfterMs: () => 45_000,
    lostAfterMs: (count) => (count === 0 ? 0 : undefined),
    isShown: (ageMs) => ageMs < 15_000 || ageMs > 55_000,
  });
  await advance(fleet, provider, 10 * minuteMs);
  expect(provider.sent).toHaveLength(1);
});

test('what a creation without an answer made, and is shown before that is settled, is not created again when it flaps', async () => {
  const { fleet, provider } = await fleetBefore(
    {
      lostAfterMs: (count) => (count === 0 ? 0 : undefined),
      isShown: (ageMs) => ageMs < 10_000 || ageMs > 55_000,
    },
    { empty: true },
  );
  // How old a thing is does not follow from when the process began.
  await advance(fleet, provider, 2 * minuteMs);
  const polledOften = access['account.yaml'].replace('spec:', 'spec:\n  pollSeconds: 2');
  const declared = (document: string) =>
    desiredOf({ ...access, 'account.yaml': polledOften, 'web.yaml': document });
  fleet.tell(declared(image('web:1')));
  await advance(fleet, provider, 3000);
  fleet.tell(declared(image('web:1').replace('{name: web}', '{name: web, labels: {tier: front}}')));
  await advance(fleet, provider, 5000);
  expect(fleet.store.lastIntent(web)).toMatchObject({ action: 'create-service', outcome: 'applied' });
  await advance(fleet, provider, 10 * minuteMs);
  expect(provider.sent).toHaveLength(1);
});

test('what was created and answered is not created again while neither list nor read show it for 45 s', async () => {
  const { fleet, provider } = await fleetBefore({ shownAfterMs: 45_000 });
  await advance(fleet, provider, 10 * minuteMs);
  expect(provider.sent).toHaveLength(1);
  expect(readyReason(fleet, web)).toBe('Running');
});

test('what was created and never seen is created anew when the window of the Account is over, and not before', async () => {
  const { fleet, provider } = await fleetBefore({ isShown: () => false });
  await fleet.clock.advance(9 * minuteMs);
  expect(provider.sent).toHaveLength(1);
  expect(readyReason(fleet, web)).toBe('ConfirmingAbsence');
  await fleet.clock.advance(3 * minuteMs);
  expect(provider.sent).toHaveLength(2);
  expect(new Set(provider.sent.map(({ key }) => key)).size).toBe(2);
});

test('a new service that flaps, shown and then not for 45 s, is not created again', async () => {
  const { fleet, provider } = await fleetBefore({ isShown: (ageMs) => ageMs < 10_000 || ageMs > 55_000 });
  await advance(fleet, provider, 10 * minuteMs);
  expect(provider.sent).toHaveLength(1);
});

test.each([
  ['', 0],
  [', whose clock is an hour ahead', 60 * minuteMs],
])(
  'a new service that was seen, patched, and is not shown for 45 s is not created again by the next process%s',
  async (_, aheadMs) => {
    const { fleet, provider } = await fleetBefore({});
    await advance(fleet, provider, 5000);
    fleet.tell(files(image('web:2')));
    await advance(fleet, provider, 5000);
    expect(fleet.store.lastIntent(web)).toMatchObject({ action: 'patch-service', outcome: 'applied' });
    await fleet.manager.stop();
    const startMs = fleet.clock.wallMs() + aheadMs;
    const next = await fleetBefore({}, { store: fleet.store, document: image('web:2'), startMs });
    await advance(next.fleet, next.provider, 45_000);
    expect(next.provider.sent).toEqual([]);
    await advance(next.fleet, next.provider, minuteMs);
    expect(next.provider.sent).toHaveLength(1);
  },
);

test.each([
  ['shown, and then not', (ageMs: number) => ageMs < 6000 || ageMs > 55_000],
  ['not shown yet', (ageMs: number) => ageMs > 100_000],
])(
  'an object that is given up with what it has just made, and comes back, finds that: it is %s',
  async (_name, isShown) => {
    const { fleet, provider } = await fleetBefore({ isShown }, { document: retained('web:1') });
    await advance(fleet, provider, 4000);
    fleet.tell(files(undefined));
    await advance(fleet, provider, 16_000);
    expect(fleet.store.record(web)).toBeUndefined();
    fleet.tell(files(retained('web:1')));
    await advance(fleet, provider, 10 * minuteMs);
    expect(provider.sent).toHaveLength(1);
    expect(fleet.store.record(web)?.externalId).toBe(provider.alive[0]?.shown['id']);
  },
);

test('what was seen for long and is deleted by somebody is created anew as fast as ever', async () => {
  const { fleet, provider } = await fleetBefore({});
  await advance(fleet, provider, 5 * minuteMs);
  provider.remove(provider.alive[0]?.shown['id']);
  await advance(fleet, provider, 40_000);
  expect(provider.sent).toHaveLength(2);
});

test('three new services that are shown late trip no brake', async () => {
  const three = ['web', 'api', 'db'].map((name) => serviceDocument(name)).join('---\n');
  const { fleet, provider } = await fleetBefore({ shownAfterMs: 45_000 }, { document: three });
  await fleet.clock.advance(20_000);
  const account = fleet.store.record(objectKey('Account', 'default', 'default'));
  expect(JSON.stringify(account?.status?.conditions)).not.toContain('MassChangeBrake');
  await fleet.clock.advance(10 * minuteMs);
  expect(provider.sent).toHaveLength(3);
});

test.each(['StorageVolume', 'ServiceTemplate'] as const)(
  'a %s that was created and is shown late is not created again',
  async (kind) => {
    const collection = kind === 'StorageVolume' ? 'volumes' : 'templates';
    const spec =
      kind === 'StorageVolume'
        ? { region: 'standard', sizeGb: 10 }
        : { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
    const document = stringify({ apiVersion, kind, metadata: { name: 'data' }, spec });
    const made: { readonly item: Record<string, unknown>; readonly atMs: number }[] = [];
    const fleet = await scriptedFleet(files(document), {
      settleMs: 5000,
      prepare: (api) => {
        const shown = (nowMs: number) =>
          made.filter(({ atMs }) => nowMs >= atMs + 45_000).map(({ item }) => item);
        api.on[`POST /api/${collection}`] = ({ body, atMs }) => {
          const state = kind === 'StorageVolume' ? { status: 'ready', mode: 'independent' } : {};
          const id = `00000000-0000-4000-8000-00000000020${made.length}`;
          made.push({ item: { ...body, ...state, id, revision: 1 }, atMs });
          return { status: 201, body: made.at(-1)?.item ?? {} };
        };
        api.on['GET /api/templates'] = ({ atMs }) => ({ status: 200, body: { templates: shown(atMs) } });
        api.on['GET /api/account'] = ({ atMs }) => {
          api.volumes = kind === 'StorageVolume' ? shown(atMs) : [];
          return undefined;
        };
      },
    });
    running.push(fleet);
    await fleet.clock.advance(5 * minuteMs);
    expect(made).toHaveLength(1);
  },
);

test('a person who says that a lost creation did not happen need not wait for the window', async () => {
  const resolved = new (class extends MemoryStore {
    word: { idempotencyKey: string; applied: boolean; id: undefined } | undefined;
    override resolution() {
      return this.word;
    }
  })(stateIdentity, [], []);
  const { fleet, provider } = await fleetBefore(
    {
      effectAfterMs: (count) => (count === 0 ? Number.POSITIVE_INFINITY : 0),
      lostAfterMs: (count) => (count === 0 ? 0 : undefined),
      refuses: (count) => (count === 1 ? { status: 503 } : undefined),
    },
    { store: resolved },
  );
  await fleet.clock.advance(3 * minuteMs);
  expect(provider.sent).toHaveLength(2);
  resolved.word = { idempotencyKey: provider.sent[0]?.key ?? '', applied: false, id: undefined };
  await fleet.clock.advance(minuteMs);
  expect(provider.sent).toHaveLength(3);
});
