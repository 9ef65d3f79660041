/** What a person may do when a brake is on depends on where the account comes from: only a document can be annotated. */
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../../src/base/index.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { massChangeAdvice } from '../../../src/engine/fleet/advice.ts';
import { desiredOf, inCluster, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const names = Array.from({ length: 12 }, (_, index) => `web-${index + 10}`);
const keyOf = (name: string) => objectKey('ContainerService', 'default', name);
const idOf = (name: string) => `00000000-0000-4000-8000-0000000000${name.slice(-2)}`;
const documents = (of: readonly string[]) =>
  Object.fromEntries(of.map((name) => [`${name}.yaml`, serviceDocument(name)]));
const annotation = 'fleetkeeper.dev/allow-mass-change-until';

const running = stoppedAfterEach();

type Origin = 'the environment' | 'a document';

/** Twelve services that are as desired. */
async function fleetOf(origin: Origin): Promise<ScriptedFleet> {
  const account = origin === 'a document' ? access : {};
  const fleet = await scriptedFleet(desiredOf({ ...account, ...documents(names) }), {
    records: names.map((name) => knownService(keyOf(name), { externalId: idOf(name) })),
    ...(origin === 'the environment' && {
      environment: { url: 'https://api.invalid', apiKey: () => new Sensitive('key') },
    }),
    prepare: (api) => {
      api.services = names.map((name) => shownService({ id: idOf(name), name }));
    },
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  return fleet;
}

const stalled = ({ store }: ScriptedFleet, name: string) =>
  store.record(keyOf(name))?.status?.conditions.find(({ type }) => type === 'Stalled');

const brakes: readonly (readonly [string, (fleet: ScriptedFleet, origin: Origin) => void, string])[] = [
  [
    'the same drift on many',
    ({ api }) => {
      api.services = api.services.map((service) => ({
        ...service,
        image: 'ghcr.io/acme/web:9',
        revision: 2,
      }));
    },
    'MassDrift',
  ],
  [
    'a source that lost many',
    (fleet, origin) => {
      const account = origin === 'a document' ? access : {};
      fleet.tell(desiredOf({ ...account, ...documents(names.slice(11)) }));
    },
    'MassChangeBrake',
  ],
];

describe.each(brakes)('%s', (_what, happen, reason) => {
  test.each([
    [
      'the environment',
      ['fleetkeeper apply --allow-mass-change', 'environment', 'Account document'],
      'annotate the Account',
    ],
    [
      'a document',
      ['annotate the Account', annotation, 'fleetkeeper apply --allow-mass-change'],
      'environment',
    ],
  ] as const)('and an account of %s', async (origin, said, unsaid) => {
    const fleet = await fleetOf(origin);
    happen(fleet, origin);
    await fleet.clock.advance(60_000);
    const held = stalled(fleet, 'web-10');
    expect(held).toMatchObject({ status: 'True', reason });
    for (const words of said) expect(held?.message).toContain(words);
    expect(held?.message).not.toContain(unsaid);
    // Only that of the source is one of the whole fleet; the other one is shown by what has drifted.
    const ofFleet = reason === 'MassChangeBrake' ? [[undefined, undefined, reason]] : [];
    const engaged = fleet.manager.brakes();
    expect(engaged.map(({ account, namespace, reason: why }) => [account, namespace, why])).toEqual(ofFleet);
    for (const { message } of engaged) expect(held?.message).toBe(message);
  });
});

test('an account read that lacks many says the same', async () => {
  const fleet = await fleetOf('the environment');
  fleet.api.services = [];
  fleet.tell(desiredOf({ ...documents([...names, 'new']) }));
  await fleet.clock.advance(20_000);
  const held = stalled(fleet, 'new');
  const message = held?.message;
  expect(fleet.manager.brakes()).toEqual([
    { account: 'default/default', namespace: undefined, reason: 'MassChangeBrake', message },
  ]);
  expect(held?.reason).toBe('MassChangeBrake');
  expect(held?.message).toContain('fleetkeeper apply --allow-mass-change');
  expect(held?.message).not.toContain('annotate the');
});

describe('in a cluster', () => {
  const here = inCluster(desiredOf(access));

  test('nobody is told to use a command that is not for clusters', () => {
    expect(massChangeAdvice(here, 'default/default')).not.toContain('fleetkeeper apply');
    expect(massChangeAdvice(here, 'default/default')).toContain(annotation);
  });

  test('who has no Account is told to write one', () => {
    expect(massChangeAdvice(inCluster(desiredOf({})), 'default/default')).toContain('an Account');
  });
});

test('what the advice for the environment says works: a document without a Secret keeps the key of the environment', async () => {
  const fleet = await fleetOf('the environment');
  fleet.api.services = fleet.api.services.map((service) => ({
    ...service,
    image: 'ghcr.io/acme/web:9',
    revision: 2,
  }));
  await fleet.clock.advance(60_000);
  expect(stalled(fleet, 'web-10')?.reason).toBe('MassDrift');
  const account = [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: Account',
    'metadata:',
    '  name: default',
    `  annotations: {${annotation}: "2030-01-01T00:00:00Z"}`,
    'spec: {url: "https://api.invalid"}',
    '',
  ].join('\n');
  fleet.api.news();
  fleet.tell(desiredOf({ 'account.yaml': account, ...documents(names) }));
  await fleet.clock.advance(60_000);
  expect(fleet.api.news().some((what) => what.startsWith('PATCH'))).toBe(true);
});
