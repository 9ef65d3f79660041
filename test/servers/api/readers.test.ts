/** Answers of types that the contract leaves open, and of others. */
import { describe, expect, test } from 'vitest';
import { Descriptions } from '../../../src/api/descriptions.ts';
import * as form from '../../../src/api/field-forms.ts';
import * as readers from '../../../src/api/readers.ts';
import { Misread, type Reading } from '../../../src/api/reading.ts';
import type { wire } from '../../../src/api/index.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const other = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function read<Value>(reader: readers.Reader<Value>, body: unknown, secrets: readonly string[] = []): Value {
  const descriptions = new Descriptions(secrets);
  const reading: Reading = { descriptions, note: () => {}, spelled: () => {} };
  const value = reader.read(body, reading);
  if (value instanceof Misread) throw new Error(value.message);
  return value;
}

const account = (more: object) => ({
  balanceMicros: 1,
  currency: 'USD',
  services: [],
  volumes: [],
  ledger: [],
  ...more,
});
const services = (...shown: unknown[]) => read(readers.account, account({ services: shown }));

describe('a field that only informs', () => {
  test.each<[string, unknown, unknown]>([
    ['endpoint', { url: 'https://a.example' }, 'https://a.example'],
    ['endpoint', { host: 'a.example', port: 8080 }, 'http://a.example:8080'],
    ['endpoint', { host: 'a.example', port: 443, protocol: 'HTTPS' }, 'https://a.example:443'],
    ['endpoint', ['https://a.example', 'https://b.example'], 'https://a.example'],
    ['endpoint', { http: 'http://a.example' }, 'http://a.example'],
    ['endpoint', '', null],
    ['endpoint', 17, undefined],
    ['hourlyMicros', 100_000_000_000, 100_000_000_000],
    ['hourlyMicros', 100_000_000_001, undefined],
    ['hourlyMicros', Number.MAX_SAFE_INTEGER, undefined],
    ['error', { message: 'no GPU' }, 'no GPU'],
    ['error', { code: 'OOM', message: 'killed' }, 'OOM: killed'],
    ['error', ['one', { message: 'two' }], 'one; two'],
    ['error', { type: 'launch', detail: { reason: 'no such image' } }, 'launch: no such image'],
    ['error', {}, null],
    ['error', false, null],
    ['error', true, undefined],
    ['geography', { name: 'europe' }, 'europe'],
    ['geography', 7, '7'],
    ['region', ['standard'], undefined],
    ['environmentNames', [{ name: 'MODE' }, { key: 'LEVEL' }], ['MODE', 'LEVEL']],
    ['environmentNames', { MODE: null, LEVEL: '***' }, ['MODE', 'LEVEL']],
    ['environmentNames', ['MODE=***'], ['MODE']],
    ['environmentNames', 'MODE, LEVEL', ['MODE', 'LEVEL']],
    ['environmentNames', 'none at all!', undefined],
    ['environmentNames', ['MODE', 3], undefined],
    ['environmentNames', 2, undefined],
    ['command', 'python train.py', 'python train.py'],
    ['command', '', null],
    ['command', ['sleep', 5], ['sleep', '5']],
    ['command', { argv: [] }, undefined],
    ['httpPort', '8080', 8080],
    ['httpPort', 0, null],
    ['httpPort', { port: 80 }, 80],
    ['httpPort', 'web', undefined],
    ['sleepAfterMinutes', '30', 30],
    ['sleepAfterMinutes', null, null],
    ['hourlyMicros', 12.2, 13],
    ['hourlyMicros', '1200', 1200],
    ['hourlyMicros', 'free', undefined],
  ])('%s %j is read as %j', (field, shown, expected) => {
    const { items, service } = shownService({ [field]: shown });
    expect(service[field]).toEqual(expected);
    expect(items).toHaveLength(1);
    expect(service.unreadable?.some(({ decides }) => decides) ?? false).toBe(false);
    expect(service.unreadable?.map((problem) => problem.field) ?? []).toEqual(
      expected === undefined ? [field] : [],
    );
  });

  test.each<[unknown, number | undefined]>([
    ['2026-11-22T12:00:00Z', Date.UTC(2026, 10, 22, 12)],
    [1_795_348_800, 1_795_348_800_000],
    [1_795_348_800_000, 1_795_348_800_000],
    [1_795_348_800_000_000, 1_795_348_800_000],
    ['1795348800', 1_795_348_800_000],
    ['yesterday', undefined],
    [{}, undefined],
  ])('the time %j is read as %j', (shown, expected) => {
    expect(form.time(shown)).toBe(expected);
    const { ledger } = read(readers.account, account({ ledger: [{ createdAt: shown }] }));
    expect(ledger[0]?.createdAt).toBe(expected);
  });

  test('of a volume: error and provisioned', () => {
    const volume = { id, error: { message: 'disk' }, provisioned: { node: 7 }, hourlyMicros: '3' };
    const { volumes } = read(readers.account, account({ volumes: [volume] }));
    expect(volumes[0]).toMatchObject({ error: 'disk', hourlyMicros: 3 });
    expect(volumes[0]?.provisioned).toBeUndefined();
  });

  test.each<[unknown, number | undefined]>([
    [10, 10],
    [0, 0],
    ['4096', 4096],
    [4_096_000, 4_096_000],
    [4_096_001, undefined],
    [1e36, undefined],
    [1e308, undefined],
    ['9'.repeat(300), undefined],
    ['9'.repeat(400), undefined],
    [-1, undefined],
  ])('of a volume: the size %j is read as %j', (shown, expected) => {
    const volume = { id, sizeGb: shown, requestedSizeGb: shown };
    const { volumes } = read(readers.account, account({ volumes: [volume] }));
    expect([volumes[0]?.sizeGb, volumes[0]?.requestedSizeGb]).toEqual([expected, expected]);
    const fields = (volumes[0]?.unreadable ?? []).map(({ field, decides }) => [field, decides]);
    const odd = ['sizeGb', 'requestedSizeGb'].map((field) => [field, false]);
    expect(fields).toEqual(expected === undefined ? odd : []);
  });

  test.each([2 ** 53, 1e308, -(2 ** 53)])('no amount is %d', (shown) => {
    const service = { id, hourlyMicros: shown, sleepAfterMinutes: shown };
    const odd = read(readers.account, account({ balanceMicros: shown, services: [service] }));
    expect([odd.balanceMicros, odd.services[0]?.hourlyMicros]).toEqual([undefined, undefined]);
    expect(odd.services[0]?.sleepAfterMinutes).toBeUndefined();
  });

  test('never makes an account unreadable: ledger, currency, balance', () => {
    const odd = read(readers.account, { services: [], volumes: [], ledger: 'none', balanceMicros: 'a lot' });
    expect(odd).toMatchObject({ ledger: [], currency: 'USD', balanceMicros: undefined });
    expect(odd.unreadable?.map(({ field }) => field)).toEqual(['ledger', 'balanceMicros']);
    expect(read(readers.account, account({ balanceMicros: '5.4' })).balanceMicros).toBe(5);
  });

  test('an event in another form is read, and one that says nothing is left out', () => {
    const shown = [
      { message: { text: 'a' }, created_at: 5 },
      { text: 'started', createdAt: '2026-11-22T12:00:00Z' },
      { message: 'stopped', created_at: 'soon' },
      'stopped',
    ];
    expect(read(readers.events, { events: shown })).toMatchObject([
      { message: 'started', created_at: Date.UTC(2026, 10, 22, 12) },
      { message: 'stopped', created_at: 0 },
    ]);
  });

  test('a heartbeat is acknowledged whatever its numbers look like', () => {
    expect(read(readers.activityOf(id), { id, heartbeatSeconds: '20', expiresInSeconds: 'PT5M' })).toEqual({
      heartbeatSeconds: 20,
      expiresInSeconds: 300,
    });
  });

  test.each([
    [{ id: other, heartbeatSeconds: 30, expiresInSeconds: 300 }],
    [{ id: other, name: 'web', state: 'running' }],
  ])('an answer about something else registers nothing: %j', (body) => {
    expect(() => read(readers.activityOf(id), body)).toThrow(`id: expected ${id}`);
  });

  test('a first page of activities is not the whole list', () => {
    const page = { activities: [{ id, released: true }], nextCursor: 'abc' };
    expect(() => read(readers.activities, page)).toThrow('a whole list');
  });

  test('an activity that mirrors its release is over', () => {
    expect(read(readers.activities, { activities: [{ id, release: true }] })).toMatchObject([
      { released: true },
    ]);
  });

  test('any entry protects, whatever it looks like', () => {
    expect(read(readers.activities, { activities: [id, { id, released: 'maybe' }, 7] })).toMatchObject([
      { id },
      { id },
      {},
    ]);
  });

  test.each([
    [{ activityId: id }],
    [{ activity_id: id.toUpperCase() }],
    [{ id: 17, activityId: id }],
    [{ id: other, activityId: id }],
    [{ id, activityId: null }],
    [{ id, activityId: {} }],
  ])('an entry of the activities is recognised by the id that we gave it: %j', (entry) => {
    const [read0] = read(readers.activities, { activities: [entry] });
    expect(read0?.id?.toLowerCase()).toBe(id);
  });

  test('a catalog that shows its models in another form says nothing of them', () => {
    const catalog = read(readers.catalog, { regions: ['standard'], gpuCatalog: {}, payment: 'enabled' });
    expect(catalog.regions).toEqual([{ name: 'standard' }]);
    expect(catalog.gpuCatalog).toBeUndefined();
    expect(catalog.payment).toEqual({ status: 'enabled' });
  });
});

