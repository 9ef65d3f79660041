import { beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { desiredObjects, type ClusterFacts, type DesiredObject } from '../../../src/desired/index.ts';
import {
  KubernetesError,
  type EventNote,
  type KubernetesObject,
  type Patch,
} from '../../../src/kubernetes/index.ts';
import { OwnedResources } from '../../../src/manager/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const owner: ObjectKey = 'ServiceFleet/default/llm';
const key: ObjectKey = 'ContainerService/default/llm-0';
const uid = 'uid-of-llm';

let sent: string[];
let bodies: Patch[];
let noted: EventNote[];
let isDurable: boolean;
let leads: boolean;
let wanted: Map<ObjectKey, DesiredObject>;
let shown: Map<ObjectKey, DesiredObject>;
let refuse: () => KubernetesError | undefined;
let isThere: boolean;
let generation: number;
let clock: ManualClock;
let resources: OwnedResources;

/** As a document of that name would be. */
function replica(image = 'ghcr.io/acme/web:1', labels: Readonly<Record<string, string>> = {}): DesiredObject {
  const text = serviceDocument('llm-0').replace('ghcr.io/acme/web:1', image);
  const object = desiredOf({ 'a.yaml': text }).objects.get(key);
  if (!object) throw new Error('no document');
  return { ...object, labels: { 'fleetkeeper.dev/fleet': 'llm', ...labels } };
}

function resource(object: DesiredObject, facts: Partial<ClusterFacts> = {}): DesiredObject {
  const cluster: ClusterFacts = {
    uid: 'uid-0',
    generation,
    resourceVersion: '1',
    finalizers: [],
    status: undefined,
    deletionRequestedAt: undefined,
    controller: { key: owner, uid },
    ...facts,
  };
  return { ...object, cluster };
}

beforeEach(() => {
  [sent, bodies, noted, isDurable, leads, isThere, generation] = [[], [], [], true, true, false, 1];
  wanted = new Map([[key, replica()]]);
  shown = new Map();
  refuse = () => undefined;
  clock = new ManualClock();
  const request = (name: string) => {
    sent.push(name);
    const error = refuse();
    if (error) throw error;
  };
  const answer = (): KubernetesObject => ({
    apiVersion: '',
    kind: '',
    metadata: { name: 'llm-0', uid: 'uid-0', resourceVersion: '2', generation },
  });
  resources = new OwnedResources({
    api: {
      async get() {
        return isThere ? answer() : undefined;
      },
      async patch(_target, patch) {
        request(`${patch.kind}${patch.force ? ' by force' : ''}`);
        bodies.push(patch);
        return answer();
      },
      async remove(_target, preconditions) {
        request(`remove ${preconditions?.uid}`);
      },
    },
    store: { isKindStateDurable: () => isDurable, record: () => undefined },
    derived: {
      get source() {
        return { ...desiredOf({}), objects: desiredObjects(shown) };
      },
      wantedResources: () => ({
        uid,
        wanted,
        resources: new Map(
          [...shown].flatMap(([name, { cluster }]) =>
            cluster?.controller?.uid === uid ? [[name, cluster] as const] : [],
          ),
        ),
      }),
    },
    recorder: { record: (note) => void noted.push(note) },
    mayAct: () => leads,
    clock,
    random: systemRandom,
  });
});

describe('a replica that is not there', () => {
  test('is applied with a reference to its fleet, not by force, and once', async () => {
    await resources.sync(owner);
    isThere = true;
    await resources.sync(owner);
    expect(sent).toEqual(['apply']);
    expect(bodies[0]).toMatchObject({
      fieldManager: 'fleetkeeper-fleet',
      body: {
        metadata: {
          name: 'llm-0',
          ownerReferences: [{ kind: 'ServiceFleet', name: 'llm', uid, controller: true }],
        },
        spec: { image: 'ghcr.io/acme/web:1' },
      },
    });
  });

  test('is not applied before its roster is durable, nor by a process that does not lead', async () => {
    isDurable = false;
    await resources.sync(owner);
    [isDurable, leads] = [true, false];
    await resources.sync(owner);
    expect(sent).toEqual([]);
  });

  test('is not applied where somebody has made one of its name', async () => {
    shown = new Map([[key, resource(replica(), { controller: undefined })]]);
    await resources.sync(owner);
    shown = new Map();
    isThere = true;
    await resources.sync(owner);
    expect(sent).toEqual([]);
  });

  test('that the API server refuses is tried again later, with an Event, and keeps no pass', async () => {
    refuse = () => new KubernetesError('a label is invalid', { status: 422, reason: 'Invalid' });
    await resources.sync(owner);
    await resources.sync(owner);
    expect(sent).toEqual(['apply']);
    expect(noted).toMatchObject([{ reason: 'ChildRefused', about: { kind: 'ServiceFleet', uid } }]);
    await clock.advance(10_000);
    await resources.sync(owner);
    expect(sent).toEqual(['apply', 'apply']);
    wanted = new Map([[key, replica('ghcr.io/acme/web:2')]]);
    refuse = () => undefined;
    await resources.sync(owner);
    expect(sent).toHaveLength(3);
  });

  test('fails the pass while the API server can not be reached', async () => {
    refuse = () => new KubernetesError('no answer', {});
    await expect(resources.sync(owner)).rejects.toThrow('no answer');
  });
});

describe('a replica that is there', () => {
  test('as it is wanted, costs nothing, whatever others have added', async () => {
    shown = new Map([
      [key, resource({ ...replica('ghcr.io/acme/web:1', { mine: 'x' }), annotations: { a: 'b' } })],
    ]);
    await resources.sync(owner);
    expect(sent).toEqual([]);
  });

  test('with another spec is applied by force, and once until the watch shows it', async () => {
    shown = new Map([[key, resource(replica('ghcr.io/acme/old:1'))]]);
    generation = 2;
    await resources.sync(owner);
    await resources.sync(owner);
    expect(sent).toEqual(['apply by force']);
    expect(bodies[0]).toMatchObject({ body: { metadata: { uid: 'uid-0' } } });
    shown = new Map([[key, resource(replica())]]);
    await resources.sync(owner);
    expect([sent.length, noted]).toEqual([1, []]);
  });

  test('that somebody edited is applied again, with an Event about it', async () => {
    await resources.sync(owner);
    generation = 2;
    shown = new Map([[key, resource(replica('ghcr.io/acme/other:1'))]]);
    generation = 3;
    await resources.sync(owner);
    expect(sent).toEqual(['apply', 'apply by force']);
    expect(noted).toMatchObject([{ reason: 'ChildEdited', about: { name: 'llm-0', uid: 'uid-0' } }]);
  });

  test('with a field that an apply leaves is patched, once, and then left as the API server has it', async () => {
    const { spec } = replica();
    shown = new Map([
      [key, resource({ ...replica(), spec: { ...spec, restartToken: 'again' } } as DesiredObject)],
    ]);
    for (let pass = 0; pass < 4; pass += 1) await resources.sync(owner);
    expect(sent).toEqual(['apply by force', 'merge']);
    expect(bodies[1]?.body).toMatchObject({ spec: { restartToken: null } });
  });

  test('loses a label that the template had, by the next apply', async () => {
    wanted = new Map([[key, replica('ghcr.io/acme/web:1', { team: 'a' })]]);
    await resources.sync(owner);
    shown = new Map([[key, resource(replica('ghcr.io/acme/web:1', { team: 'a' }))]]);
    await resources.sync(owner);
    wanted = new Map([[key, replica()]]);
    await resources.sync(owner);
    expect(sent).toEqual(['apply', 'apply by force']);
  });

  test('and is being deleted is left to end', async () => {
    shown = new Map([[key, resource(replica('ghcr.io/acme/old:1'), { deletionRequestedAt: 1 })]]);
    await resources.sync(owner);
    wanted = new Map();
    await resources.sync(owner);
    expect(sent).toEqual([]);
  });

  test('and is not wanted any more is deleted with its uid, once', async () => {
    shown = new Map([[key, resource(replica())]]);
    wanted = new Map();
    await resources.sync(owner);
    await resources.sync(owner);
    expect(sent).toEqual(['remove uid-0']);
  });
});
