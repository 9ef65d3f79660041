/** The policies of examples/policies/, evaluated without an API server. test/landing/operator/policies.test.ts asks a real one. */
import { describe, expect, test } from 'vitest';
import { documents, managedKinds, traitsOf } from '../../../src/resources/index.ts';
import { newEnvironment } from '../../support/kubernetes/schema/cel-library.ts';
import {
  policyCases,
  policyFiles,
  policyOf,
  policyText,
  type Policy,
  type PolicyCase,
} from '../../support/manifests/policies.ts';

const override = 'check fleetkeeper.dev budgets shop override';

/** Remembers what it is asked about. */
class Authorizer {
  readonly asked: readonly string[];
  readonly isTreasurer: boolean;

  constructor(isTreasurer: boolean, asked: readonly string[] = ['check']) {
    this.isTreasurer = isTreasurer;
    this.asked = asked;
  }

  with(more: string): Authorizer {
    return new Authorizer(this.isTreasurer, [...this.asked, more]);
  }
}

const environment = newEnvironment()
  .registerType('Authorizer', Authorizer)
  .registerFunction('list<dyn>.join(string): string', (list: readonly string[], by: string) => list.join(by))
  /** Asked about anything else, nobody may. */
  .registerFunction(
    'Authorizer.allowed(): bool',
    ({ asked, isTreasurer }: Authorizer) => isTreasurer && asked.join(' ') === override,
  );
for (const call of ['group', 'resource', 'namespace', 'check']) {
  const signature = `Authorizer.${call}(string): Authorizer`;
  environment.registerFunction(signature, (asked: Authorizer, value: string) => asked.with(value));
}
for (const name of ['object', 'oldObject', 'request', 'variables']) environment.registerVariable(name, 'dyn');
environment.registerVariable('authorizer', 'Authorizer');

function celValue(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(celValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, celValue(one)]));
}

/** With the defaults of the definition, as admission sees it; or what `/scale` shows of it. */
function admitted({ kind, scale }: PolicyCase, document: object): unknown {
  const object = documents[kind].parse(document);
  if (scale === undefined) return celValue(object);
  const { replicas } = object.spec as { readonly replicas: number };
  return celValue({ metadata: object.metadata, spec: { replicas } });
}

/** The messages of the refusals. */
function verdict({ spec }: Policy, tried: PolicyCase, username = 'somebody'): string[] {
  const variables: Record<string, unknown> = {};
  const context = {
    object: admitted(tried, tried.after),
    oldObject: tried.before ? admitted(tried, tried.before) : null,
    request: {
      namespace: 'shop',
      kind: { kind: tried.scale ? 'Scale' : tried.kind },
      userInfo: { username },
    },
    authorizer: new Authorizer(tried.isTreasurer === true),
    variables,
  };
  const value = (expression: string): unknown => environment.evaluate(expression, context);
  if (!spec.matchConditions.every(({ expression }) => value(expression) === true)) return [];
  for (const { name, expression } of spec.variables ?? []) variables[name] = value(expression);
  return spec.validations
    .filter(({ expression }) => value(expression) !== true)
    .map(({ message, messageExpression }) => message ?? String(value(messageExpression ?? '')));
}

describe.each(policyFiles)('%s', (file) => {
  const { policy, binding } = policyOf(file);
  const cases = policyCases.filter((each) => each.file === file);

  test.each(cases)('$what', (tried) => {
    const { refused } = tried;
    const messages = verdict(policy, tried).map((message) => message.includes(refused ?? message));
    expect(messages).toEqual(refused === undefined ? [] : [true]);
  });

  test('never refuses what the operator writes, or an edit that leaves what was there before', () => {
    const operator = 'system:serviceaccount:fleetkeeper-system:fleetkeeper';
    for (const tried of cases) {
      expect(verdict(policy, tried, operator)).toEqual([]);
      expect(verdict(policy, { ...tried, before: tried.after })).toEqual([]);
    }
  });

  test('admits something and refuses something', () => {
    expect(new Set(cases.map(({ refused }) => refused === undefined))).toEqual(new Set([true, false]));
  });

  test('denies by its own binding, matches kinds that are declared, and no status', () => {
    expect(binding.spec).toMatchObject({ policyName: policy.metadata.name, validationActions: ['Deny'] });
    expect(policy.spec.failurePolicy).toBe('Fail');
    const plurals = managedKinds.map((kind) => traitsOf(kind).plural);
    for (const { apiGroups, operations, resources } of policy.spec.matchConstraints.resourceRules) {
      expect([apiGroups, operations]).toEqual([['fleetkeeper.dev'], ['CREATE', 'UPDATE']]);
      for (const resource of resources) expect([...plurals, 'servicefleets/scale']).toContain(resource);
    }
  });
});

test('each kind needs a label, and each kind with a deletionPolicy is kept in production', () => {
  const resourcesOf = (file: string) =>
    policyOf(file).policy.spec.matchConstraints.resourceRules.flatMap(({ resources }) => resources);
  const plurals = managedKinds.map((kind) => traitsOf(kind).plural);
  expect(resourcesOf('team-label.yaml')).toEqual(plurals.toSorted());
  const deletable = managedKinds.filter((kind) =>
    JSON.stringify(documents[kind].shape).includes('deletionPolicy'),
  );
  expect(resourcesOf('keep-production.yaml')).toEqual(
    deletable.map((kind) => traitsOf(kind).plural).toSorted(),
  );
});

test('README.md lists each policy', () => {
  for (const file of policyFiles) expect(policyText('README.md')).toContain(`| \`${file}\` |`);
});
