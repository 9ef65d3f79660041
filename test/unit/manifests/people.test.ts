/** What the roles for people allow. */
import { expect, test } from 'vitest';
import { ofKind, plainFiles, type Manifest } from '../../support/manifests/render.ts';

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Of those that `role` of the cluster takes in. */
function rulesOf(role: 'view' | 'edit' | 'admin'): Rule[] {
  const label = `rbac.authorization.k8s.io/aggregate-to-${role}`;
  const roles = ofKind(plainFiles(), 'ClusterRole').filter(
    ({ metadata }) => metadata.labels?.[label] === 'true',
  );
  return roles.flatMap((found: Manifest) => (found as Manifest & { rules: Rule[] }).rules);
}

const mayWrite = (role: 'view' | 'edit' | 'admin', resource: string) =>
  rulesOf(role).some(({ resources, verbs }) => resources.includes(resource) && verbs.includes('patch'));

test('who may edit a namespace writes fleets, and not where keys are sent', () => {
  expect([mayWrite('edit', 'containerservices'), mayWrite('edit', 'accounts')]).toEqual([true, false]);
  expect(mayWrite('admin', 'accounts')).toBe(true);
  expect(mayWrite('view', 'containerservices')).toBe(false);
});

test('nobody is given a right on Secrets, or on the status of objects', () => {
  const all = [...rulesOf('view'), ...rulesOf('edit'), ...rulesOf('admin')].flatMap(
    ({ resources }) => resources,
  );
  expect(
    all.filter(
      (resource) => resource.includes('secret') || /\/(?!scale$)/.test(resource) || resource === '*',
    ),
  ).toEqual([]);
});
