/** Whether what an owner owns has older values than its Secrets show now, also while its owner makes no new revision. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { contentDigests } from '../../../../src/engine/fleet/content.ts';
import { DerivedObjects } from '../../../../src/engine/fleet/derived.ts';
import { kinds } from '../../../../src/kinds/index.ts';
import { apiVersion, objectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord, type OwnerRevision } from '../../../../src/state/index.ts';
import { desiredOf } from '../../../support/desired.ts';
import { stateIdentity } from '../../../support/scripted-fleet.ts';

const fleet = objectKey('ServiceFleet', 'default', 'llm');
const replica = objectKey('ContainerService', 'default', 'llm-0');
const references = [{ kind: 'Secret' as const, name: 'llm', keys: ['token'] }];

const template = {
  spec: {
    region: 'standard',
    image: 'a:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'llm', key: 'token' } } }],
  },
};

const documentOf = (kind: string, name: string, rest: object) =>
  stringify({ apiVersion: kind === 'Secret' ? 'v1' : apiVersion, kind, metadata: { name }, ...rest });

function sourceWith(token: string) {
  return desiredOf({
    'llm.yaml': documentOf('ServiceFleet', 'llm', { spec: { replicas: 1, template } }),
    'secret.yaml': documentOf('Secret', 'llm', { stringData: { token } }),
  });
}

test.each([1, 100 * 1024])(
  'new values of %i characters are noticed beside many revisions',
  async (length) => {
    const first = sourceWith('a'.repeat(length));
    const store = new MemoryStore(stateIdentity, [newRecord(fleet, 'uid')], []);
    const { digest, values } = contentDigests(
      { store, snapshot: first },
      'default',
      template.spec,
      references,
    );
    const revisions = [1, 2, 3].map((number): OwnerRevision => {
      return { number, content: template.spec, data: references, digest, values, outcome: 'Healthy', at: 0 };
    });
    await store.saveRevisions(fleet, revisions);
    const owned = {
      kind: 'ContainerService' as const,
      name: 'llm-0',
      labels: {},
      annotations: {},
      spec: template.spec,
      specPath: ['spec', 'template', 'spec'],
      content: template.spec,
      revision: revisions.at(-1),
      mayCorrect: true,
      drainingSince: undefined,
    };
    const owning = { ...kinds, ServiceFleet: { ...kinds.ServiceFleet, children: () => [owned] } };
    const derived = new DerivedObjects({ store, kinds: owning });
    const hasOlderValues = (token: string) =>
      derived.merge(sourceWith(token.repeat(length))).objects.get(replica)?.derived?.hasOlderValues;
    expect(derived.merge(first).objects.get(replica)?.derived?.hasOlderValues).toBe(false);
    expect(hasOlderValues('b')).toBe(true);
    expect(hasOlderValues('a')).toBe(false);
  },
);
