/** The roster of a fleet whose state was lost, or that was deleted before its services were gone. */
import { expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import { digestKey } from '../../../../src/base/index.ts';
import { beaconName, derivedUid, ownerId, volumeMark } from '../../../../src/engine/plan/index.ts';
import { foundRoster } from '../../../../src/kinds/service-fleet/found.ts';
import type { ReplicaPlace } from '../../../../src/kinds/service-fleet/state.ts';
import { place, startMs } from './worlds.ts';

const store = { ownerName: 'fleet', digestKey: digestKey(Buffer.alloc(32, 1)) };
const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };

function replica(slot: number, more: Partial<wire.Service> = {}): wire.Service {
  const uid = derivedUid(store.ownerName, `ContainerService/default/llm-${slot}`);
  const id = `00000000-0000-4000-8000-00000000000${slot}`;
  return {
    id,
    region: 'standard',
    environmentNames: [beaconName(owner, uid, undefined)],
    ...more,
  };
}

const volume = (id: string, more: Partial<wire.Volume>) =>
  ({ id, region: 'standard', requestedSizeGb: 20, ...more }) as wire.Volume;

const found = (
  services: readonly wire.Service[],
  volumes: readonly wire.Volume[],
  own: ReplicaPlace = place,
  others: readonly ReplicaPlace[] = [],
) => {
  const candidates = [own, ...others].map((each, rank) => ({
    name: `candidate-${rank}`,
    rank,
    place: each,
    gpuModels: undefined,
    maxHourlyMicros: undefined,
    maxReplicas: 10,
  }));
  const contents = new Map([
    ['default', { services, volumes }],
    ['second', { services: [replica(7, { region: 'economy' })], volumes: [] }],
  ]);
  const key = 'ServiceFleet/default/llm';
  return foundRoster({ owner, store } as never, key, contents, candidates, startMs).roster.filter(
    ({ slot }) => others.length > 0 || slot !== 7,
  );
};

test('replicas are found by their marks, in the region that they are shown in', () => {
  const roster = found([replica(2, { region: 'economy' }), replica(0)], []);
  expect(roster).toEqual([
    { slot: 0, phase: 'wanted', since: startMs, place, candidate: 'candidate-0' },
    { slot: 2, phase: 'wanted', since: startMs, place: { ...place, region: 'economy' } },
  ]);
});

test('they are found in the accounts of all candidates, each at the candidate where it is', () => {
  const economy = { account: 'second', region: 'economy' };
  const europe = { ...place, geography: 'europe' };
  const services = [replica(0), replica(1, { geography: 'europe' }), replica(2, { region: 'lost' })];
  const roster = found(services, [], place, [economy, europe]);
  expect(
    roster.map(({ slot, candidate, place: { account, region } }) => [slot, candidate, account, region]),
  ).toEqual([
    [0, 'candidate-0', 'default', 'standard'],
    [1, 'candidate-2', 'default', 'standard'],
    [2, undefined, 'default', 'lost'],
    [7, 'candidate-1', 'second', 'economy'],
  ]);
});

test('what is found has the storage that it has, and not that of the document, unless nothing shows it', () => {
  const [own, other] = ['10000000-0000-4000-8000-000000000000', '20000000-0000-4000-8000-000000000000'];
  const services = [
    replica(0, { volumeId: own }),
    replica(1, { volumeId: other }),
    replica(2, { volumeId: null }),
    replica(3),
  ];
  const volumes = [
    volume(own, { mode: 'service', serviceId: services[0]?.id ?? '' }),
    volume(other, { mode: 'independent' }),
  ];
  const sizes = (sizeGb?: number) =>
    found(services, volumes, { ...place, ...(sizeGb === undefined ? {} : { volumeGb: sizeGb }) }).map(
      (entry) => entry.place.volumeGb,
    );
  expect(sizes()).toEqual([20, undefined, undefined, undefined]);
  expect(sizes(10)).toEqual([20, undefined, undefined, 10]);
});

test('volumes are found by their marks: those of replicas, and those that no replica has', () => {
  const volumeOf = (slot: number, more: Partial<wire.Volume> = {}) => {
    const uid = derivedUid(store.ownerName, `StorageVolume/default/llm-data-${slot}`);
    const id = `10000000-0000-4000-8000-00000000000${slot}`;
    return volume(id, { name: `llm-data-${slot}${volumeMark(owner, uid)}`, mode: 'independent', ...more });
  };
  const [first, second, third, kept] = [0, 1, 2, 5].map((slot) => volumeOf(slot));
  const shown = [first, { ...second, serviceId: replica(1).id }, third, { ...kept, region: 'Standard' }];
  const services = [
    replica(0, { volumeId: first?.id ?? '' }),
    replica(1),
    replica(2, { volumeId: null }),
    replica(3),
  ];
  const contents = new Map([['default', { services, volumes: shown as wire.Volume[] }]]);
  const candidate = {
    name: 'template',
    rank: 0,
    gpuModels: undefined,
    maxHourlyMicros: undefined,
    maxReplicas: 10,
  };
  const candidates = [{ ...candidate, place: { ...place, volume: true } as const }];
  const all = foundRoster(
    { owner, store } as never,
    'ServiceFleet/default/llm',
    contents,
    candidates,
    startMs,
  );
  expect(all.roster.map((entry) => [entry.slot, entry.place.volume])).toEqual([
    [0, true],
    [1, true],
    [2, undefined],
    [3, undefined],
  ]);
  expect(all.volumes).toEqual([0, 1, 2, 5].map((slot) => Object.assign({ slot, sizeGb: 20 }, place)));
});