describe('a field that decides', () => {
  test.each<[string, unknown, unknown]>([
    ['state', 'RUNNING', 'running'],
    ['state', 'Hibernating', 'Hibernating'],
    ['revision', '7', 7],
    ['resources', { gpuCount: '1', cpu: '8.0', memoryGb: 32 }, { gpuCount: 1, cpu: 8, memoryGb: 32 }],
    ['resources', { cpu: 8, gpuCount: null }, { cpu: 8 }],
    ['volumeId', '', null],
    ['volumeId', { id: other.toUpperCase() }, other],
  ])('is read where it can be: %s %j is %j', (field, shown, expected) => {
    expect(shownService({ [field]: shown }).service).toMatchObject({ [field]: expected });
    expect(shownService({ [field]: shown }).service.unreadable).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ['state', { phase: 'running' }, 'an object: {"phase":"running"}'],
    ['state', 3, 'a number: 3'],
    ['revision', 'five', 'a text: "five"'],
    ['image', { name: 'a' }, 'an object: {"name":"a"}'],
    ['resources', '8 CPUs', 'a text: "8 CPUs"'],
    ['resources', { cpu: 'eight' }, 'an object: {"cpu":"eight"}'],
    ['resources', { memoryGb: 1e308 }, 'an object: {"memoryGb":1e+308}'],
    ['resources', { gpuCount: 4_096_001 }, 'an object: {"gpuCount":4096001}'],
    ['volumeId', 5, 'a number: 5'],
  ])('%s %j makes its own object unusable, and no other', (field, shown, found) => {
    const { items } = { items: services({ id, [field]: shown }, { id: other, state: 'running' }).services };
    expect(items.map((item) => item.id)).toEqual([id, other]);
    expect(items[0]?.[field]).toBeUndefined();
    expect(items[0]?.unreadable).toMatchObject([{ field, found, decides: true }]);
    expect(items[1]?.unreadable).toBeUndefined();
  });

  test('names of variables decide when they hold our mark, and their values are never repeated', () => {
    const shown = [['FLEETKEEPER_BEACON_1_2_3_4', 'canary']];
    const [marked] = services({ id, environmentNames: shown }).services;
    expect(marked?.unreadable).toMatchObject([{ field: 'environmentNames', decides: true }]);
    expect(JSON.stringify(marked?.unreadable)).not.toContain('canary');
  });

  test('what is found is told bounded, on one line, and without the key', () => {
    const state = { text: `key-of-alice\n\u001B[2J${'x'.repeat(5000)}` };
    const body = account({ services: [{ id, state }] });
    const [service] = read(readers.account, body, ['key-of-alice']).services;
    const reported = service?.unreadable?.[0]?.found ?? '';
    expect(reported.length).toBeLessThan(150);
    expect(reported).not.toMatch(/[\p{Cc}]|key-of-alice/u);
  });

  test('an API can not say for us that a field was unreadable', () => {
    expect(services({ id, unreadable: [{ decides: true }] }).services[0]?.unreadable).toBeUndefined();
  });
});

