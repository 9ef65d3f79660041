import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import {
  type Funds,
  burnMicrosPerHour,
  clampedMicros,
  quotas,
  runwaySeconds,
  spendingGate,
  verificationGate,
} from '../../../../src/engine/plan/index.ts';
import { aService, aVolume, aSpec, servicePlan, said } from '../../../support/plan.ts';

const priced = (state: string, hourlyMicros: number | null) => aService({ state, hourlyMicros });
const funds = (more: Partial<Funds> = {}): Funds => ({
  balanceMicros: 5_000_000,
  currency: 'USD',
  minimumBalanceMicros: undefined,
  emailVerified: undefined,
  refusedAtMicros: undefined,
  ...more,
});
const gateOf = (more: Partial<Funds>) => {
  const gate = spendingGate('default/default', funds(more));
  return gate && `${gate.kind} ${gate.reason}`;
};

/** Its place is its id. */
const burnOf = (services: readonly wire.Service[], volumes: readonly wire.Volume[] = []) =>
  burnMicrosPerHour({
    services: new Map(services.map((service, at) => [String(at), service])),
    volumes: new Map(volumes.map((volume, at) => [String(at), volume])),
  });

describe('burn', () => {
  test.each([
    ['running', 7n],
    ['error', 7n],
    ['provisioning', 7n],
    ['a state that nobody knows', 7n],
    ['paused', 0n],
    ['sleeping', 0n],
    ['deleting', 0n],
  ])('a service that is %s costs %s', (state, expected) => {
    expect(burnOf([priced(state, 7)])).toBe(expected);
  });

  // COVERAGE 62
  test('volumes cost until they are being deleted; what shows no price costs nothing that we know of', () => {
    const volumes = ['ready', 'expanding', 'deleting'].map((status) => aVolume({ status, hourlyMicros: 10 }));
    expect(burnOf([priced('running', null), aService()], volumes)).toBe(20n);
  });

  test('is that of the lists as they are, whichever of them was added up before', () => {
    const services = new Map([['a', priced('running', 7)]]);
    const volumes = new Map([['b', aVolume({ status: 'ready', hourlyMicros: 10 })]]);
    expect(burnMicrosPerHour({ services, volumes })).toBe(17n);
    expect(burnMicrosPerHour({ services, volumes: new Map() })).toBe(7n);
    expect(burnMicrosPerHour({ services: new Map([['a', priced('running', 8)]]), volumes })).toBe(18n);
  });

  test.each([
    [0.2, 1n],
    [-1, 0n],
    [Number.POSITIVE_INFINITY, 0n],
  ])('a price of %s counts as %s', (hourlyMicros, expected) => {
    expect(burnOf([{ ...aService({ state: 'running' }), hourlyMicros }])).toBe(expected);
  });

  // COVERAGE 86, 88
  test('law: the sum is exact, whatever the amounts', () => {
    const amounts = fc.array(fc.maxSafeNat(), { maxLength: 50 });
    fc.assert(
      fc.property(amounts, (list) => {
        const expected = list.reduce((sum, amount) => sum + BigInt(amount), 0n);
        expect(burnOf(list.map((amount) => priced('running', amount)))).toBe(expected);
      }),
    );
  });

  test('beyond what a number holds exactly it is cut to that', () => {
    expect(clampedMicros(3n * 2n ** 53n)).toBe(Number.MAX_SAFE_INTEGER);
    expect(clampedMicros(12n)).toBe(12);
  });
});

describe('runway', () => {
  test.each([
    [3_600_000, 1_000_000n, 12_960],
    [1, 1_000_000n, 0],
    [0, 5n, 0],
    [-10, 5n, 0],
    [Number.MAX_SAFE_INTEGER, 1n, Number((2n ** 53n - 1n) * 3600n)],
  ])('a balance of %d at %d an hour lasts %d s', (balance, burn, expected) => {
    expect(runwaySeconds(balance, burn)).toBe(expected);
  });

  test('has no end while nothing burns', () => {
    expect(runwaySeconds(5, 0n)).toBeUndefined();
  });
});

// COVERAGE 82, 87, 89
describe('spending', () => {
  test.each([
    ['with funds', {}, undefined],
    ['with nothing left', { balanceMicros: 0 }, 'wait InsufficientFunds'],
    ['in debt', { balanceMicros: -1 }, 'wait InsufficientFunds'],
    ['in debt that was allowed', { balanceMicros: -1, minimumBalanceMicros: -100 }, undefined],
    ['at the floor', { minimumBalanceMicros: 5_000_000 }, undefined],
    ['below the floor', { minimumBalanceMicros: 5_000_001 }, 'wait BalanceTooLow'],
    ['without a verified address', { emailVerified: false }, 'hold EmailUnverified'],
    ['with an address that is not said to be verified', { emailVerified: undefined }, undefined],
    ['in another currency', { currency: 'EUR' }, 'hold ContractDrift'],
    ['refused at this balance', { refusedAtMicros: 5_000_000 }, 'wait InsufficientFunds'],
    ['refused before it was topped up', { refusedAtMicros: 4_999_999 }, undefined],
  ])('%s: %j gives %s', (_, more, expected) => {
    expect(gateOf(more)).toBe(expected);
  });

  test('its gate stops what costs more, and nothing else', () => {
    const spending = spendingGate('default/default', funds({ balanceMicros: 0 }));
    const gates = { spending };
    const grown = aSpec({ resources: { gpuCount: 2, cpu: 8, memoryGb: 32 } });
    expect(said(servicePlan({ service: 'new', gates }))).toBe('wait InsufficientFunds');
    expect(said(servicePlan({ spec: grown, before: aSpec(), gates }))).toBe('wait InsufficientFunds');
    expect(said(servicePlan({ service: aService({ state: 'paused' }), gates }))).toBe(
      'wait InsufficientFunds',
    );
    const patched = servicePlan({ spec: aSpec({ image: 'b:2' }), before: aSpec(), gates });
    expect(said(patched)).toBe('patch-service (SpecChanged)');
  });

  // COVERAGE 8, 48, 50, 82
  test.each([
    ['create-service', true],
    ['start-service', true],
    ['restart-service', true],
    ['resize-service', true],
    ['patch-service', true],
    ['create-volume', true],
    ['update-volume', true],
    ['create-registry', true],
    ['rotate-registry', true],
    ['stop-service', false],
    ['delete-service', false],
    ['delete-volume', false],
    ['set-sleep-policy', false],
    ['create-template', false],
    ['delete-registry', false],
  ] as const)('%s needs a verified e-mail address: %s', (action, needed) => {
    expect(verificationGate('a', action, false)?.reason).toBe(needed ? 'EmailUnverified' : undefined);
    expect(verificationGate('a', action, true)).toBeUndefined();
    expect(verificationGate('a', action, undefined)).toBeUndefined();
  });
});

// COVERAGE 102, 103, 104
test('of what the API limits, what has been read is shown with its limit', () => {
  expect(quotas({ volumes: 3, templates: undefined, registries: 20 })).toEqual([
    { resource: 'volumes', used: 3, limit: 50 },
    { resource: 'registries', used: 20, limit: 20 },
  ]);
});
