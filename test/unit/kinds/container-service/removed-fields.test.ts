/** A field that was sent by us and is taken out of the document is not unset by that: the API knows no way (§2), so a person is asked. */
import { describe, expect, test } from 'vitest';
import { serviceDigests } from '../../../../src/kinds/container-service/fields.ts';
import { annotations } from '../../../../src/resources/index.ts';
import {
  aService,
  aSpec,
  actionOf,
  differing,
  env,
  names,
  said,
  serviceId,
  serviceInputs,
  servicePlan,
  stepsOf,
} from '../../../support/plan.ts';
import { aTemplate, aTemplateSpec, mark, templatePlan } from '../../../support/shared-kinds.ts';

const given = [
  ['httpPort', { httpPort: 8080 }, { httpPort: 8080 }],
  ['command', { command: ['serve'] }, { command: ['serve'] }],
  ['sleepAfterMinutes', { sleepAfterMinutes: 30 }, { sleepAfterMinutes: 30 }],
  ['env', { env: env({ MODE: 'serve' }) }, { environmentNames: names({ MODE: 'serve' }) }],
] as const;

describe('of a service', () => {
  // COVERAGE 33, 34
  test.each(given)('%s that is taken out is told, and nothing is done', (field, before, shown) => {
    const plan = servicePlan({ spec: aSpec(), before: aSpec(before), service: aService(shown) });
    expect([said(plan), stepsOf(plan), differing(plan)]).toEqual(['hold FieldRemoved', [], [field]]);
    expect(plan).toMatchObject({ path: ['spec', field], message: expect.stringContaining('leave-fields') });
  });

  test.each(given)('%s is told although the API does not show it', (field, before) => {
    const service = aService({ [field === 'env' ? 'environmentNames' : field]: undefined });
    const plan = servicePlan({ spec: aSpec(), before: aSpec(before), service });
    expect([said(plan), differing(plan)]).toEqual(['hold FieldRemoved', [field]]);
  });

  test.each(given)('%s that is gone from the service, too, is in place', (_field, before) => {
    expect(said(servicePlan({ spec: aSpec(), before: aSpec(before), service: aService() }))).toBe('in-sync');
  });

  test.each(given)('%s that was never sent is nobody of ours', (_field, _before, shown) => {
    expect(said(servicePlan({ spec: aSpec(), service: aService(shown) }))).toBe('in-sync');
    expect(said(servicePlan({ spec: aSpec(), before: 'nothing', service: aService(shown) }))).toBe('in-sync');
  });

  test.each(given)('%s stays when a person says so, and is forgotten', (field, before, shown) => {
    const leave = { [annotations.leaveFields]: `command,${field}` };
    const world = { spec: aSpec(), before: aSpec(before), service: aService(shown), annotations: leave };
    expect(said(servicePlan(world))).toBe('in-sync');
    const applied = serviceDigests(serviceInputs(world));
    const after = { spec: aSpec(), service: aService(shown), record: { applied } };
    expect(said(servicePlan(after))).toBe('in-sync');
  });

  test.each(given)('%s is not forgotten by another change', (field, before, shown) => {
    const world = {
      spec: aSpec({ image: 'b:2' }),
      before: aSpec(before),
      service: aService({ ...shown }),
    };
    const plan = servicePlan(world);
    expect(said(plan)).toBe('patch-service (SpecChanged)');
    expect(actionOf(plan, 'patch-service').patch).toEqual({ image: 'b:2' });
    expect(differing(plan)).toEqual(['image', field]);
    expect(serviceDigests(serviceInputs(world))).not.toHaveProperty(field);
  });

  test.each([
    ['httpPort', { httpPort: 8080 }, { httpPort: 8080 }],
    ['command', { command: ['serve'] }, { command: ['serve'] }],
  ])('Recreate makes it anew without %s', (field, before, shown) => {
    const world = {
      spec: aSpec({ replacement: 'Recreate' }),
      before: aSpec(before),
      service: aService(shown),
    };
    const plan = servicePlan(world);
    expect([said(plan), differing(plan)]).toEqual(['delete-service (Replace)', [field]]);
    expect(plan.kind === 'act' && plan.step.action).toEqual({ do: 'delete-service', id: serviceId });
  });

  test('Recreate does not replace for what can be unset by a value', () => {
    const [, , sleep, environment] = given;
    for (const [, before, shown] of [sleep, environment]) {
      const spec = aSpec({ replacement: 'Recreate' });
      expect(said(servicePlan({ spec, before: aSpec(before), service: aService(shown) }))).toBe(
        'hold FieldRemoved',
      );
    }
  });

  test('an empty list, no sleep and an empty environment are values', () => {
    const before = aSpec({ command: ['serve'], sleepAfterMinutes: 30, env: env({ MODE: 'serve' }) });
    const spec = aSpec({ command: [], sleepAfterMinutes: 0, env: [] });
    const shown = { command: ['serve'], sleepAfterMinutes: 30, environmentNames: names({ MODE: 'serve' }) };
    const plan = servicePlan({ spec, before, service: aService(shown) });
    expect(stepsOf(plan)).toEqual(['patch-service', 'set-sleep-policy']);
    expect(actionOf(plan, 'patch-service').patch).toEqual({ command: [] });
  });
});

describe('of a template', () => {
  const before = aTemplateSpec({ command: ['serve'], httpPort: 8080, description: 'web' });
  const shown = (more: object = {}) =>
    aTemplate({ command: ['serve'], httpPort: 8080, description: `web\n${mark}`, ...more });

  test('what is taken out takes its default again: an update replaces the whole (§2)', () => {
    const plan = templatePlan({ spec: aTemplateSpec(), before, template: shown() });
    expect([said(plan), differing(plan).sort()]).toEqual([
      'replace-template (SpecChanged)',
      ['command', 'description', 'httpPort'],
    ]);
    const { spec } = actionOf(plan, 'replace-template');
    expect(spec).not.toHaveProperty('command');
    expect(spec).not.toHaveProperty('httpPort');
    expect(spec.description).toMatch(/^fleetkeeper: /);
  });

  test('what has a default by now is in place', () => {
    const template = shown({ command: ['default'], httpPort: 80, description: mark });
    expect(said(templatePlan({ spec: aTemplateSpec(), before, template }))).toBe('in-sync');
  });
});
