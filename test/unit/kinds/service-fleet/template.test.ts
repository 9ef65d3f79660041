/** What a fleet takes of a ServiceTemplate. */
import { describe, expect, test } from 'vitest';
import { planFleet } from '../../../../src/kinds/service-fleet/plan.ts';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import { contentOf, withOutcome } from '../../../../src/kinds/service-fleet/revisions.ts';
import { resolveTemplate, type Known } from '../../../../src/kinds/service-fleet/template.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import type { TemplateView } from '../../../../src/kinds/container-service/inputs.ts';
import type { TemplateValues } from '../../../../src/resources/index.ts';
import type { OwnerRevision } from '../../../../src/state/index.ts';
import { aService } from '../../../support/plan.ts';
import { fleetSpec, inputsOf, place, replicaIn, revisionOf, startMs, worldOf } from './worlds.ts';

const resources = { gpuCount: 0, cpu: 2, memoryGb: 4 };
const first: TemplateValues = { image: 'ghcr.io/acme/web:1', resources, requiredEnvironment: [] };
const second: TemplateValues = { ...first, image: 'ghcr.io/acme/web:2' };
const usable = (values: TemplateValues): TemplateView => ({ kind: 'usable', values });
const missing: TemplateView = {
  kind: 'problem',
  reason: 'ReferenceNotFound',
  message: 'there is no template web',
  path: ['spec', 'template', 'spec', 'templateRef', 'name'],
};
const notReady: TemplateView = { kind: 'not-ready', message: 'the templates have not been read yet' };

/** A fleet that gives nothing but the name of its template. */
const bare = (more: object = {}) =>
  fleetSpec({ template: { spec: { region: 'standard', templateRef: { name: 'web' }, ...more } } });
const contentWith = (values: TemplateValues, more: object = {}) =>
  contentOf(resolveTemplate(bare(more), nothing, usable(values)).spec.template.spec);
const nothing: Known = { state: {}, update: undefined, healthy: undefined, shown: undefined };

/** Revision `number` has what this template gave then. */
function made(number: number, values: TemplateValues, more: object = {}): OwnerRevision {
  return { ...revisionOf(number, 'x', { outcome: 'Healthy' }), content: contentWith(values, more) };
}
const took = (revision: number, values: TemplateValues) => ({ revision, name: 'web', values });

describe('what a fleet takes of its template', () => {
  test('is what its own document does not give', () => {
    const own = resolveTemplate(bare({ image: 'own:1' }), nothing, usable({ ...first, httpPort: 80 }));
    expect(own.spec.template.spec).toMatchObject({ image: 'own:1', resources, httpPort: 80 });
    expect(own.ofTemplate).toEqual({ name: 'web', values: { ...first, httpPort: 80 } });
    expect(own.problem).toBeUndefined();
  });

  test('is nothing without a reference', () => {
    const spec = fleetSpec();
    expect(resolveTemplate(spec, nothing, { kind: 'none' })).toEqual({
      spec,
      ofTemplate: undefined,
      template: { kind: 'none' },
      problem: undefined,
    });
  });

  const update = made(3, first);
  const known: Known = { state: { taken: [took(3, first)] }, update, healthy: update, shown: undefined };

  test('stays when the template changes, and the fleet is told to be outdated', () => {
    const { spec, template } = resolveTemplate(bare(), known, usable(second));
    expect(spec.template.spec.image).toBe(first.image);
    expect(template).toMatchObject({ kind: 'resolved', outdated: ['image'] });
  });

  test('follows the template under templateUpdates: Apply', () => {
    const { spec, template } = resolveTemplate(bare({ templateUpdates: 'Apply' }), known, usable(second));
    expect(spec.template.spec.image).toBe(second.image);
    expect(template).toMatchObject({ outdated: [] });
  });

  test('is taken anew with the next revision', () => {
    const { spec } = resolveTemplate(bare({ restartToken: 'now' }), known, usable(second));
    expect(spec.template.spec.image).toBe(second.image);
  });

  test('is what the newest Healthy revision took when the document is as it was then', () => {
    const edited = made(4, second, { restartToken: 'now' });
    const state = { taken: [took(3, first), took(4, second)] };
    const after: Known = { state, update: edited, healthy: update, shown: undefined };
    expect(resolveTemplate(bare(), after, usable(second)).spec.template.spec.image).toBe(first.image);
    const still = resolveTemplate(bare({ restartToken: 'now' }), after, usable(first));
    expect(still.spec.template.spec.image).toBe(second.image);
  });

  test('of another template is taken now', () => {
    const other = bare({ templateRef: { name: 'other' } });
    expect(resolveTemplate(other, known, usable(second)).spec.template.spec.image).toBe(second.image);
  });

  test.each(['Ignore', 'Apply'])(
    'of one that is gone stays under %s, and nothing is held',
    (templateUpdates) => {
      const { spec, template, problem } = resolveTemplate(bare({ templateUpdates }), known, missing);
      expect(spec.template.spec.image).toBe(first.image);
      expect(template).toMatchObject({ kind: 'resolved', missing: 'there is no template web' });
      expect(problem).toBeUndefined();
    },
  );

  test('of one that is gone makes no new revision', () => {
    const { spec, problem } = resolveTemplate(bare({ restartToken: 'now' }), known, missing);
    expect(problem).toMatchObject({ kind: 'hold', reason: 'ReferenceNotFound', path: missing.path });
    // Until then, what is there is looked at as it is.
    expect(spec.template.spec.image).toBe(first.image);
    expect(resolveTemplate(bare(), nothing, notReady).problem).toMatchObject({
      kind: 'wait',
      reason: 'TemplateNotReady',
    });
  });

  test('after a lost state is what a replica has that was found again', () => {
    const service = aService({ image: 'ghcr.io/acme/web:1', resources, httpPort: null });
    const lost: Known = { ...nothing, shown: { service, place } };
    expect(resolveTemplate(bare(), lost, usable(second)).spec.template.spec.image).toBe(first.image);
    const follows = resolveTemplate(bare({ templateUpdates: 'Apply' }), lost, usable(second));
    expect(follows.spec.template.spec.image).toBe(second.image);
    const there = aService({ resources: { gpuCount: 8, cpu: 64, memoryGb: 512 } });
    const elsewhere = { service: there, place: { ...place, resources: there.resources as typeof resources } };
    const { spec } = resolveTemplate(bare(), { ...lost, shown: elsewhere }, usable(second));
    expect(spec.template.spec.resources).toEqual(resources);
  });
});

