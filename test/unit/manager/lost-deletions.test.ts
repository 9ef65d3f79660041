/** Deletions without an answer, or refused: what reads that lag behind do not show has not been deleted by that. */
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
  type Answer,
  type Asked,
  type ScriptedApi,
} from '../../support/scripted-fleet.ts';

type RemoteKind = 'ContainerService' | 'StorageVolume' | 'ServiceTemplate' | 'ImageRegistry';

const document = (kind: RemoteKind, spec: object) =>
  stringify({ apiVersion, kind, metadata: { name: 'data' }, spec });

/** How each kind is declared, and shown; and how it is created, listed and deleted. */
const kinds: Readonly<
  Record<
    RemoteKind,
    {
      readonly document: string;
      readonly collection: string;
      readonly shown: (body: Record<string, unknown>) => Record<string, unknown>;
    }
  >
> = {
  ContainerService: {
    document: serviceDocument('data'),
    collection: 'services',
    shown: ({ environment, ...body }) =>
      shownService({ ...body, environmentNames: Object.keys(environment ?? {}) }),
  },
  StorageVolume: {
    document: document('StorageVolume', {
      region: 'standard',
      sizeGb: 10,
      deletionPolicy: 'Delete',
    }),
    collection: 'volumes',
    shown: (body) => ({ ...body, status: 'ready', mode: 'independent', revision: 1 }),
  },
  ServiceTemplate: {
    document: document('ServiceTemplate', {
      image: 'ghcr.io/acme/web:1',
      resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    }),
    collection: 'templates',
    shown: (body) => ({ ...body, revision: 1 }),
  },
  ImageRegistry: {
    document: document('ImageRegistry', {
      repository: 'ghcr.io/acme/web',
      credentialsSecretRef: { name: 'pull' },
    }),
    collection: 'registries',
    shown: ({ repository }) => ({ repository, revision: 1 }),
  },
};

const pullSecret = stringify({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'pull' },
  stringData: { username: 'acme', password: 'secret' },
});

const id = '00000000-0000-4000-8000-000000000301';
const settleMs = 5000;

/** A provider that has one thing at most, hides it at times, and loses deletions. */
class Provider {
  thing: Record<string, unknown> | undefined;
  isHidden = false;
  /** A deletion does not arrive, and is not answered. */
  losesDeletions = true;
  /** A deletion is refused, in terms that nobody knows. */
  refusesDeletions = false;
  deletions = 0;

  constructor(api: ScriptedApi, kind: RemoteKind) {
    const { collection, shown } = kinds[kind];
    const list = () => (this.thing && !this.isHidden ? [this.thing] : []);
    api.on[`POST /api/${collection}`] = ({ body }) => {
      this.thing = { ...shown(body), id };
      return { status: 201, body: this.thing };
    };
    const remove = (): Answer => {
      this.deletions += 1;
      if (this.refusesDeletions)
        return { status: 400, body: { error: { code: 'E204', message: 'it is updating' } } };
      if (this.losesDeletions) return 'lost';
      const { thing = {} } = this;
      this.thing = undefined;
      return kind === 'StorageVolume'
        ? { status: 200, body: { volumeId: id, operationId: id, status: 'deleting' } }
        : { status: 200, body: kind === 'ContainerService' ? thing : { id, deleted: true } };
    };
    api.on[`DELETE /api/${collection}/${id}`] = remove;
    api.on[`POST /api/services/${id}/actions`] = (asked: Asked) =>
      asked.body.action === 'delete' ? remove() : undefined;
    api.on[`GET /api/${collection}/${id}`] = () => {
      const [thing] = list();
      const name = collection.slice(0, -1);
      return thing ? { status: 200, body: { [name]: thing } } : { status: 404 };
    };
    for (const name of ['templates', 'registries']) {
      api.on[`GET /api/${name}`] = () => ({
        status: 200,
        body: { [name]: name === collection ? list() : [] },
      });
    }
    api.on['GET /api/account'] = () => {
      api.services = collection === 'services' ? list() : [];
      api.volumes = collection === 'volumes' ? list() : [];
      return undefined;
    };
  }
}

const running = stoppedAfterEach();

