/** Fields that are fixed at creation, and that the API resolves: writing down what it made of them changes nothing. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../../src/resources/index.ts';
import {
  aRecord,
  aService,
  aSpec,
  aVolume,
  aVolumeSpec,
  differing,
  said,
  serviceInputs,
  servicePlan,
  volumeId,
  volumeKey,
  volumePlan,
} from '../../../support/plan.ts';
import { rememberedDigests } from '../../../../src/engine/plan/index.ts';
import { serviceDigests } from '../../../../src/kinds/container-service/fields.ts';

const recreate = { replacement: 'Recreate' };
const resolved = aService({ geography: 'europe' });
const volume = { kind: 'usable', id: volumeId } as const;
const mode = (one: string) => aVolume({ mode: one, sizeGb: 50, requestedSizeGb: 50 });
const made = (volumeGb: number, volumeMode?: string) => ({
  storage: { volumeGb, ...(volumeMode && { volumeMode }) },
});

describe('a service with an automatic place', () => {
  // COVERAGE 30
  test.each(['Never', 'Recreate'])('is in place when its document names that place (%s)', (replacement) => {
    const spec = aSpec({ geography: 'europe', replacement });
    const plan = servicePlan({ spec, before: aSpec(), service: resolved });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', []]);
  });

  test('is not in place when its document names another one, and the plan shows where it is', () => {
    const plan = servicePlan({ spec: aSpec({ geography: 'asia' }), before: aSpec(), service: resolved });
    expect(said(plan)).toBe('hold ImmutableFieldChanged');
    expect(plan.differences).toEqual([
      { path: 'geography', desired: 'asia', observed: 'europe', drift: false, hidden: true },
    ]);
  });

  test('is in any place: a place that is not asked for any more is kept', () => {
    const before = aSpec({ geography: 'europe' });
    expect(said(servicePlan({ spec: aSpec(recreate), before, service: resolved }))).toBe('in-sync');
  });
});

test('who pinned a place may go back to the words that it was created with, and the place may be renamed', () => {
  const [asked, pinned] = [
    aSpec({ geography: 'eu', ...recreate }),
    aSpec({ geography: 'europe', ...recreate }),
  ];
  const first = serviceInputs({ spec: asked, service: resolved });
  const settled = { ...first, object: { ...first.object, spec: pinned } };
  const applied = rememberedDigests(first.record, serviceDigests(settled));
  const back = servicePlan({ spec: asked, service: resolved, record: { applied } });
  expect([said(back), differing(back)]).toEqual(['in-sync', []]);
  const renamed = aService({ geography: 'Europe (new)' });
  expect(said(servicePlan({ spec: pinned, service: renamed, record: { applied } }))).toBe('in-sync');
});

describe('storage that was made with a service', () => {
  const before = aSpec({ ...made(50) });
  const service = aService({ volumeId });

  test('may be named by the id that it got', () => {
    const spec = aSpec({ storage: { volumeId }, ...recreate });
    const plan = servicePlan({ spec, before, service, volume });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', []]);
  });

  test.each([
    ['the mode that it is shown with', made(50, 'attached'), mode('attached')],
    [
      'the size that it is shown with',
      made(64),
      aVolume({ mode: 'attached', sizeGb: 64, requestedSizeGb: 64 }),
    ],
    ['the size that it grows to', made(64), aVolume({ mode: 'attached', sizeGb: 50, requestedSizeGb: 64 })],
  ])('may be given %s', (_name, storage, attachedVolume) => {
    const plan = servicePlan({ spec: aSpec({ ...storage, ...recreate }), before, service, attachedVolume });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', []]);
  });

  test.each([
    ['another mode', made(50, 'independent'), mode('attached')],
    ['another size', made(51), mode('attached')],
    ['no mode, when it is independent', made(51), mode('independent')],
    ['a mode, when none is shown', made(50, 'attached'), aVolume({ mode: undefined })],
  ])('is not as it is given with %s', (_name, storage, attachedVolume) => {
    const plan = servicePlan({ spec: aSpec(storage), before, service, attachedVolume });
    expect([said(plan), differing(plan)]).toEqual(['hold ImmutableFieldChanged', ['storage']]);
  });
});

test.each([
  ['region', { region: 'eu-standard-1' }],
  ['serviceName', { serviceName: 'TRAINER' }],
])('a %s may be written as the API shows it', (_field, change) => {
  const service = aService({ region: 'eu-standard-1', name: 'TRAINER' });
  const pinned = { region: 'eu-standard-1', serviceName: 'TRAINER' };
  const before = aSpec({ ...pinned, region: 'standard', ...change });
  const plan = servicePlan({ spec: aSpec({ ...pinned, ...recreate }), before, service });
  expect([said(plan), differing(plan)]).toEqual(['in-sync', []]);
});

test('an adopted service is not deleted for what its first document says', () => {
  const spec = aSpec({ region: 'EU Standard', adopt: { id: aService().id }, ...recreate });
  const plan = servicePlan({
    spec,
    before: 'nothing',
    annotations: { [annotations.confirmDataLoss]: 'trainer' },
  });
  expect(said(plan)).toBe('hold ImmutableFieldChanged');
  expect(plan.kind === 'hold' && plan.message).toMatch(/write it as the API shows it/);
});

describe('a volume with an automatic place', () => {
  const shown = aVolume({ geography: 'europe' });

  test('is in place when its document names that place', () => {
    const plan = volumePlan({
      spec: aVolumeSpec({ geography: 'europe' }),
      before: aVolumeSpec(),
      volume: shown,
    });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', []]);
  });

  test('keeps a place that is not asked for any more', () => {
    const before = aVolumeSpec({ geography: 'europe' });
    expect(said(volumePlan({ spec: aVolumeSpec(), before, volume: shown }))).toBe('in-sync');
  });

  test('is held for another place', () => {
    const plan = volumePlan({
      spec: aVolumeSpec({ geography: 'asia' }),
      before: aVolumeSpec(),
      volume: shown,
    });
    expect(said(plan)).toBe('hold ImmutableFieldChanged');
  });
});

test('what a creation asked for is remembered beside what was in place later', () => {
  const record = aRecord(volumeKey, { applied: { geography: 'a', 'asked:geography': 'a' } });
  const digests = { geography: 'b', 'asked:geography': 'b', region: 'c' };
  expect(rememberedDigests(record, digests)).toEqual({ geography: 'b', 'asked:geography': 'a', region: 'c' });
});