describe('a new revision is held', () => {
  const requires = usable({ ...first, requiredEnvironment: ['A', 'B'] });

  test('when the document lacks variables that the template requires', () => {
    const { problem } = resolveTemplate(bare({ env: [{ name: 'A', value: '1' }] }), nothing, requires);
    expect(problem).toMatchObject({
      kind: 'hold',
      reason: 'MissingEnvironment',
      message: 'the template web requires B; add it to env',
      path: ['spec', 'template', 'spec', 'env'],
    });
    const env = ['A', 'B'].map((name) => ({ name }));
    expect(resolveTemplate(bare({ env }), nothing, requires).problem).toBeUndefined();
  });

  test('when neither gives an image or a size', () => {
    const { problem } = resolveTemplate(bare(), nothing, usable({ image: 'a:1', requiredEnvironment: [] }));
    expect(problem).toMatchObject({ kind: 'hold', reason: 'InvalidReference' });
    expect(problem).toMatchObject({ path: ['spec', 'template', 'spec', 'resources'] });
  });

  test('and its replicas are left as they are', () => {
    const problem = resolveTemplate(bare(), nothing, missing).problem;
    const world = worldOf([replicaIn('updated', 0)], {});
    expect(planFleet({ ...inputsOf(world), problem })).toMatchObject({ reason: 'ReferenceNotFound' });
  });
});

describe('what a revision took is remembered', () => {
  const world = worldOf([0, 1, 2].map((slot) => replicaIn('updated', slot)));
  const inputs = inputsOf(world);
  const ofTemplate = { name: 'web', values: first };

  test('with a new one, beside that of the newest Healthy one', () => {
    const { content } = made(3, first);
    const present = { ...inputs.present, content, digest: 'new' };
    const state = { ...inputs.state, taken: [took(1, second), took(2, second)] };
    const plan = planFleet({ ...inputs, state, present, ofTemplate });
    const { taken, update } = (plan as { state: FleetState }).state;
    expect(update).toBe(3);
    expect(taken).toEqual([took(2, second), took(3, first)]);
  });

  test('also when the document has said the same itself before', () => {
    const plan = planFleet({ ...inputs, ofTemplate });
    expect(plan).toMatchObject({ kind: 'arrange', change: undefined, state: { taken: [took(2, first)] } });
    const known = { ...inputs, ofTemplate, state: { ...inputs.state, taken: [took(2, first)] } };
    expect(planFleet(known).kind).toBe('in-sync');
  });
});

describe('a replica of which nobody knows what it has', () => {
  const roster = [{ slot: 0, phase: 'wanted', since: startMs, place }] as const;

  test('is compared with what the revision of the document took', () => {
    const state = { roster: [...roster], update: 3, taken: [took(3, first)] };
    const [replica] = ownedBy({ name: 'web', spec: bare(), state, revisions: withOutcome([], 1, 'New', 0) });
    expect(replica?.spec).toMatchObject({ image: first.image, resources, templateRef: undefined });
  });

  test('refers to the template itself until that is known, and so keeps what it has', () => {
    const [replica] = ownedBy({ name: 'web', spec: bare(), state: { roster: [...roster] }, revisions: [] });
    expect(replica?.spec).toMatchObject({ templateRef: { name: 'web' }, templateUpdates: 'Ignore' });
  });
});
