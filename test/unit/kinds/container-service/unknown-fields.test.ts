/** A service that was found by its mark, of which nothing is written down: the state was lost, or an object of its name was there before. */
import { describe, expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import {
  actionOf,
  aService,
  aSpec,
  differing,
  env,
  names,
  said,
  servicePlan,
} from '../../../support/plan.ts';

const hides = (...fields: string[]) =>
  aService(Object.fromEntries(fields.map((field) => [field, undefined])));
const nothing = { before: 'nothing' } as const;

test('a field that the API hides may be another one: it is sent', () => {
  const plan = servicePlan({ ...nothing, service: hides('image') });
  expect([said(plan), differing(plan)]).toEqual(['patch-service (SpecChanged)', ['image']]);
  expect(actionOf(plan, 'patch-service').patch).toEqual({ image: aSpec().image });
});

test('hidden fields go with the patch that another one needs, in one request', () => {
  const values = { MODE: 'serve' };
  const plan = servicePlan({
    ...nothing,
    spec: aSpec({ env: env(values), httpPort: 80 }),
    service: { ...hides('image', 'httpPort'), environmentNames: names({ MODE: 'train' }) },
  });
  const { patch, environment } = actionOf(plan, 'patch-service');
  expect(patch).toEqual({ image: aSpec().image, httpPort: 80 });
  expect(environment?.reveal()).toMatchObject(values);
});

test('a hidden sleep policy is set', () => {
  const plan = servicePlan({
    ...nothing,
    spec: aSpec({ sleepAfterMinutes: 30 }),
    service: hides('sleepAfterMinutes'),
  });
  expect(said(plan)).toBe('set-sleep-policy (SpecChanged)');
});

test('what is written down is not sent, and what the document leaves out neither', () => {
  expect(said(servicePlan({ service: hides('image') }))).toBe('in-sync');
  expect(said(servicePlan({ ...nothing, service: hides('command', 'httpPort') }))).toBe('in-sync');
});

test('what is fixed is not taken for another one', () => {
  const service = hides('name', 'region', 'volumeId');
  expect(said(servicePlan({ ...nothing, service }))).toBe('in-sync');
});

test('hidden resources may be others: a resize is sent, as a disruption of a service that runs', () => {
  const plan = servicePlan({ ...nothing, service: hides('resources') });
  expect([said(plan), differing(plan)]).toEqual(['resize-service (SpecChanged)', ['resources']]);
  expect(plan).toMatchObject({ step: { disruptive: true } });
  expect(said(servicePlan({ service: hides('resources') }))).toBe('in-sync');
});

describe('of resources, the API shows some members only', () => {
  const shows = (resources: Partial<wire.ServiceResources>) => ({ ...aService(), resources }) as wire.Service;
  const all = { gpuCount: 1, cpu: 8, memoryGb: 32 };
  const { gpuCount, ...rest } = all;

  test('and nothing is written down: the hidden one may be another, and a resize is sent', () => {
    expect(said(servicePlan({ ...nothing, service: shows(rest) }))).toBe('resize-service (SpecChanged)');
  });

  test('and they were applied: they are in place', () => {
    expect(said(servicePlan({ service: shows(rest) }))).toBe('in-sync');
  });

  test('and the document asks for another value of the hidden one: a resize is sent', () => {
    const spec = aSpec({ resources: { ...rest, gpuCount: gpuCount + 1 } });
    const plan = servicePlan({ before: aSpec(), spec, service: shows(rest) });
    expect(said(plan)).toBe('resize-service (SpecChanged)');
  });
});
