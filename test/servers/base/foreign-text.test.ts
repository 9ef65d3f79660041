import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concealing, foreignText, oneLine } from '../../../src/base/index.ts';
import { cpuMs } from '../../support/cpu-time.ts';

const secret = 'pa55 "word"/+?\nline two é';
const bytes = Buffer.from(secret);

describe('a text of somebody else', () => {
  test.each([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ value: secret })],
    ['in an address', `https://x.example/?v=${encodeURIComponent(secret)}`],
    ['in base64', bytes.toString('base64')],
    ['in base64 for addresses', bytes.toString('base64url')],
    ['in base64, with what stood before it', Buffer.from(`Bearer ${secret}`).toString('base64')],
    ['in base64, between other words', Buffer.from(`a key: ${secret}, of mine`).toString('base64url')],
    ['in hex', bytes.toString('hex')],
    ['in capital hex', bytes.toString('hex').toUpperCase()],
    ['in capitals', secret.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())],
    ['with each of its bytes escaped', bytes.toString('hex').replaceAll(/../g, '%$&')],
    ['cut at its end', `can't use ${secret.slice(0, 10)}`],
    ['cut at its beginning', `…${secret.slice(9)} is wrong`],
  ])('loses a secret that is repeated %s', (_how, text) => {
    const reported = foreignText(text, { secrets: [secret] });
    expect(reported).toContain('[redacted]');
    const shifted = [1, 2].map((before) =>
      Buffer.concat([Buffer.alloc(before), bytes])
        .toString('base64url')
        .slice(before + 1, -1),
    );
    for (const form of [secret, bytes.toString('base64'), ...shifted, bytes.toString('hex')]) {
      for (let at = 0; at + 8 <= form.length; at += 1) {
        expect(reported.toLowerCase()).not.toContain(form.slice(at, at + 8).toLowerCase());
      }
    }
  });

  test('law: no piece of eight characters of any secret is left, whatever is around it', () => {
    const word = fc.stringMatching(/^[a-z0-9]{8,40}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.nat(3), fc.nat(40), fc.nat(40), fc.string({ maxLength: 5 })), { maxLength: 8 }),
        (secrets, parts) => {
          const text = parts
            .map(
              ([pick, from, to, between]) => (secrets[pick % secrets.length] ?? '').slice(from, to) + between,
            )
            .join('');
          const reported = foreignText(text, { secrets });
          const pieces = secrets.flatMap((value) =>
            Array.from({ length: value.length - 7 }, (_, at) => value.slice(at, at + 8)),
          );
          expect(pieces.filter((piece) => reported.replaceAll('[redacted]', '\n').includes(piece))).toEqual(
            [],
          );
        },
      ),
    );
  });

  test('law: it is the same text beside a secret that is too long for a set of its pieces', () => {
    const large = 'q'.repeat(26_000);
    const word = fc.stringMatching(/^[a-e]{4,30}$/);
    const part = fc.tuple(fc.nat(3), fc.nat(30), fc.nat(30), fc.stringMatching(/^[ a-eA-E]{0,6}$/));
    const lists = [fc.array(word, { minLength: 1, maxLength: 3 }), fc.array(part, { maxLength: 8 })] as const;
    fc.assert(
      fc.property(...lists, (secrets, parts) => {
        const text = parts
          .map(([pick, from, to, after]) => (secrets[pick % secrets.length] ?? '').slice(from, to) + after)
          .join('');
        const confidence = { shortestSecret: 4 };
        expect(foreignText(text, { ...confidence, secrets: [...secrets, large] })).toBe(
          foreignText(text, { ...confidence, secrets }),
        );
      }),
      { numRuns: 15 },
    );
  });

  test('is what it is alone, after any number of others', () => {
    const show = concealing({ secrets: [secret] });
    const texts = [secret, 'plain', `can't use ${secret.slice(0, 10)}`, '', bytes.toString('hex'), secret];
    for (const text of texts) expect(show(text)).toBe(foreignText(text, { secrets: [secret] }));
  });

  test('keeps what is no secret, and words that are too short to be one', () => {
    const text = "can't pull ghcr.io/acme/app: manifest unknown";
    expect(foreignText(text, { secrets: ['app', 'hunter2-and-more'] })).toBe(text);
  });

  test('is one line without anything that a terminal obeys or does not show', () => {
    const hostile = 'a\r\n\u001b[31mb\u009b2J\u202ec\u2028d\u{e0041}\u200be\u007f';
    expect(oneLine(hostile)).toBe('a [31mb 2J c d e');
    expect(foreignText(hostile)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  test('is bounded, and so is the work on it', () => {
    const startedAt = cpuMs();
    const reported = foreignText('ab'.repeat(20_000_000), { secrets: ['ba'.repeat(500_000)], longest: 120 });
    expect(reported.length).toBeLessThanOrEqual(120);
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});