async function fleetOf(kind: RemoteKind) {
  let provider: Provider | undefined;
  const rest = { ...access, 'pull.yaml': pullSecret };
  const declared = desiredOf({ ...rest, 'data.yaml': kinds[kind].document });
  const fleet = await scriptedFleet(declared, {
    settleMs,
    prepare: (api) => {
      provider = new Provider(api, kind);
    },
  });
  running.push(fleet);
  if (!provider) throw new Error('the provider was not prepared');
  return { fleet, provider, rest, key: objectKey(kind, 'default', 'data') };
}

describe.each(Object.keys(kinds) as RemoteKind[])('a %s', (kind) => {
  test('that was made a short while ago is not forgotten, since its deletion was lost and reads do not show it', async () => {
    const { fleet, provider, rest, key } = await fleetOf(kind);
    await fleet.clock.advance(3000);
    expect(provider.thing).toBeDefined();
    fleet.tell(desiredOf(rest));
    await fleet.clock.advance(2000);
    expect(provider.deletions).toBe(1);
    provider.isHidden = true;
    await fleet.clock.advance(40_000);
    expect(fleet.store.record(key)).toBeDefined();
    provider.isHidden = false;
    provider.losesDeletions = false;
    await fleet.clock.advance(30_000);
    expect(provider.thing).toBeUndefined();
    expect(fleet.store.record(key)).toBeUndefined();
  });

  test('that was made long ago is not forgotten for one look that does not show it, when its deletion was lost', async () => {
    const { fleet, provider, rest, key } = await fleetOf(kind);
    await fleet.clock.advance(120_000);
    fleet.tell(desiredOf(rest));
    await fleet.clock.advance(settleMs);
    expect(provider.deletions).toBe(1);
    provider.isHidden = true;
    await fleet.clock.advance(3000);
    expect(fleet.store.record(key)).toBeDefined();
    provider.isHidden = false;
    provider.losesDeletions = false;
    await fleet.clock.advance(30_000);
    expect(provider.thing).toBeUndefined();
    expect(fleet.store.record(key)).toBeUndefined();
  });

  test('is not forgotten by the next process, for a deletion of which that knows no answer', async () => {
    const { fleet, provider, rest, key } = await fleetOf(kind);
    await fleet.clock.advance(3000);
    fleet.tell(desiredOf(rest));
    await fleet.clock.advance(2000);
    expect(provider.deletions).toBe(1);
    await fleet.manager.stop();
    provider.isHidden = true;
    const next = await scriptedFleet(desiredOf(rest), { settleMs, beside: fleet, store: fleet.store });
    running.push(next);
    await next.clock.advance(40_000);
    expect(next.store.record(key)).toBeDefined();
    provider.isHidden = false;
    provider.losesDeletions = false;
    await next.clock.advance(30_000);
    expect(provider.thing).toBeUndefined();
    expect(next.store.record(key)).toBeUndefined();
  });

  test('whose deletion is refused as invalid is deleted ten minutes later: there is no document to edit', async () => {
    const { fleet, provider, rest, key } = await fleetOf(kind);
    await fleet.clock.advance(120_000);
    provider.losesDeletions = false;
    provider.refusesDeletions = true;
    fleet.tell(desiredOf(rest));
    await fleet.clock.advance(300_000);
    expect(provider.deletions).toBe(1);
    expect(fleet.store.record(key)?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'Refused' }),
    );
    provider.refusesDeletions = false;
    await fleet.clock.advance(360_000);
    expect(provider.deletions).toBe(2);
    expect(provider.thing).toBeUndefined();
    expect(fleet.store.record(key)).toBeUndefined();
  });

  test('that is gone after a deletion without an answer is forgotten, and not deleted again', async () => {
    const { fleet, provider, rest, key } = await fleetOf(kind);
    await fleet.clock.advance(120_000);
    fleet.tell(desiredOf(rest));
    await fleet.clock.advance(1000);
    provider.thing = undefined;
    await fleet.clock.advance(4 * settleMs);
    expect(provider.deletions).toBe(1);
    expect(fleet.store.record(key)).toBeUndefined();
  });
});
