import { describe, expect, test } from 'vitest';
import {
  type Gate,
  describedWithMark,
  readTemplateMark,
  withoutTemplateMark,
} from '../../../../src/engine/plan/index.ts';
import { annotations, templateMarkLength } from '../../../../src/resources/index.ts';
import { actionOf, differing, said, stepsOf } from '../../../support/plan.ts';
import { aTemplate, aTemplateSpec, mark, templateId, templatePlan } from '../../../support/shared-kinds.ts';

const brake: Gate = { kind: 'hold', reason: 'MassChangeBrake', message: 'too many at once' };
const theirs = 'fleetkeeper: 00000000/00000000000000000000000000000000/00000000';

describe('creation', () => {
  // COVERAGE 21
  test('a template is created with what the spec gives, and a line with our mark', () => {
    expect(actionOf(templatePlan({ template: 'new' }), 'create-template').body).toEqual({
      name: 'pytorch',
      image: 'ghcr.io/acme/pytorch:2',
      description: mark,
    });
    const spec = aTemplateSpec({
      templateName: 'PyTorch',
      description: 'For training.\n',
      command: ['python'],
      resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
      httpPort: 8080,
      containerDiskGb: 20,
      workspaceGb: 50,
      sleepAfterMinutes: 0,
      requiredEnvironment: ['TOKEN'],
    });
    expect(actionOf(templatePlan({ spec, template: 'new' }), 'create-template').body).toEqual({
      name: 'PyTorch',
      image: 'ghcr.io/acme/pytorch:2',
      description: `For training.\n${mark}`,
      command: ['python'],
      resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
      httpPort: 8080,
      containerDiskGb: 20,
      workspaceGb: 50,
      sleepAfterMinutes: null,
      requiredEnvironment: ['TOKEN'],
    });
  });

  // COVERAGE 21, 103
  test('the 51st template is not asked for', () => {
    expect(said(templatePlan({ template: 'new', templatesInAccount: 49 }))).toBe('create-template (Create)');
    const plan = templatePlan({ template: 'new', templatesInAccount: 50 });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold LimitReached', ['create-template']]);
  });

  test('the brake stops it, a low balance does not: a template costs nothing', () => {
    const world = { template: 'new' as const };
    expect(said(templatePlan({ ...world, gates: { creation: brake } }))).toBe('hold MassChangeBrake');
    const poor: Gate = { kind: 'wait', reason: 'BalanceTooLow', message: 'top up' };
    expect(said(templatePlan({ ...world, gates: { spending: poor } }))).toBe('create-template (Create)');
  });

  test('one that somebody deleted is made again, or only reported', () => {
    expect(said(templatePlan({ template: 'gone' }))).toBe('create-template (Vanished)');
    const plan = templatePlan({ template: 'gone', spec: aTemplateSpec({ driftPolicy: 'Report' }) });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['template*']]);
  });
});

