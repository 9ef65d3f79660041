/**
 * A creation without an answer, in an account with things that show no marks: what was there before is not what it made. Only what came since
 * may be, and then a person is told which.
 */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  scriptedFleet,
  shownService,
  shownVolume,
  stoppedAfterEach,
  web,
  type ScriptedApi,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const minuteMs = 60_000;
const theirId = '00000000-0000-4000-8000-000000000900';
const theirIds = [
  theirId,
  ...Array.from(
    { length: 300 },
    (_, index) => `00000000-0000-4000-8000-${String(1000 + index).padStart(12, '0')}`,
  ),
];
const madeId = '00000000-0000-4000-8000-000000000100';
const document = (kind: string, name: string, spec: object) =>
  stringify({ apiVersion, kind, metadata: { name }, spec });
const templateSpec = { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 } };

interface Case {
  readonly key: ObjectKey;
  readonly document: string;
  readonly post: string;
  /** Without its mark. */
  readonly shown: (id: string) => Record<string, unknown>;
  readonly show: (api: ScriptedApi, things: Record<string, unknown>[]) => void;
}

const cases: [string, Case][] = [
  [
    'a service',
    {
      key: web,
      document: serviceDocument('web'),
      post: 'POST /api/services',
      shown: (id) => shownService({ id, environmentNames: undefined }),
      show: (api, things) => void (api.services = things),
    },
  ],
  [
    'a volume',
    {
      key: objectKey('StorageVolume', 'default', 'data'),
      document: document('StorageVolume', 'data', { region: 'standard', sizeGb: 10 }),
      post: 'POST /api/volumes',
      shown: (id) => ({ ...shownVolume(id, null), name: undefined }),
      show: (api, things) => void (api.volumes = things),
    },
  ],
  [
    'a template',
    {
      key: objectKey('ServiceTemplate', 'default', 'base'),
      document: document('ServiceTemplate', 'base', templateSpec),
      post: 'POST /api/templates',
      shown: (id) => ({ id, name: 'base', revision: 1, ...templateSpec }),
      show: (api, things) =>
        void (api.on['GET /api/templates'] = () => ({ status: 200, body: { templates: things } })),
    },
  ],
];

interface Provider {
  /** The keys of the creations. */
  readonly keys: (string | undefined)[];
  isMade: boolean;
  /** How many things of others there are; default: one. */
  readonly others?: number;
  fate: 'answered' | 'answer lost' | 'request lost';
}

const running = stoppedAfterEach();

async function fleetBefore(
  given: Case,
  provider: Provider,
  options: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'it.yaml': given.document }), {
    settleMs: 5000,
    ...options,
    prepare: (api) => {
      const show = () =>
        given.show(api, [
          ...theirIds.slice(0, provider.others ?? 1).map(given.shown),
          ...(provider.isMade ? [given.shown(madeId)] : []),
        ]);
      show();
      api.on[given.post] = ({ key }) => {
        provider.keys.push(key);
        if (provider.fate === 'request lost') return 'lost';
        provider.isMade = true;
        show();
        return provider.fate === 'answer lost' ? 'lost' : { status: 201, body: given.shown(madeId) };
      };
    },
  });
  running.push(fleet);
  return fleet;
}

const idOf = ({ store }: ScriptedFleet, { key }: Case) => store.record(key)?.externalId;
const stalled = ({ store }: ScriptedFleet, { key }: Case) =>
  store.record(key)?.status?.conditions.find(({ type }) => type === 'Stalled');

test.each(cases)(
  '%s was not made: the same request is sent again, and nobody is asked',
  async (_what, given) => {
    const provider: Provider = { keys: [], isMade: false, fate: 'request lost' };
    const fleet = await fleetBefore(given, provider);
    await fleet.clock.advance(10_000);
    provider.fate = 'answered';
    await fleet.clock.advance(3 * minuteMs);
    expect(provider.keys).toHaveLength(2);
    expect(new Set(provider.keys).size).toBe(1);
    expect(idOf(fleet, given)).toBe(madeId);
  },
);

test.each(cases)('%s was not made: the next process knows what was there before', async (_what, given) => {
  const provider: Provider = { keys: [], isMade: false, fate: 'request lost' };
  const first = await fleetBefore(given, provider);
  await first.clock.advance(10_000);
  await first.manager.stop();
  provider.fate = 'answered';
  const fleet = await fleetBefore(given, provider, { store: first.store });
  await fleet.clock.advance(3 * minuteMs);
  expect(new Set(provider.keys).size).toBe(1);
  expect(idOf(fleet, given)).toBe(madeId);
  expect(fleet.store.record(given.key)?.beforeCreation).toBeUndefined();
});

test.each(cases)(
  '%s was made: a person is told which may be it, and nothing else is created',
  async (_what, given) => {
    const provider: Provider = { keys: [], isMade: false, fate: 'answer lost' };
    const fleet = await fleetBefore(given, provider);
    await fleet.clock.advance(30 * minuteMs);
    expect(provider.keys).toHaveLength(1);
    expect(stalled(fleet, given)).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
    expect(stalled(fleet, given)?.message).toContain(madeId);
    expect(stalled(fleet, given)?.message).not.toContain(theirId);
  },
);

test.each(cases.slice(0, 1))(
  '%s is created beside hundreds of others: no record grows with them',
  async (_what, given) => {
    const provider: Provider = { keys: [], isMade: false, others: 300, fate: 'answer lost' };
    const fleet = await fleetBefore(given, provider);
    await fleet.clock.advance(10_000);
    expect(provider.keys).toHaveLength(1);
    expect(JSON.stringify(fleet.store.record(given.key)).length).toBeLessThan(10_000);
    await fleet.clock.advance(30 * minuteMs);
    expect(provider.keys).toHaveLength(1);
    expect(stalled(fleet, given)).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
  },
);
