import { describe, expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import {
  attachable,
  keptVolume,
  namedVolume,
  ownsStorage,
  storageMadeBy,
  storageMadeWith,
  storageOfCreation,
  volumeMadeWith,
} from '../../../../src/kinds/container-service/storage.ts';
import { serviceDigests } from '../../../../src/kinds/container-service/fields.ts';
import { viewVolume } from '../../../../src/kinds/storage-volume/plan.ts';
import { annotations } from '../../../../src/resources/index.ts';
import {
  aRecord,
  aService,
  aSpec,
  aVolume,
  aVolumeSpec,
  actionOf,
  owner,
  serviceId,
  serviceInputs,
  serviceKey,
  servicePlan,
  volumeId,
  volumeInputs,
} from '../../../support/plan.ts';

type Made = Parameters<typeof ownsStorage>[4];

// COVERAGE 36, 51
const otherId = '33333333-3333-4333-8333-333333333333';

describe('a service owns storage', () => {
  const service = aService({});
  const attached = (mode: string | null | undefined) => [aVolume({ serviceId: service.id, mode })];
  const nobody = () => false;
  const owned = (
    spec: Parameters<typeof ownsStorage>[0],
    of: Parameters<typeof ownsStorage>[1],
    volumes: Parameters<typeof ownsStorage>[2],
    { made, isManaged = nobody }: { made?: Made; isManaged?: (id: string) => boolean } = {},
  ) => ownsStorage(spec, of, volumes, isManaged, made);

  test.each(['service', 'something-new', null, undefined])('when its volume says mode %s', (mode) => {
    expect(owned(aSpec(), service, attached(mode), { made: 'none' })).toBe(true);
  });

  test('and none when the volume is independent, or an object of ours', () => {
    expect(owned(aSpec(), service, attached('independent'))).toBe(false);
    expect(owned(aSpec(), service, attached(undefined), { isManaged: () => true })).toBe(false);
    expect(owned(aSpec(), service, [aVolume({ mode: 'service' })])).toBe(false);
  });

  test('maybe, when it was found and whose storage another volume is could not be read', () => {
    const hidden = {
      field: 'serviceId',
      found: 'a number: 9',
      expected: 'the id of a service',
      decides: true,
    };
    const odd = { ...aVolume({ id: otherId, mode: 'service' }), serviceId: undefined, unreadable: [hidden] };
    expect(owned(aSpec({ adopt: { id: service.id } }), service, [odd], { made: 'none' })).toBe(true);
    expect(owned(aSpec(), service, [odd])).toBe(true);
    // One that we made has the storage that it was made with.
    expect(owned(aSpec(), service, [odd], { made: 'none' })).toBe(false);
  });

  test('when the volume that it shows is not among those of the account', () => {
    const spec = aSpec({ adopt: { id: service.id } });
    const attachedTo = aService({ volumeId: otherId });
    const listed = aVolume({ id: otherId, mode: 'independent' });
    for (const given of [spec, aSpec()]) {
      expect(owned(given, attachedTo, [aVolume({})])).toBe(true);
      expect(owned(given, attachedTo, [aVolume({})], { made: 'none' })).toBe(true);
      expect(owned(given, attachedTo, [aVolume({})], { made: 'independent' })).toBe(false);
      expect(owned(given, attachedTo, [listed])).toBe(false);
      expect(owned(given, attachedTo, [], { isManaged: () => true })).toBe(false);
      expect(owned({ ...given, storage: { volumeId: otherId } }, attachedTo, [])).toBe(false);
    }
  });

  test('when it was created with storage that is not independent, seen or not', () => {
    expect(owned(aSpec({ storage: { volumeGb: 10 } }), undefined, [])).toBe(true);
    const independent = aSpec({ storage: { volumeGb: 10, volumeMode: 'independent' } });
    expect(owned(independent, undefined, [])).toBe(false);
    expect(owned(independent, service, [], { made: 'own' })).toBe(true);
    expect(owned(aSpec(), service, [aVolume({})], { made: 'own' })).toBe(true);
    expect(owned(aSpec(), undefined, [], { made: 'own' })).toBe(false);
  });

  test('unless the volume that was made with it is shown as independent', () => {
    expect(owned(aSpec(), service, attached('independent'), { made: 'own' })).toBe(false);
    const showing = aService({ volumeId: otherId });
    const listed = aVolume({ id: otherId, serviceId: undefined, mode: 'independent' });
    expect(owned(aSpec(), showing, [listed], { made: 'own' })).toBe(false);
  });
});

describe('the storage that a service was made with', () => {
  const independent = { volumeGb: 10, volumeMode: 'independent' };
  const made = (spec = aSpec(), applied = {}, kind = {}) =>
    storageMadeWith(spec, aRecord(serviceKey, { applied, kind }), owner.digestKey);
  const appliedOf = (storage: object | undefined) =>
    serviceDigests(serviceInputs({ spec: aSpec({ storage }) }));

  test('is what its creation made, whatever its document requests by now', () => {
    expect(storageMadeBy(aSpec())).toBe('none');
    expect(storageMadeBy(aSpec({ storage: { volumeId: otherId } }))).toBe('none');
    expect(storageMadeBy(aSpec({ storage: { volumeGb: 10 } }))).toBe('own');
    expect(storageMadeBy(aSpec({ storage: independent }))).toBe('independent');
    const created = (storage?: object) => storageOfCreation(aSpec({ storage }), owner.digestKey);
    expect(made(aSpec({ storage: { volumeGb: 10 } }), appliedOf(undefined), created())).toBe('none');
    expect(made(aSpec(), appliedOf(independent), created(independent))).toBe('independent');
    expect(made(aSpec(), appliedOf({ volumeGb: 10 }), created({ volumeGb: 10 }))).toBe('own');
  });

  test('is not what an earlier creation made, where an earlier version made the service anew and kept that', () => {
    const created = (storage?: object) => storageOfCreation(aSpec({ storage }), owner.digestKey);
    expect(made(aSpec(), appliedOf({ volumeGb: 10 }), created())).toBe('own');
    expect(made(aSpec(), appliedOf({ volumeGb: 10 }), created(independent))).toBe('own');
    expect(made(aSpec({ storage: { volumeGb: 10 } }), appliedOf(undefined), created(independent))).toBe(
      'own',
    );
  });

  test('counts without a proof of its creation only where that asks for more consent', () => {
    expect(made(aSpec(), {}, { storageMade: 'own' })).toBe('own');
    expect(made(aSpec(), appliedOf(undefined), { storageMade: 'own' })).toBe('own');
    expect(made(aSpec(), appliedOf({ volumeGb: 10 }), { storageMade: 'none' })).toBe('own');
    expect(made(aSpec({ storage: { volumeGb: 10 } }), {}, { storageMade: 'independent' })).toBe('own');
  });

  test('may be its own if a document asked for any, where an earlier version or somebody else made it', () => {
    expect(made(aSpec(), appliedOf({ volumeGb: 10 }))).toBe('own');
    expect(made(aSpec(), appliedOf(independent))).toBe('own');
    expect(made(aSpec({ storage: independent }))).toBe('own');
  });

  test('is not what a request before an adoption asked for', () => {
    const adopted = aSpec({ adopt: { id: otherId } });
    expect(made(adopted, {}, { storageMade: 'independent' })).toBeUndefined();
    expect(made(adopted, {}, { storageMade: 'own' })).toBe('own');
  });

  test('is not known to be any if no document asked for it', () => {
    expect(made()).toBeUndefined();
    expect(made(aSpec(), appliedOf(undefined))).toBeUndefined();
    expect(made(aSpec({ storage: { volumeId: otherId } }), appliedOf({ volumeId: otherId }))).toBeUndefined();
  });
});

// COVERAGE 35
describe('independent storage that was made with a service', () => {
  const spec = aSpec({ storage: { volumeGb: 50, volumeMode: 'independent' } });
  const applied = serviceDigests(serviceInputs({ spec }));
  const record = aRecord(serviceKey, { kind: { madeVolumeId: volumeId }, applied });
  const kept = (volume: wire.Volume | undefined, of = spec, given = {}) =>
    keptVolume(
      { spec: of, annotations: given },
      record,
      'trainer',
      owner.digestKey,
      new Map(volume ? [[volume.id, volume]] : []),
    );

  test('is known by its attachment', () => {
    const volumes = new Map([[volumeId, aVolume({ serviceId })]]);
    expect(volumeMadeWith(spec, aService(), volumes)).toBe(volumeId);
    expect(volumeMadeWith(aSpec(), aService(), volumes)).toBeUndefined();
    expect(
      volumeMadeWith(spec, aService(), new Map([[volumeId, aVolume({ serviceId, mode: 'service' })]])),
    ).toBeUndefined();
  });

  test('is attached again when the service is created anew, and no second one is made', () => {
    const volume = kept(aVolume());
    expect(volume).toEqual({ kind: 'usable', id: volumeId });
    const { body } = actionOf(servicePlan({ spec, service: 'new', volume }), 'create-service');
    expect(body).toMatchObject({ volumeId });
    expect(body).not.toHaveProperty('volumeGb');
    expect(body).not.toHaveProperty('volumeMode');
  });

  test.each([
    ['attached to the old service', aVolume({ serviceId }), /still attached/],
    ['not ready', aVolume({ status: 'expanding' }), /is expanding/],
  ])('is waited for while it is %s', (_, volume, message) => {
    expect(kept(volume)).toMatchObject({ kind: 'not-ready', message: expect.stringMatching(message) });
  });

  test('gone from the account, is replaced by empty storage only with the word of a person', () => {
    expect(kept(undefined)).toMatchObject({ kind: 'problem', reason: 'DataLost' });
    expect(kept(undefined, spec, { [annotations.confirmDataLoss]: 'trainer' })).toEqual({ kind: 'none' });
  });

  test('is attached to what takes the place of the service that has it, and not in another region', () => {
    const volumes = new Map([[volumeId, aVolume({ serviceId, region: 'standard' })]]);
    const replaced = (of: typeof spec) =>
      keptVolume(
        { spec: of, annotations: {} },
        record,
        'trainer',
        owner.digestKey,
        volumes,
        (user) => user === serviceId,
      );
    expect(replaced(spec)).toEqual({ kind: 'usable', id: volumeId });
    expect(replaced({ ...spec, region: 'economy' })).toMatchObject({
      kind: 'problem',
      reason: 'InvalidReference',
      message: expect.stringMatching(/standard.*economy/),
    });
  });

  test('stays by itself when the spec asks for other storage', () => {
    const larger = aSpec({ storage: { volumeGb: 80, volumeMode: 'independent' } });
    expect(kept(aVolume(), larger)).toEqual({ kind: 'none' });
  });
});

describe('a volume that is named by its id, for a service that is to be created,', () => {
  const named = (volume: wire.Volume | undefined, leaving?: string) =>
    namedVolume(volumeId, aSpec(), new Map(volume ? [[volume.id, volume]] : []), (user) => user === leaving);

  test('can be used when it is ready, in the same region, and attached to nothing that stays', () => {
    expect(named(aVolume())).toEqual({ kind: 'usable', id: volumeId });
    expect(named(aVolume({ serviceId }), serviceId)).toEqual({ kind: 'usable', id: volumeId });
    expect(named(aVolume({ serviceId }))).toMatchObject({ kind: 'not-ready' });
  });

  test('is a mistake when it is not in the account, or in another region', () => {
    const path = ['spec', 'storage', 'volumeId'];
    expect(named(undefined)).toMatchObject({ kind: 'problem', reason: 'ReferenceNotFound', path });
    expect(named(aVolume({ region: 'economy' }))).toMatchObject({ reason: 'InvalidReference' });
  });
});

// COVERAGE 37
describe('a volume object that a new service is to be attached to', () => {
  const offered = (world: Parameters<typeof volumeInputs>[0], spec = aSpec()) => {
    const inputs = volumeInputs(world);
    return attachable(viewVolume(inputs), inputs, spec);
  };

  test('can be used when it is ready, in the same region, and attached to nothing', () => {
    expect(offered({})).toEqual({ kind: 'usable', id: volumeId });
    expect(offered({ volume: aVolume({ status: 'provisioning' }) })).toMatchObject({ kind: 'not-ready' });
  });

  test('that the service has which is to be replaced is free for its successor, and for nobody else', () => {
    const inputs = volumeInputs({
      attachedTo: { kind: 'ours', id: serviceId, name: 'trainer', state: 'running' },
    });
    const view = viewVolume(inputs);
    const isDeleted = (id: string) => (user: string) => user === id;
    expect(attachable(view, inputs, aSpec(), isDeleted(serviceId))).toEqual({ kind: 'usable', id: volumeId });
    expect(attachable(view, inputs, aSpec(), isDeleted(volumeId))).toMatchObject({ kind: 'not-ready' });
  });

  test('a volume that grows once its user is paused is not free for another service, unless its user goes', () => {
    const user = { kind: 'ours', id: serviceId, name: 'trainer', state: 'running' } as const;
    const spec = aVolumeSpec({ sizeGb: 200, expansion: 'PauseService' });
    const inputs = volumeInputs({ spec, before: aVolumeSpec(), attachedTo: user });
    const view = viewVolume(inputs);
    const isDeleted = (id: string) => (other: string) => other === id;
    expect(view).toMatchObject({ kind: 'growing', needsPause: true });
    expect(attachable(view, inputs, aSpec())).toMatchObject({
      kind: 'not-ready',
      message: 'StorageVolume dataset is still attached to ContainerService trainer',
    });
    expect(attachable(view, inputs, aSpec(), isDeleted(serviceId))).toEqual(view);
  });

  test('of another region is a mistake, whether it is there yet or not', () => {
    const spec = aVolumeSpec({ region: 'economy' });
    for (const volume of [aVolume({ region: 'economy' }), 'new'] as const) {
      expect(offered({ spec, volume })).toMatchObject({
        kind: 'problem',
        reason: 'InvalidReference',
        path: ['spec', 'region'],
        message: expect.stringMatching(/economy.*standard/),
      });
    }
  });

  test.each([
    [{ kind: 'ours', id: serviceId, name: 'web', state: 'running' } as const, /ContainerService web/],
    [{ kind: 'foreign', id: serviceId, state: 'paused' } as const, /service 1111/],
  ])('is waited for while it is attached to another one: %j', (attachedTo, message) => {
    expect(offered({ attachedTo })).toMatchObject({
      kind: 'not-ready',
      message: expect.stringMatching(message),
    });
  });
});

// COVERAGE 104
test('where the account has all its volumes, a service that would bring another one is not asked for', () => {
  const world = { service: 'new', volumesInAccount: 50 } as const;
  const plan = servicePlan({ ...world, spec: aSpec({ storage: { volumeGb: 10 } }) });
  expect(plan).toMatchObject({ kind: 'hold', reason: 'LimitReached', path: ['spec', 'storage'] });
  expect(servicePlan(world).kind).toBe('act');
});
