/** No value of a Secret, a ConfigMap or an environment is in a plan file, however it is written. */
import { expect, test } from 'vitest';
import { createRegistry } from '../../../src/actions/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { inSync, waitFor, type Plan, type RosterPlan } from '../../../src/engine/plan/index.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import { planService } from '../../../src/kinds/container-service/plan.ts';
import { HiddenValues, plannedObjects, readPlan, writtenPlan } from '../../../src/plan-file/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { seed } from '../../support/seed.ts';
import { aRecord, aSpec, env, serviceInputs, serviceKey } from '../../support/plan.ts';
import { fileWith, llm } from './support.ts';

const registryKey = 'ImageRegistry/default/pull' as ObjectKey;
const alphabet = ['a', 'Z', '7', '"', '\\', '/', ' ', '%', '&', '<', 'é', '語', '\n', '\t', '😀', '+', '='];

function resultOf(plan: Plan, more: Partial<PassResult> = {}): PassResult {
  const foreseen = { later: [], roster: undefined, value: undefined };
  return { plan, wake: { kind: 'never' }, statusChanged: false, removed: false, foreseen, ...more };
}

/** Of values that are too short, anything may be a part. */
function secretOf(random: SeededRandom): string {
  const length = 8 + Math.floor(random.fraction() * 24);
  return Array.from({ length }, () => alphabet[Math.floor(random.fraction() * alphabet.length)]).join('');
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replaceAll(/[^\x20-\x7e]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
  const base64 = bytes.toString('base64').replaceAll('=', '');
  return [
    secret,
    base64,
    base64.replaceAll('+', '-').replaceAll('/', '_'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(secret),
    new URLSearchParams({ v: secret }).toString().slice(2),
    json,
    ascii,
    JSON.stringify(json).slice(1, -1),
  ];
}

function fileOf(random: SeededRandom) {
  const secrets = {
    literal: secretOf(random),
    fromSecret: secretOf(random),
    username: secretOf(random),
    password: secretOf(random),
    ofTemplate: secretOf(random),
    ofFleet: secretOf(random),
  };
  const hidden = new HiddenValues(Buffer.from(random.uuid()));
  const spec = aSpec({ env: env({ MODE: secrets.literal }) });
  const environment = {
    kind: 'given',
    values: new Sensitive({ MODE: secrets.literal, TOKEN: secrets.fromSecret }),
  } as const;
  const before = random.fraction() < 0.5 ? { service: 'new' as const } : { before: aSpec() };
  const credentials = new Sensitive({ username: secrets.username, password: secrets.password });
  const registry = createRegistry({ repository: 'ghcr.io/acme', credentials });
  const step = { action: registry, reason: 'Create', disruptive: false, differences: [] } as const;
  const content = {
    id: 'r2',
    content: { image: 'a:2', env: env({ MODE: secrets.ofTemplate }) },
    values: new Sensitive({ 'Secret/keys/token': secrets.ofFleet }),
  };
  const roster: RosterPlan = {
    replicas: 3,
    content,
    fallback: { ...content, id: 'r1', values: undefined },
    add: 1,
    repair: 0,
    update: 2,
    drain: 0,
    leaves: false,
    command: undefined,
    moves: { wanted: 3, added: [], updated: [], corrected: [], leaving: [] },
  };
  const object = {
    labels: {},
    annotations: {},
    kind: 'ContainerService',
    namespace: 'default',
    name: 'trainer',
    spec,
  };
  const results = new Map<ObjectKey, PassResult>([
    [serviceKey, resultOf(planService(serviceInputs({ spec, environment, ...before })))],
    [registryKey, resultOf(waitFor('RegistryNotReady', 'later', { steps: [step] }))],
    [llm, resultOf(inSync(), { foreseen: { later: [], roster, value: undefined } })],
  ]);
  const planned = plannedObjects(results, {
    snapshot: { objects: new Map([[serviceKey, object]]) as never },
    store: { record: (key) => aRecord(key), recordOf: () => undefined },
    hiddenOf: () => hidden,
    beforeIds: new Map(),
  });
  const { digest: _own, ...content2 } = fileWith([...planned.objects.values()]);
  return { secrets: Object.values(secrets), text: writtenPlan(content2).text };
}

test(`1,000 generated files show none of 6,000 values in any form (seed ${seed})`, () => {
  const random = new SeededRandom(seed);
  for (let round = 0; round < 1000; round += 1) {
    const { secrets, text } = fileOf(random);
    const read = readPlan(text);
    expect(read.kind === 'read' && read.file.objects.length).toBe(3);
    expect(text).toContain('hmac-sha256:');
    for (const secret of secrets) for (const form of formsOf(secret)) expect(text).not.toContain(form);
  }
});

test('the same value has another digest under another key, so nobody can look it up', () => {
  const [one, other] = [new HiddenValues(Buffer.alloc(32, 1)), new HiddenValues(Buffer.alloc(32, 2))];
  expect(one.of('x')).toBe(new HiddenValues(Buffer.alloc(32, 1)).of('x'));
  expect(one.of('x')).not.toBe(other.of('x'));
  expect([one.check === undefined, other.check]).toEqual([false, expect.any(String)]);
  expect(new HiddenValues(Buffer.alloc(32, 1)).check).toBeUndefined();
});