describe('an entry that can not be identified', () => {
  test.each([{ name: 'web' }, { id: 7 }, { id: 'svc-1' }, { id: null }, 'text', null, [id]])(
    'leaves its list without it, and all others in it: %j',
    (entry) => {
      const shown = services(entry, { id });
      expect(shown.services.map((item) => item.id)).toEqual([id]);
      expect(shown.unidentified.services).toHaveLength(1);
      expect(shown.unidentified.services[0]?.unreadable?.[0]).toMatchObject({ field: 'id', decides: true });
    },
  );

  test.each([
    ['templates', readers.templates],
    ['registries', readers.registries],
  ] as const)('neither does it stop all %s', (list, reader) => {
    const shown = read<wire.Shown<{ id: string }>>(reader, { [list]: [{ id: {} }, { id }] });
    expect(shown.items.map((item) => item.id)).toEqual([id]);
    expect(shown.unidentified).toHaveLength(1);
  });

  test('one list that is none leaves the other one readable', () => {
    const odd = read(readers.account, account({ volumes: { data: 'none' }, services: [{ id }] }));
    expect(odd.services).toHaveLength(1);
    expect(odd.unidentified.volumes).toHaveLength(1);
    expect(odd.unidentified.services).toEqual([]);
  });

  test.each([{}, { services: [] }, { services: {}, volumes: 3 }, [], 'text', undefined])(
    'an answer that shows neither list is none: %j',
    (body) => {
      expect(() => read(readers.account, body)).toThrow(/expected/);
    },
  );

  test('null is an empty list', () => {
    expect(read(readers.account, account({ services: null, ledger: null }))).toMatchObject({
      services: [],
      unidentified: { services: [] },
    });
  });
});

