/** The roster of a fleet whose state was lost, or that was deleted before its services were gone. */
import { expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import { digestKey } from '../../../../src/base/index.ts';
import { beaconName, derivedUid, ownerId } from '../../../../src/engine/plan/index.ts';
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
) => foundRoster({ owner, store } as never, 'ServiceFleet/default/llm', { services, volumes }, own, startMs);

test('replicas are found by their marks, in the region that they are shown in', () => {
  const roster = found([replica(2, { region: 'economy' }), replica(0)], []);
  expect(roster).toEqual([
    { slot: 0, phase: 'wanted', since: startMs, place },
    { slot: 2, phase: 'wanted', since: startMs, place: { ...place, region: 'economy' } },
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
