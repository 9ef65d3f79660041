import { describe, expect, test } from 'vitest';
import { wire } from '../../../../src/api/index.ts';
import { type Placement, catalogGate, concernsCatalog } from '../../../../src/engine/plan/index.ts';
import { said, servicePlan, volumePlan, aSpec } from '../../../support/plan.ts';

const gpu = { model: 'l4', name: 'NVIDIA L4', memoryGb: [24], fullMemoryGb: 24 };
const regions = [
  { name: 'standard', geographies: ['europe', 'asia'] },
  { name: 'economy', geographies: ['europe'] },
];

function catalogOf(more: Readonly<Record<string, unknown>> = {}): wire.Catalog {
  return wire.catalog.parse({
    regions,
    templates: [],
    gpuCatalog: [gpu],
    currency: 'USD',
    browserEnabled: false,
    payment: { provider: 'none', status: 'disabled' },
    ...more,
  });
}

const place = (more: Partial<Placement> = {}): Placement => ({
  region: 'standard',
  geography: undefined,
  gpuCount: 0,
  ...more,
});

// COVERAGE 1, 29
describe('the catalog', () => {
  test.each([
    ['a region that it offers', {}],
    ['a geography that the region has', { geography: 'asia' }],
    ['no geography in particular', { geography: 'auto' }],
    ['a GPU', { gpuCount: 8 }],
  ])('lets %s pass', (_, more) => {
    expect(catalogGate(place(more), catalogOf())).toBeUndefined();
  });

  test.each([
    ['a region in other letters', [{ name: 'Standard' }], {}],
    ['a group in other letters', [{ name: 'standard', geographies: ['EUROPE'] }], { geography: 'europe' }],
    [
      'a group by any of its texts',
      [{ name: 'Standard', geographies: [{ id: 'europe', name: 'Europe West' }] }],
      { geography: 'europe' },
    ],
    [
      'a group of the second entry of its region',
      [
        { name: 'standard', geographies: ['europe'] },
        { name: 'standard', geographies: ['asia'] },
      ],
      { geography: 'asia' },
    ],
  ])('knows %s', (_, shown, more) => {
    expect(catalogGate(place(more), catalogOf({ regions: shown }))).toBeUndefined();
  });

  test('holds a typo also where names are in other letters', () => {
    const shown = [{ name: 'Standard', geographies: [{ id: 'europe', name: 'Europe' }] }];
    const gateOf = (more: Partial<Placement>) => catalogGate(place(more), catalogOf({ regions: shown }));
    expect(gateOf({ region: 'standart' })).toMatchObject({ reason: 'UnknownRegion' });
    expect(gateOf({ geography: 'eurpoe' })).toMatchObject({ reason: 'UnknownGeography' });
  });

  test.each([
    [{ region: 'atlantis' }, 'UnknownRegion', 'standard, economy', 'region'],
    [{ geography: 'moon' }, 'UnknownGeography', 'auto, europe, asia', 'geography'],
    [{ region: 'economy', geography: 'asia' }, 'UnknownGeography', 'auto, europe', 'geography'],
  ])('holds %j as %s, with the list of what exists', (more, reason, offered, field) => {
    const gate = catalogGate(place(more), catalogOf());
    expect(gate).toMatchObject({ kind: 'hold', reason, path: ['spec', field] });
    expect(gate?.message).toMatch(new RegExp(`offers ${offered}$`));
  });

  test('holds GPUs only while it offers none at all', () => {
    const none = catalogOf({ gpuCatalog: [] });
    expect(catalogGate(place({ gpuCount: 1 }), none)).toMatchObject({ kind: 'hold', reason: 'NoGpuOffered' });
    expect(catalogGate(place(), none)).toBeUndefined();
  });

  test.each([
    ['that is not there', undefined],
    ['without regions', catalogOf({ regions: [] })],
    ['whose regions have no names', catalogOf({ regions: [{ tier: 'gold' }] })],
    ['whose regions have titles', catalogOf({ regions: [{ id: 7, name: 'The lost city' }] })],
    ['whose regions have UUIDs', catalogOf({ regions: [{ id: '0b0e8f6e-6c8f-4d0e-9f53-6a3f5f1c2d11' }] })],
    ['one of whose regions has no name', catalogOf({ regions: [...regions, { tier: 'gold' }] })],
    [
      'that names regions by another field',
      catalogOf({ regions: [{ name: 'Lost city', tier: 'atlantis' }] }),
    ],
  ])('%s holds nothing back', (_, catalog) => {
    expect(catalogGate(place({ region: 'atlantis', geography: 'moon' }), catalog)).toBeUndefined();
  });

  test.each([
    ['no groups', [{ name: 'standard' }]],
    ['groups of another shape', [{ name: 'standard', geographies: 'everywhere' }]],
    ['one group with a title', [{ name: 'standard', geographies: ['asia', { name: 'Near side' }] }]],
    [
      'groups in one of two entries',
      [
        { name: 'standard', geographies: ['asia'] },
        { name: 'standard', geography: 'europe' },
      ],
    ],
    ['the group as a record', [{ name: 'standard', geographies: [{ id: 'moon', name: 'moon' }] }]],
  ])('that shows %s knows nothing against a geography', (_, shown) => {
    expect(catalogGate(place({ geography: 'moon' }), catalogOf({ regions: shown }))).toBeUndefined();
  });

  test('is doubted after a refusal that speaks of what it shows', () => {
    expect(concernsCatalog('unknown_region', 'no')).toBe(true);
    expect(concernsCatalog('invalid_request', 'Geography moon is gone')).toBe(true);
    expect(concernsCatalog('insufficient_funds', 'no')).toBe(false);
  });
});

describe('what the catalog does not offer', () => {
  const creation = catalogGate(place({ region: 'atlantis' }), catalogOf());

  test('is neither created nor made the successor of what exists', () => {
    expect(said(servicePlan({ service: 'new', gates: { creation } }))).toBe('hold UnknownRegion');
    expect(said(volumePlan({ volume: 'new', gates: { creation } }))).toBe('hold UnknownRegion');
    const moved = aSpec({ region: 'atlantis', replacement: 'Recreate' });
    expect(said(servicePlan({ spec: moved, before: aSpec(), gates: { creation } }))).toBe(
      'hold UnknownRegion',
    );
  });

  test('does not matter to what exists', () => {
    expect(said(servicePlan({ gates: { creation } }))).toBe('in-sync');
    const patched = servicePlan({ spec: aSpec({ image: 'b:2' }), before: aSpec(), gates: { creation } });
    expect(said(patched)).toBe('patch-service (SpecChanged)');
    expect(said(servicePlan({ deleting: true, gates: { creation } }))).toBe('delete-service (Deleted)');
  });
});
