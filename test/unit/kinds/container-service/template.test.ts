import { describe, expect, test } from 'vitest';
import { resolveTemplate } from '../../../../src/kinds/container-service/template.ts';
import type { ServiceInputs, TemplateView } from '../../../../src/kinds/container-service/inputs.ts';
import type { ContainerServiceSpec, TemplateValues } from '../../../../src/resources/index.ts';
import {
  aRecord,
  aService,
  aSpec,
  actionOf,
  env,
  names,
  said,
  serviceId,
  serviceKey,
  servicePlan,
  stepsOf,
} from '../../../support/plan.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';

const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };
const first: TemplateValues = {
  image: 'ghcr.io/acme/pytorch:2',
  resources,
  httpPort: 80,
  requiredEnvironment: [],
};
const second: TemplateValues = { ...first, image: 'ghcr.io/acme/pytorch:3' };
const usable = (values: TemplateValues): TemplateView => ({ kind: 'usable', values });
const missing: TemplateView = {
  kind: 'problem',
  reason: 'ReferenceNotFound',
  message: 'there is no template pytorch',
  path: ['spec', 'templateRef', 'name'],
};

/** A service that gives nothing but the name of its template. */
function bare(more: Readonly<Record<string, unknown>> = {}): ContainerServiceSpec {
  return aSpec({ image: undefined, resources: undefined, templateRef: { name: 'pytorch' }, ...more });
}

/** A service that took `values` of the template when it was created. */
function took(values: TemplateValues, name = 'pytorch'): Partial<ObjectRecord> {
  return { externalId: serviceId, applied: { image: 'x' }, kind: { template: { name, values } } };
}

const resolve = (
  spec: ContainerServiceSpec,
  record: Partial<ObjectRecord>,
  view: TemplateView,
  service?: ReturnType<typeof aService>,
) => resolveTemplate(spec, aRecord(serviceKey, record), view, service);

describe('what a service takes of its template', () => {
  test('is what its own spec does not give', () => {
    const { spec, taken } = resolve(bare({ image: 'own:1' }), {}, usable(first));
    expect(spec).toMatchObject({ image: 'own:1', resources, httpPort: 80 });
    expect(taken).toEqual({ name: 'pytorch', values: first });
    expect(resolve(bare({ command: [] }), {}, usable({ ...first, command: ['run'] })).spec.command).toEqual(
      [],
    );
    expect(
      resolve(bare({ sleepAfterMinutes: 0 }), {}, usable({ ...first, sleepAfterMinutes: 9 })).spec
        .sleepAfterMinutes,
    ).toBe(0);
    expect(
      resolve(bare({ sleepAfterMinutes: null }), {}, usable({ ...first, sleepAfterMinutes: 9 })).spec
        .sleepAfterMinutes,
    ).toBeNull();
  });

  test('is nothing without a reference, and what was taken before is forgotten', () => {
    const resolution = resolve(aSpec(), took(first), { kind: 'none' });
    expect(resolution).toEqual({ spec: aSpec(), taken: undefined, state: { kind: 'none' } });
  });

  // COVERAGE 66
  test('stays when the template changes, and the service is told to be outdated', () => {
    const { spec, taken, state } = resolve(bare(), took(first), usable(second), aService());
    expect(spec.image).toBe(first.image);
    expect(taken?.values).toEqual(first);
    expect(state).toMatchObject({ kind: 'resolved', outdated: ['image'] });
  });

  test('follows the template under templateUpdates: Apply', () => {
    const { spec, taken, state } = resolve(
      bare({ templateUpdates: 'Apply' }),
      took(first),
      usable(second),
      aService(),
    );
    expect(spec.image).toBe(second.image);
    expect(taken?.values).toEqual(second);
    expect(state).toMatchObject({ outdated: [] });
  });

  test('a field that the spec gives itself is not outdated', () => {
    const { state } = resolve(bare({ image: 'own:1' }), took(first), usable(second), aService());
    expect(state).toMatchObject({ outdated: [] });
  });

  test('another reference is a change of the spec, and taken over', () => {
    const { spec } = resolve(bare(), took(first, 'another'), usable(second), aService());
    expect(spec.image).toBe(second.image);
    const added = resolve(
      bare(),
      { externalId: serviceId, applied: { image: 'x' } },
      usable(second),
      aService(),
    );
    expect(added.spec.image).toBe(second.image);
  });

  test('a creation takes what the template gives now, also after one that was refused', () => {
    const refused = { kind: { template: { name: 'pytorch', values: first } } };
    expect(resolve(bare(), refused, usable(second)).spec.image).toBe(second.image);
  });

  test('an adopted service, or one that was found again, keeps what it has', () => {
    const service = aService({ image: 'live:1', command: ['live'], httpPort: null, sleepAfterMinutes: 7 });
    const { spec, taken, state } = resolve(bare(), { externalId: serviceId }, usable(second), service);
    expect(spec).toMatchObject({ image: 'live:1', command: ['live'], resources, sleepAfterMinutes: 7 });
    expect(spec.httpPort).toBeUndefined();
    expect(taken?.values.image).toBe('live:1');
    expect(state).toMatchObject({ outdated: ['image', 'command', 'httpPort', 'sleepAfterMinutes'] });
  });

  test('a template that is gone leaves the service what it took', () => {
    for (const templateUpdates of ['Ignore', 'Apply']) {
      const { spec, state } = resolve(bare({ templateUpdates }), took(first), missing, aService());
      expect(spec.image).toBe(first.image);
      expect(state).toMatchObject({ kind: 'resolved', missing: 'there is no template pytorch' });
    }
  });

  test('without a template there is nothing to create', () => {
    expect(resolve(bare(), {}, missing).state).toEqual(missing);
    const notReady: TemplateView = { kind: 'not-ready', message: 'soon' };
    expect(resolve(bare(), {}, notReady).state).toEqual(notReady);
  });
});

