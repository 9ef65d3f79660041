import { describe, expect, test } from 'vitest';
import { ownsStorage } from '../../src/plan/index.ts';
import { aService, aSpec, aVolume } from '../support/plan.ts';

describe('a service owns storage', () => {
  const service = aService({});
  const attached = (mode: string | null | undefined) => [aVolume({ serviceId: service.id, mode })];
  const nobody = () => false;

  test.each(['service', 'something-new', null, undefined])('when its volume says mode %s', (mode) => {
    expect(ownsStorage(aSpec(), service, attached(mode), nobody)).toBe(true);
  });

  test('and none when the volume is independent, or an object of ours', () => {
    expect(ownsStorage(aSpec(), service, attached('independent'), nobody)).toBe(false);
    expect(ownsStorage(aSpec(), service, attached(undefined), () => true)).toBe(false);
    expect(ownsStorage(aSpec(), service, [aVolume({ mode: 'service' })], nobody)).toBe(false);
  });

  test('when it was created with storage that is not independent, seen or not', () => {
    expect(ownsStorage(aSpec({ storage: { volumeGb: 10 } }), undefined, [], nobody)).toBe(true);
    const independent = aSpec({ storage: { volumeGb: 10, volumeMode: 'independent' } });
    expect(ownsStorage(independent, undefined, [], nobody)).toBe(false);
  });
});
