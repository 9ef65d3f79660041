/** The room as a whole, over HTTP, on a clock that runs fast. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Sensitive, scaledClock, systemClock } from '../../../src/base/index.ts';
import { createClient } from '../../../src/kubernetes/client.ts';
import {
  Election,
  EventRecorder,
  Reflector,
  type KubernetesApi,
  type ResourceType,
} from '../../../src/kubernetes/index.ts';
import { KubernetesServer } from '../../support/kubernetes/server.ts';
import { surroundings } from './support.ts';

const configMaps: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
const eventually = <Value>(check: () => Value) => vi.waitFor(check, { timeout: 60_000, interval: 10 });

const faster = (factor: number) => surroundings(scaledClock(systemClock, factor));

let server: KubernetesServer;
let api: KubernetesApi;
let around: ReturnType<typeof surroundings>;
const endings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  server = new KubernetesServer();
  await server.start();
  around = faster(50);
  api = createClient({
    access: {
      server: server.url,
      description: 'a test',
      namespace: 'default',
      proxy: undefined,
      credentials: async () => ({
        headers: new Sensitive({}),
        tls: new Sensitive({ rejectUnauthorized: true }),
      }),
      refused: () => {},
    },
    ...around,
  });
});

afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await api.close();
  await server.stop({ abruptly: true });
});

async function put(name: string, value: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } };
  await api.patch({ type: configMaps, namespace: 'default', name }, { kind: 'apply', body, force: true });
}

const remove = (name: string) => api.remove({ type: configMaps, namespace: 'default', name });

function reflected(): Reflector {
  const reflector = new Reflector({
    api,
    type: configMaps,
    scope: { namespace: 'default' },
    onChange: () => {},
    ...around,
  });
  reflector.start();
  endings.push(() => reflector.stop());
  return reflector;
}

/** `a=1 b=2`. */
function shown(reflector: Reflector): string {
  return [...reflector.items.values()]
    .map(({ metadata, ...rest }) => `${metadata.name}=${(rest['data'] as { value: string }).value}`)
    .sort()
    .join(' ');
}

describe('a reflector', () => {
  test('follows what happens', async () => {
    await put('a', '1');
    const reflector = reflected();
    await reflector.whenSynced();
    expect(shown(reflector)).toBe('a=1');
    await put('b', '1');
    await put('a', '2');
    await eventually(() => expect(shown(reflector)).toBe('a=2 b=1'));
    await remove('a');
    await eventually(() => expect(shown(reflector)).toBe('b=1'));
    expect(reflector.items.get('default/b')?.metadata).not.toHaveProperty('managedFields');
  });

  test('notices a watch that has died silently', async () => {
    const reflector = reflected();
    await reflector.whenSynced();
    await eventually(() => expect(server.openWatches).toBe(1));
    server.silenceWatches();
    await put('a', '1');
    await eventually(() => expect(shown(reflector)).toBe('a=1'));
  });

  test('survives resets, refusals, an API server that is away, and forgotten versions', async () => {
    const reflector = reflected();
    await reflector.whenSynced();
    await put('a', '1');
    await eventually(() => expect(shown(reflector)).toBe('a=1'));
    server.resetConnections();
    server.faults.add({ match: { verbs: ['watch', 'list'] }, times: 4, status: 500 });
    await put('a', '2');
    await eventually(() => expect(shown(reflector)).toBe('a=2'));
    server.faults.add({ match: { verbs: ['list'] }, times: 1, status: 429, retryAfterSeconds: 1 });
    server.faults.add({ match: { verbs: ['watch'] }, times: 1, status: 410 });
    await server.stop({ abruptly: true });
    expect(shown(reflector)).toBe('a=2');
    await server.start();
    await remove('a');
    await put('a', '3');
    await put('b', '1');
    server.compact();
    server.resetConnections();
    await eventually(() => expect(shown(reflector)).toBe('a=3 b=1'));
  });
});

test('two that want to lead follow each other', async () => {
  const clock = faster(5);
  const candidate = (identity: string) => {
    const nothing = () => {};
    const calls = { onLeading: nothing, onIsolated: nothing, onRegained: nothing, onLost: nothing };
    const common = { api, namespace: 'default', name: 'fleetkeeper', ...calls };
    const election = new Election({ ...common, identity, ...clock });
    election.start();
    endings.push(() => election.stop());
    return election;
  };
  const first = candidate('first');
  await eventually(() => expect(first.mayAct()).toBe(true));
  const second = candidate('second');
  await eventually(() => expect(second.holder).toBe('first'));
  await first.stop();
  await eventually(() => expect(second.mayAct()).toBe(true));
  expect(second.holder).toBe('second');
});

test('Events are created, counted up, and shown where they belong', async () => {
  await put('a', '1');
  const recorder = new EventRecorder({ api, instance: 'pod-1', ...around });
  const about = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a', uid: 'some-uid' };
  const events: ResourceType = {
    group: '',
    version: 'v1',
    plural: 'events',
    kind: 'Event',
    namespaced: true,
  };
  const counts = async () => {
    const { items } = await api.list(events, {
      namespace: 'default',
      fieldSelector: 'involvedObject.name=a',
    });
    return items.map((event) => [event['reason'], event['count']]);
  };
  recorder.record({ about, type: 'Warning', reason: 'Held', message: 'waits for a person' });
  await eventually(async () => expect(await counts()).toEqual([['Held', 1]]));
  recorder.record({ about, type: 'Warning', reason: 'Held', message: 'waits for a person' });
  await recorder.stop(60_000);
  expect(await counts()).toEqual([['Held', 2]]);
});
