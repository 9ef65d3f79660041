import { describe, expect, test } from 'vitest';
import { identityName, judgeIdentity } from '../../../../src/engine/plan/index.ts';
import { owner } from '../../../support/plan.ts';

const { digestKey } = owner;
const emailDigest = digestKey.digest('a@b.example');
const judge = (
  seen: Parameters<typeof judgeIdentity>[0],
  pinned?: { id?: string; emailDigest?: string },
  accepted: readonly string[] = [],
) => {
  const pin = pinned && { id: pinned.id, emailDigest: pinned.emailDigest };
  return judgeIdentity(seen, pin, accepted, digestKey);
};

// COVERAGE 2, 83
describe('the identity of an account', () => {
  test('is pinned at first sight: the id as it is, the address as a keyed digest', () => {
    expect(judge({ id: 'acme', email: ' A@b.example' })).toEqual({
      kind: 'ours',
      pin: { id: 'acme', emailDigest },
    });
  });

  test('that shows neither can not be pinned', () => {
    expect(judge({ emailVerified: true })).toEqual({ kind: 'unknown' });
    expect(judge({ id: '', email: '' })).toEqual({ kind: 'unknown' });
  });

  test.each([
    ['the same id', { id: 'acme' }, { id: 'acme' }],
    [
      'the same id under another address',
      { id: 'acme', email: 'new@b.example' },
      { id: 'acme', emailDigest },
    ],
    ['the same address in other letters', { email: 'A@B.example' }, { emailDigest }],
    ['the same address, and an id for the first time', { id: 'acme', email: 'a@b.example' }, { emailDigest }],
    ['only the address of the two that were pinned', { email: 'a@b.example' }, { id: 'acme', emailDigest }],
  ])('%s is the same account', (_, seen, pinned) => {
    expect(judge(seen, pinned).kind).toBe('ours');
  });

  test('what is not shown this time is not forgotten', () => {
    expect(judge({ email: 'a@b.example' }, { id: 'acme', emailDigest })).toEqual({
      kind: 'ours',
      pin: { id: 'acme', emailDigest },
    });
  });

  test.each([
    ['another id', { id: 'other' }, { id: 'acme' }],
    ['another id with the same address', { id: 'other', email: 'a@b.example' }, { id: 'acme', emailDigest }],
    ['another address', { email: 'x@b.example' }, { emailDigest }],
    ['nothing that can be compared', { email: 'a@b.example' }, { id: 'acme' }],
    ['nothing at all', {}, { id: 'acme' }],
  ])('%s is another account', (_, seen, pinned) => {
    expect(judge(seen, pinned).kind).toBe('changed');
  });

  test('a person accepts exactly the one that is named', () => {
    const pinned = { id: 'acme' };
    expect(judge({ id: 'other' }, pinned, ['other'])).toMatchObject({ kind: 'ours', pin: { id: 'other' } });
    expect(judge({ id: 'third' }, pinned, ['other'])).toMatchObject({ kind: 'changed', seen: 'third' });
    const seen = judge({ email: 'x@b.example' }, { emailDigest });
    const name = seen.kind === 'changed' ? seen.seen : '';
    expect(name).toMatch(/^email-[0-9a-f]{16}$/);
    expect(judge({ email: 'x@b.example' }, { emailDigest }, [name]).kind).toBe('ours');
    expect(identityName({ id: undefined, emailDigest: undefined })).toBe('unknown');
    expect(judge({}, pinned, ['unknown']).kind).toBe('ours');
  });
});
