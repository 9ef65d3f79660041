import { describe, expect, test } from 'vitest';
import { nextMoney, observedAccount, type AccountFacts } from '../../../../src/kinds/account/status.ts';
import type { ShownMoney } from '../../../../src/resources/index.ts';
import { aService } from '../../../support/plan.ts';

const noon = Date.UTC(2026, 0, 1, 12);

function facts(read: { balanceMicros?: number; afterMs?: number; services?: number } = {}): AccountFacts {
  const { balanceMicros = 7_200_000, afterMs = 0, services = 1 } = read;
  const running = Array.from({ length: services }, (_, index) =>
    aService({ id: `00000000-0000-4000-8000-00000000000${index}`, hourlyMicros: 3_600_000 }),
  );
  return {
    url: 'https://api.example.com',
    identity: 'acme',
    emailVerified: undefined,
    sharedWith: [],
    read: {
      at: noon + afterMs,
      balanceMicros,
      currency: 'USD',
      services: new Map(running.map((service) => [service.id, service])),
      volumes: new Map(),
    },
    quotas: [{ resource: 'volumes', used: 1, limit: 50 }],
    payment: undefined,
    prices: [],
    pricesSignature: 'x',
    capacity: [],
    capacitySignature: 'x',
  };
}

/** `before`: the amounts that were shown before. */
const shown = (of: AccountFacts, before?: ShownMoney) => observedAccount(of, nextMoney(of, before));
const first = shown(facts());

describe('the status of an Account', () => {
  // COVERAGE 62, 88, 89
  test('tells what is left, what it costs and how long it lasts', () => {
    expect(first).toEqual({
      url: 'https://api.example.com',
      identityPinned: true,
      identity: 'acme',
      services: 1,
      volumes: 0,
      limits: { volumes: { used: 1, limit: 50 } },
      currency: 'USD',
      balanceMicros: 7_200_000,
      burnMicrosPerHour: 3_600_000,
      runwayHours: 2,
      moneyAt: '2026-01-01T12:00:00Z',
    });
  });

  test('has nothing to tell before the first read, and no runway while nothing burns', () => {
    expect(shown({ ...facts(), read: undefined })).toEqual({
      url: 'https://api.example.com',
    });
    expect(shown(facts({ services: 0 }))).not.toHaveProperty('runwayHours', expect.anything());
  });

  test('says that an account could not be pinned', () => {
    expect(shown({ ...facts(), identity: undefined })).toMatchObject({
      identityPinned: false,
    });
  });

  test('is not written anew with each charge, but once a minute', () => {
    const charged = (afterMs: number) =>
      shown(facts({ balanceMicros: 7_000_000, afterMs }), nextMoney(facts(), undefined));
    expect(charged(59_000)).toEqual(first);
    expect(charged(60_000)).toMatchObject({ balanceMicros: 7_000_000, moneyAt: '2026-01-01T12:01:00Z' });
  });

  test('is written at once when the burn changes, and never when nothing does', () => {
    expect(shown(facts({ services: 2, afterMs: 1 }), nextMoney(facts(), undefined))).toMatchObject({
      runwayHours: 1,
    });
    expect(shown(facts({ afterMs: 86_400_000 }), nextMoney(facts(), undefined))).toEqual(first);
  });
});