describe('a template that exists', () => {
  test('is left alone when it is as the spec says, whatever defaults the API shows', () => {
    expect(said(templatePlan())).toBe('in-sync');
    expect(templatePlan().differences).toEqual([]);
  });

  test.each([
    [
      'an image in its full form',
      aTemplateSpec({ image: 'postgres:17' }),
      { image: 'docker.io/library/postgres:17' },
    ],
    [
      'variables in another order',
      aTemplateSpec({ requiredEnvironment: ['A', 'B'] }),
      { requiredEnvironment: ['B', 'A'] },
    ],
    ['no command as an empty one', aTemplateSpec({ command: [] }), { command: null }],
    ['never as null', aTemplateSpec({ sleepAfterMinutes: 0 }), { sleepAfterMinutes: null }],
    [
      'a description without the last line break',
      aTemplateSpec({ description: 'Text\n' }),
      { description: `Text\n${mark}` },
    ],
  ])('%s is no difference', (_what, spec, shown) => {
    expect(templatePlan({ spec, template: aTemplate(shown) }).differences).toEqual([]);
  });

  // COVERAGE 22, 116
  test('is replaced whole: what the spec does not give is sent back as it was read', () => {
    const template = aTemplate({
      description: `Theirs.\n${mark}`,
      httpPort: 9000,
      workspaceGb: 100,
      containerDiskGb: 30,
      requiredEnvironment: ['TOKEN'],
      resources: { gpuCount: 2, cpu: 4, memoryGb: 8, extra: 1 },
      somethingNew: true,
    });
    const spec = aTemplateSpec({ image: 'ghcr.io/acme/pytorch:3' });
    const action = actionOf(templatePlan({ spec, template, before: aTemplateSpec() }), 'replace-template');
    expect(action).toEqual({
      do: 'replace-template',
      id: templateId,
      revision: 4,
      spec: {
        name: 'pytorch',
        image: 'ghcr.io/acme/pytorch:3',
        description: `Theirs.\n${mark}`,
        httpPort: 9000,
        workspaceGb: 100,
        containerDiskGb: 30,
        resources: { gpuCount: 2, cpu: 4, memoryGb: 8 },
        sleepAfterMinutes: null,
        requiredEnvironment: ['TOKEN'],
      },
    });
  });

  // COVERAGE 22
  test.each([
    ['is sent back as the null that it was read as', null, null],
    ['is sent back as null when it was read as 0', 0, null],
    ['is sent back as it was read', 45, 45],
    ['is left out when the API does not show it', undefined, undefined],
  ])(
    'the sleep timeout, which the spec does not give, %s: else it would take its default',
    (_, read, sent) => {
      const template = aTemplate({ sleepAfterMinutes: read });
      const spec = aTemplateSpec({ image: 'ghcr.io/acme/pytorch:3' });
      const action = actionOf(templatePlan({ spec, template, before: aTemplateSpec() }), 'replace-template');
      expect(action.spec.sleepAfterMinutes).toBe(sent);
    },
  );

  test('a sleep timeout that the spec does not give any more takes its default again', () => {
    const before = aTemplateSpec({ sleepAfterMinutes: 45 });
    const template = aTemplate({ sleepAfterMinutes: 45 });
    const action = actionOf(templatePlan({ spec: aTemplateSpec(), template, before }), 'replace-template');
    expect(action.spec).not.toHaveProperty('sleepAfterMinutes');
  });

  test.each([
    ['templateName', { name: 'theirs' }],
    ['description', { description: `Other.\n${mark}` }],
    ['image', { image: 'theirs:1' }],
    ['command', { command: ['theirs'] }],
    ['resources', { resources: { gpuCount: 8, cpu: 1, memoryGb: 2 } }],
    ['httpPort', { httpPort: 1 }],
    ['containerDiskGb', { containerDiskGb: 11 }],
    ['workspaceGb', { workspaceGb: null }],
    ['sleepAfterMinutes', { sleepAfterMinutes: 9 }],
    ['requiredEnvironment', { requiredEnvironment: ['B'] }],
  ])('%s changed by somebody else is drift, and put back', (path, shown) => {
    const given = {
      description: 'Text',
      command: ['run'],
      resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
      httpPort: 80,
      containerDiskGb: 10,
      workspaceGb: 20,
      sleepAfterMinutes: 5,
      requiredEnvironment: ['A'],
    };
    const spec = aTemplateSpec(given);
    const template = aTemplate({ ...given, description: `Text\n${mark}`, ...shown });
    const plan = templatePlan({ spec, template });
    expect([said(plan), differing(plan)]).toEqual(['replace-template (Drift)', [`${path}*`]]);
    const report = templatePlan({ spec: { ...spec, driftPolicy: 'Report' }, template });
    expect([said(report), differing(report)]).toEqual(['in-sync', [`${path}*`]]);
  });

  test('gets its mark back when somebody removed it, and keeps what else they wrote', () => {
    const plan = templatePlan({ template: aTemplate({ description: 'Their words' }) });
    expect(differing(plan)).toEqual(['description*']);
    expect(actionOf(plan, 'replace-template').spec.description).toBe(`Their words\n${mark}`);
  });

  test('an adopted one goes without the mark until it is changed anyway, and keeps its name', () => {
    const spec = aTemplateSpec({ adopt: { id: templateId } });
    const template = aTemplate({ name: 'Theirs', description: 'Theirs' });
    expect(said(templatePlan({ spec, template }))).toBe('in-sync');
    const changed = { ...spec, image: 'ghcr.io/acme/pytorch:3' };
    expect(
      actionOf(templatePlan({ spec: changed, before: spec, template }), 'replace-template').spec,
    ).toMatchObject({
      name: 'Theirs',
      description: `Theirs\n${mark}`,
    });
  });

  test('without a revision nothing can be changed', () => {
    const template = aTemplate({ image: 'theirs:1', revision: undefined });
    expect(said(templatePlan({ template }))).toBe('wait AwaitingObservation');
  });

  test('is left as it is while a person has paused the object', () => {
    const world = {
      template: aTemplate({ image: 'theirs:1' }),
      annotations: { [annotations.paused]: 'true' },
    };
    expect(said(templatePlan(world))).toBe('hold Paused');
  });
});

describe('deletion', () => {
  // COVERAGE 23
  test('needs the revision, and may be stopped by the brake', () => {
    expect(actionOf(templatePlan({ deleting: true }), 'delete-template')).toEqual({
      do: 'delete-template',
      id: templateId,
      revision: 4,
    });
    expect(said(templatePlan({ deleting: true, gates: { deletion: brake } }))).toBe('hold MassChangeBrake');
  });

  test('is done when the template is gone, and not asked for under Retain', () => {
    expect(said(templatePlan({ deleting: true, template: 'gone' }))).toBe('in-sync');
    const spec = aTemplateSpec({ deletionPolicy: 'Retain' });
    expect(said(templatePlan({ deleting: true, spec }))).toBe('in-sync');
  });
});

describe('the mark in a description', () => {
  test('with its line break is as long as the room that is kept for it', () => {
    expect(`\n${mark}`.length).toBe(templateMarkLength);
  });

  test.each(['', 'For training.', 'Two\nlines', `Two\n\nparagraphs  `])(
    'is taken from %j as it was put there',
    (text) => {
      const description = describedWithMark(text, mark);
      expect(readTemplateMark(description)).toBeDefined();
      expect(withoutTemplateMark(description)).toBe(text.trimEnd());
    },
  );

  test.each([
    `${mark}\nTheir words behind it`,
    `Their words before it ${mark}`,
    `Lines made one ${mark} by a form`,
  ])('is found where somebody has put it: %j', (description) => {
    expect(readTemplateMark(description)?.keyId).toMatch(/^[0-9a-f]{8}$/);
    expect(withoutTemplateMark(description)).not.toContain('fleetkeeper:');
  });

  test('that is half a mark is none', () => {
    expect(readTemplateMark(mark.slice(0, -1))).toBeUndefined();
    expect(readTemplateMark(`x${mark}`)).toBeUndefined();
    expect(readTemplateMark(`${mark}0`)).toBeUndefined();
    expect(readTemplateMark(null)).toBeUndefined();
  });

  test("of somebody else's is not ours", () => {
    const plan = templatePlan({ template: aTemplate({ description: theirs }) });
    expect(differing(plan)).toEqual(['description*']);
  });
});