const resolved = (more: Partial<Extract<ServiceInputs['template'], { kind: 'resolved' }>> = {}) => ({
  kind: 'resolved' as const,
  name: 'pytorch',
  requiredEnvironment: [],
  outdated: [],
  missing: undefined,
  ...more,
});

describe('the plan of a service with a template', () => {
  const spec = aSpec({ templateRef: { name: 'pytorch' } });

  test('is held where the reference leads nowhere, and nothing is sent', () => {
    const { state } = resolve(bare(), {}, missing);
    const plan = servicePlan({ spec: bare(), service: 'new', template: state });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold ReferenceNotFound', []]);
    const running = servicePlan({ spec: bare(), template: state });
    expect([said(running), stepsOf(running)]).toEqual(['hold ReferenceNotFound', []]);
  });

  test('waits for a template that is not there yet', () => {
    const template = { kind: 'not-ready', message: 'soon' } as const;
    expect(said(servicePlan({ spec: bare(), service: 'new', template }))).toBe('wait TemplateNotReady');
  });

  test('shows what it will be made with when only its resources are not known before', () => {
    const { resources: _unknown, ...values } = first;
    const template = { kind: 'not-ready', message: 'soon', values } as const;
    const plan = servicePlan({ spec: bare(), service: 'new', template });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait TemplateNotReady', ['create-service']]);
    const [step] = plan.kind === 'wait' ? plan.steps : [];
    expect(step?.action).toMatchObject({ body: { image: first.image, httpPort: 80, resources: undefined } });
    // What exists is not compared with the half of it.
    const running = servicePlan({ spec: bare(), template });
    expect([said(running), stepsOf(running)]).toEqual(['wait TemplateNotReady', []]);
  });

  test('is held when neither gives resources', () => {
    const incomplete = bare({ image: 'own:1' });
    const plan = servicePlan({ spec: incomplete, service: 'new', template: resolved() });
    expect([said(plan), plan.kind === 'hold' && plan.path]).toEqual([
      'hold InvalidReference',
      ['spec', 'resources'],
    ]);
  });

  test('creates the service with what was taken', () => {
    const template = resolved({ requiredEnvironment: ['TOKEN'] });
    const given = { ...spec, env: env({ TOKEN: 'x' }) };
    expect(
      actionOf(servicePlan({ spec: given, service: 'new', template }), 'create-service').body.image,
    ).toBe(spec.image);
  });

  // COVERAGE 65
  test('names the variables that are required and missing, at env', () => {
    const template = resolved({ requiredEnvironment: ['TOKEN', 'MODE', 'PLACE'] });
    const given = { ...spec, env: env({ MODE: 'train' }) };
    const shown = aService({ environmentNames: names({ MODE: 'train' }) });
    for (const service of ['new' as const, shown]) {
      const plan = servicePlan({ spec: given, service, template });
      expect([said(plan), plan.kind === 'hold' && plan.path]).toEqual([
        'hold MissingEnvironment',
        ['spec', 'env'],
      ]);
      expect(plan.kind === 'hold' && plan.message).toContain('requires TOKEN, PLACE; add them to env');
    }
  });

  test('an environment that is not managed is asked for only where there is none', () => {
    const template = resolved({ requiredEnvironment: ['TOKEN'] });
    expect(said(servicePlan({ spec, service: 'new', template }))).toBe('hold MissingEnvironment');
    const has = aService({ environmentNames: [...names({}), 'TOKEN'] });
    expect(said(servicePlan({ spec, service: has, template }))).toBe('in-sync');
    expect(said(servicePlan({ spec, service: aService({ environmentNames: null }), template }))).toBe(
      'in-sync',
    );
  });

  test('what is missing of a template does not keep a service from being deleted', () => {
    const { state } = resolve(bare(), {}, missing);
    expect(said(servicePlan({ spec: bare(), template: state, deleting: true }))).toBe(
      'delete-service (Deleted)',
    );
  });
});

test('a service is created only when the access to its image is there', () => {
  const registry = { kind: 'not-ready', name: 'ghcr' } as const;
  const plan = servicePlan({ service: 'new', registry });
  expect([said(plan), stepsOf(plan)]).toEqual(['wait RegistryNotReady', ['create-service']]);
  expect(said(servicePlan({ registry }))).toBe('in-sync');
  expect(said(servicePlan({ service: 'new', registry: { kind: 'usable', name: 'ghcr' } }))).toBe(
    'create-service (Create)',
  );
});