test('an id is the same in upper and lower case', () => {
  const spelled: string[][] = [];
  const descriptions = new Descriptions([]);
  const reading = { descriptions, note: () => {}, spelled: (...pair: string[]) => void spelled.push(pair) };
  const value = readers.service.read({ service: { id: id.toUpperCase() } }, reading);
  expect(value).toMatchObject({ id });
  expect(spelled).toEqual([[id, id.toUpperCase()]]);
});

function shownService(fields: object) {
  const { services: items } = services({ id, ...fields });
  const [service] = items;
  if (!service) throw new Error('it was not identified');
  return { items, service };
}

test('a template may keep its specification in a field of its own', () => {
  const spec = { name: 'base', image: 'ghcr.io/acme/base:1', command: ['run'], httpPort: 80 };
  const shown = read(readers.templates, { templates: [{ id, revision: 3, spec }] });
  expect(shown.items).toMatchObject([{ id, revision: 3, ...spec }]);
});

test.each(['INDEPENDENT', 'Independent'])(
  'the mode of a volume is known in any case of letters: %s',
  (mode) => {
    const { volumes } = read(readers.account, account({ volumes: [{ id, mode }] }));
    expect(volumes).toMatchObject([{ mode: 'independent' }]);
  },
);

test('a registry that only counts its services is as usable as one that does not show them', () => {
  const { items } = read(readers.registries, { registries: [{ id, revision: 1, linkedServices: 2 }] });
  expect(items[0]?.linkedServices).toBeUndefined();
  expect(items[0]?.unreadable?.some(({ decides }) => decides)).toBe(false);
});
