/** Whose a volume is whose mark was made with another digest key: eight digits are not enough where they can be searched for. */
import { expect, test } from 'vitest';
import {
  adoptedAs,
  whyNotAdopted,
  whyNotFound,
  type Claimant,
} from '../../../../src/engine/observation/claims.ts';
import { volumeMark } from '../../../../src/engine/plan/index.ts';
import { volumeMarks } from '../../../../src/kinds/storage-volume/marks.ts';
import { objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { aRecord, aVolume, anOwner, owner, volumeKey } from '../../../support/plan.ts';

const record = aRecord(volumeKey);
const other = aRecord(objectKey('StorageVolume', 'evil', 'searched'));
const anotherKey = anOwner('lab', 8);
const ours = aVolume({ name: `dataset${volumeMark(owner, record.uid)}` });
const ofAnotherKey = aVolume({ name: `dataset${volumeMark(anotherKey, record.uid)}` });

/** What a person reads. */
function messageFor(holder: ObjectKey, more: Partial<Claimant>): string {
  const claimant = {
    record,
    owner,
    others: () => [],
    needsKey: false,
    inCluster: false,
    ...more,
    holderOf: () => holder,
  };
  return whyNotFound(claimant, ours, volumeMarks)?.message ?? '';
}

function refusal(volume = ours, more: Partial<Claimant> = {}): string | undefined {
  const claimant = {
    record,
    owner,
    holderOf: () => undefined,
    others: () => [],
    needsKey: false,
    inCluster: false,
    ...more,
  };
  return whyNotFound(claimant, volume, volumeMarks)?.reason;
}

test('that of this key is the object it was made for, whatever has the same digits', () => {
  expect(refusal(ours, { others: () => [other], needsKey: true })).toBeUndefined();
});

test('that of another key is nobody’s when two objects have its digits', () => {
  expect(refusal(ofAnotherKey)).toBeUndefined();
  expect(refusal(ofAnotherKey, { others: () => [other] })).toBe('OwnershipUnproven');
});

test('in a cluster, that of another key is confirmed by an operator', () => {
  expect(refusal(ofAnotherKey, { needsKey: true })).toBe('OwnershipUnproven');
});

test('what another object has is not found by any mark', () => {
  expect(refusal(ours, { holderOf: () => other.key })).toBe('AdoptedTwice');
});

test('in a cluster, an object of another namespace is not named', () => {
  const neighbour = objectKey('StorageVolume', 'default', 'neighbour');
  expect(messageFor(neighbour, { inCluster: true })).toContain(neighbour);
  expect(messageFor(other.key, { inCluster: true })).toMatch(/by an object of another namespace/);
  expect(messageFor(other.key, { inCluster: true })).not.toMatch(/evil|searched/);
  expect(messageFor(other.key, {})).toContain(other.key);
  const reader = { record, inCluster: true };
  expect(adoptedAs(reader, ours.id, other.key).message).not.toContain(other.key);
  expect(adoptedAs({ ...reader, inCluster: false }, ours.id, other.key).message).toContain(other.key);
  const rival = { holderOf: () => undefined, others: () => [other], needsKey: false, inCluster: true };
  const { message } = whyNotFound({ record, owner, ...rival }, ofAnotherKey, volumeMarks) ?? {};
  expect(message).toMatch(/that of an object of another namespace/);
  expect(message).not.toMatch(/evil|searched/);
});

test('what carries the mark of another object is adopted only if that has something else', () => {
  const adopted = (externalId: string | undefined) => {
    const others = () => [{ ...other, externalId }];
    const claimant = { record, owner, holderOf: () => undefined, others, needsKey: false, inCluster: false };
    const theirs = aVolume({ name: `dataset${volumeMark(owner, other.uid)}` });
    return whyNotAdopted(claimant, theirs, volumeMarks)?.reason;
  };
  expect([adopted(undefined), adopted(ours.id)]).toEqual(['AdoptedTwice', 'AdoptedTwice']);
  expect(adopted('33333333-3333-4333-8333-333333333333')).toBeUndefined();
});
