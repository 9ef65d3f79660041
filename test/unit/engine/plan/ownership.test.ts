import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sensitive, digestKey } from '../../../../src/base/index.ts';
import {
  type Owner,
  beaconName,
  compactUid,
  derivedUid,
  describedWithMark,
  environmentDigest,
  ownerId,
  parseBeacon,
  readMark,
  readTemplateMark,
  readVolumeMark,
  templateMark,
  volumeMark,
  withVolumeMark,
  withoutTemplateMark,
} from '../../../../src/engine/plan/index.ts';
import { documents, apiVersion } from '../../../../src/resources/index.ts';
import { anOwner, owner, serviceUid, volumeUid } from '../../../support/plan.ts';

const anyOwner = fc
  .tuple(fc.string({ minLength: 1 }), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([name, key]): Owner => ({ id: ownerId(name), digestKey: digestKey(Buffer.from(key)) }));
const anyEnvironment = fc.option(
  fc.dictionary(fc.string(), fc.string(), { maxKeys: 5 }).map((values) => new Sensitive(values)),
  { nil: undefined },
);

describe('the beacon', () => {
  test('what its name says is read back: owner, object, key and digest', () => {
    fc.assert(
      fc.property(anyOwner, fc.uuid(), anyEnvironment, (of, uid, environment) => {
        const name = beaconName(of, uid, environment);
        expect(name).toMatch(/^[A-Z_][A-Z0-9_]*$/);
        expect(parseBeacon(name)).toEqual({
          name,
          ownerId: of.id,
          uid: compactUid(uid),
          keyId: of.digestKey.id,
          digest: environmentDigest(of, environment),
        });
        expect(readMark(['A', name, 'B'], of, uid)).toMatchObject({ ours: { name }, foreign: undefined });
      }),
    );
  });

  test('anything else is only a variable', () => {
    const name = beaconName(owner, serviceUid, undefined);
    for (const other of ['', 'PATH', `X${name}`, `${name}0`, name.toLowerCase(), name.slice(0, -1)]) {
      expect(parseBeacon(other)).toBeUndefined();
    }
    fc.assert(fc.property(fc.string(), (text) => parseBeacon(text) === undefined));
  });

  test('another owner, and another object of ours, are not us', () => {
    const foreign = beaconName(anOwner('another'), serviceUid, undefined);
    const sibling = beaconName(owner, derivedUid('lab', 'ContainerService/default/web'), undefined);
    for (const name of [foreign, sibling]) {
      expect(readMark([name], owner, serviceUid)).toMatchObject({ ours: undefined, foreign: { name } });
    }
    expect(readMark(undefined, owner, serviceUid)).toEqual({ ours: undefined, foreign: undefined });
  });

  test('the digest tells values apart, and is the same whatever the order of the variables', () => {
    const digest = (values: Record<string, string>) => environmentDigest(owner, new Sensitive(values));
    expect(digest({ A: '1', B: '2' })).toBe(digest({ B: '2', A: '1' }));
    const different = [digest({ A: '1' }), digest({ A: '2' }), digest({ A: '1', B: '' }), digest({})];
    expect(new Set([...different, environmentDigest(owner, undefined)]).size).toBe(5);
  });

  test('the digest can not be checked without the key, and no value is in the name', () => {
    const values = new Sensitive({ TOKEN: 'canary' });
    expect(environmentDigest(anOwner('lab', 1), values)).not.toBe(
      environmentDigest(anOwner('lab', 2), values),
    );
    expect(beaconName(owner, serviceUid, values).toLowerCase()).not.toContain('canary');
  });
});

describe('the mark of a volume', () => {
  const metadataName = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?$/);
  const accepts = (name: string, volumeName?: string) =>
    documents.StorageVolume.safeParse({
      apiVersion,
      kind: 'StorageVolume',
      metadata: { name },
      spec: { region: 'standard', sizeGb: 10, ...(volumeName === undefined ? {} : { volumeName }) },
    }).success;

  // COVERAGE 105
  test('every name that the schema lets in has room for it, and it is found again', () => {
    fc.assert(
      fc.property(
        anyOwner,
        fc.uuid(),
        metadataName,
        fc.option(fc.string(), { nil: undefined }),
        (of, uid, name, given) => {
          fc.pre(accepts(name, given));
          const marked = `${given ?? name}${volumeMark(of, uid)}`;
          expect(marked.length).toBeLessThanOrEqual(64);
          expect(readVolumeMark(marked)).toBe(volumeMark(of, uid));
        },
      ),
    );
  });

  test('a name of its own that is too long is refused with its path, also when it is the name of the object', () => {
    expect(accepts('d'.repeat(48))).toBe(true);
    expect(accepts('d'.repeat(49))).toBe(false);
    expect(accepts('d'.repeat(49), 'corpus')).toBe(true);
    expect(accepts('dataset', 'c'.repeat(49))).toBe(false);
  });

  test.each([
    ['in upper case', (name: string) => name.toUpperCase()],
    ['with something of its own behind it', (name: string) => `${name}-x7f2`],
    ['with something of its own before it', (name: string) => `acme.${name}`],
  ])('it is found again when the API shows names %s', (_, shown) => {
    const mark = volumeMark(anOwner(), volumeUid);
    expect(readVolumeMark(shown(`dataset${mark}`))).toBe(mark);
  });

  test('an author who writes the mark of another object into a name has a volume of his own all the same', () => {
    const [own, others] = [volumeMark(anOwner(), volumeUid), volumeMark(anOwner(), serviceUid)];
    const name = `dataset${others}${own}`;
    expect(readVolumeMark(name)).toBe(own);
    expect(withVolumeMark(name, '-fk0123456789abc')).toBe(`dataset${others}-fk0123456789abc`);
  });

  test('a name without it has none', () => {
    for (const name of [undefined, '', 'dataset', 'dataset-fk', '-fk0123456789abc4d', '-fk0123456789xyz']) {
      expect(readVolumeMark(name)).toBeUndefined();
    }
  });
});

test('a template is known by its mark in whatever case the API shows its description', () => {
  const described = describedWithMark('For training', templateMark(anOwner(), volumeUid)).toUpperCase();
  expect(readTemplateMark(described)).toEqual({
    ownerId: anOwner().id,
    uid: compactUid(volumeUid),
    keyId: anOwner().digestKey.id,
  });
  expect(withoutTemplateMark(described)).toBe('FOR TRAINING');
});

test('an author who writes the mark of another object into a description has a template of his own all the same', () => {
  const [own, others] = [templateMark(anOwner(), volumeUid), templateMark(anOwner(), serviceUid)];
  const text = `mine\n${others}`;
  const described = describedWithMark(text, own);
  expect(readTemplateMark(described)?.uid).toBe(compactUid(volumeUid));
  expect(withoutTemplateMark(described)).toBe(text);
});

test('different owners and objects practically never share marks or uids', () => {
  const owners = Array.from({ length: 40 }, (_, index) => anOwner(`owner-${index}`));
  const keys = Array.from({ length: 100 }, (_, index) => `StorageVolume/default/v${index}`);
  const marks = owners.flatMap((of) => keys.map((key) => volumeMark(of, derivedUid('lab', key))));
  const uids = owners.flatMap((of) => keys.map((key) => derivedUid(of.id, key)));
  expect(new Set(marks).size).toBe(4000);
  expect(new Set(uids).size).toBe(4000);
});

test('the uid of an object is the same again after a lost state, and is a UUID', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, key) => {
      expect(derivedUid(name, key)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(derivedUid(name, key)).toBe(derivedUid(name, key));
    }),
  );
});
