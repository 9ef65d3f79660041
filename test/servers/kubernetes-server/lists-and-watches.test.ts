import { describe, expect, test } from 'vitest';
import {
  configMap,
  configMaps,
  startServer,
  startWithWidgets,
  widget,
  widgets,
  type Client,
} from './support.ts';

async function createMany(client: Client, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await client.post(configMaps, configMap(`m${index}`, {}, { labels: { even: String(index % 2 === 0) } }));
  }
}

const namesOf = (items: readonly { readonly metadata: { readonly name: string } }[]) =>
  items.map(({ metadata }) => metadata.name);

describe('a list', () => {
  test('in pages is the state at its first page, whatever happens meanwhile', async () => {
    const client = await startServer();
    await createMany(client, 5);
    const first = await client.get(`${configMaps}?limit=2`);
    expect(first.body.metadata).toMatchObject({ remainingItemCount: 3 });
    await client.delete(`${configMaps}/m3`);
    await client.post(configMaps, configMap('m25'));
    const token = first.body.metadata.continue ?? '';
    const rest = await client.get(`${configMaps}?limit=10&continue=${token}`);
    expect(namesOf([...first.body.items, ...rest.body.items])).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
    expect(rest.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    expect(rest.body.metadata.continue).toBeUndefined();
  });

  test('whose first page is forgotten is 410, with a token to go on inconsistently', async () => {
    const client = await startServer();
    await createMany(client, 3);
    const first = await client.get(`${configMaps}?limit=1`);
    client.server.compact();
    const gone = await client.get(`${configMaps}?limit=1&continue=${first.body.metadata.continue}`);
    expect(gone.body).toMatchObject({ code: 410, reason: 'Expired' });
    const rest = await client.get(`${configMaps}?continue=${gone.body.metadata.continue}`);
    expect(namesOf(rest.body.items)).toEqual(['m1', 'm2']);
  });

  test('selects by labels and fields', async () => {
    const client = await startServer();
    await createMany(client, 3);
    const select = async (query: string) =>
      namesOf((await client.get(`${configMaps}?${query}`)).body.items ?? []);
    expect(await select('labelSelector=even=true')).toEqual(['m0', 'm2']);
    expect(await select('labelSelector=even in (false, x),even')).toEqual(['m1']);
    expect(await select('labelSelector=even notin (false)')).toEqual(['m0', 'm2']);
    expect(await select('labelSelector=!even')).toEqual([]);
    expect(await select('fieldSelector=metadata.name=m1')).toEqual(['m1']);
    expect(await select('fieldSelector=metadata.name!=m1,metadata.namespace=default')).toEqual(['m0', 'm2']);
    expect((await client.get(`${configMaps}?fieldSelector=data.a=1`)).body.message).toBe(
      'field label not supported: data.a',
    );
  });

  test('of all namespaces is in the order of namespace and name', async () => {
    const client = await startServer();
    await client.post('/api/v1/namespaces/kube-system/configmaps', configMap('a'));
    await client.post(configMaps, configMap('z'));
    const { body } = await client.get('/api/v1/configmaps');
    expect(body.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      'default/z',
      'kube-system/a',
    ]);
  });

  test('is told as metadata only, or as a table with the printer columns', async () => {
    const size = { name: 'Size', type: 'integer', jsonPath: '.spec.size' };
    const ready = {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    };
    const spec = { type: 'object', properties: { size: { type: 'integer' } } };
    const client = await startWithWidgets(spec, { additionalPrinterColumns: [size, ready] });
    await client.post(widgets, widget('one', { size: 3 }));
    const conditions = [
      { type: 'Synced', status: 'False' },
      { type: 'Ready', status: 'True' },
    ];
    await client.patch(`${widgets}/one/status`, 'merge', { status: { conditions } });
    const partial = await client.get(
      widgets,
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    );
    expect(partial.body.kind).toBe('PartialObjectMetadataList');
    expect(partial.body.items[0]).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'one' } });
    expect(partial.body.items[0]).not.toHaveProperty('spec');
    const table = await client.get(widgets, 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
    expect(table.body.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Size', 'Ready']);
    expect(table.body.rows[0]?.cells).toEqual(['one', 3, 'True']);
    expect((await client.get(widgets, 'application/vnd.kubernetes.protobuf')).status).toBe(406);
  });

  test('at a version that is yet to come times out', async () => {
    const client = await startServer();
    expect((await client.get(`${configMaps}?resourceVersion=99999`)).status).toBe(504);
  });
});

describe('a watch', () => {
  test('begins after the version of a list, and misses nothing', async () => {
    const client = await startServer();
    await createMany(client, 1);
    const { resourceVersion } = (await client.get(configMaps)).body.metadata;
    await client.post(configMaps, configMap('before'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
    await client.patch(`${configMaps}/m0`, 'merge', { data: { a: '1' } });
    await client.delete(`${configMaps}/m0`);
    expect(await watch.take(3)).toEqual(['ADDED before', 'MODIFIED m0', 'DELETED m0']);
  });

  test('without a version begins with everything there is', async () => {
    const client = await startServer();
    await createMany(client, 2);
    const watch = await client.watch(`${configMaps}?watch=true`);
    expect(await watch.take(2)).toEqual(['ADDED m0', 'ADDED m1']);
  });

  test('that asks for initial events is told when they are over', async () => {
    const client = await startServer();
    await createMany(client, 1);
    const query =
      'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    const watch = await client.watch(`${configMaps}?${query}`);
    await watch.next();
    const bookmark = await watch.next();
    expect(bookmark).toMatchObject({
      type: 'BOOKMARK',
      object: { kind: 'ConfigMap', metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
  });

  test('with a selector sees what begins to match as added, and what ceases to as deleted', async () => {
    const client = await startServer();
    const { body } = await client.post(configMaps, configMap('one'));
    const { resourceVersion } = body.metadata;
    const watch = await client.watch(
      `${configMaps}?watch=1&labelSelector=x=1&resourceVersion=${resourceVersion}`,
    );
    await client.patch(`${configMaps}/one`, 'merge', { metadata: { labels: { x: '1' } } });
    const ceased = await client.patch(`${configMaps}/one`, 'merge', { metadata: { labels: { x: '2' } } });
    expect(await watch.next()).toMatchObject({ type: 'ADDED' });
    expect(await watch.next()).toMatchObject({
      type: 'DELETED',
      object: { metadata: { labels: { x: '1' }, resourceVersion: ceased.body.metadata.resourceVersion } },
    });
  });

  test('from before a compaction gets one ERROR event with 410, and ends', async () => {
    const client = await startServer();
    const { resourceVersion } = (await client.get(configMaps)).body.metadata;
    client.server.compact();
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
    expect(await watch.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(await watch.next()).toBeUndefined();
  });

  test('gets bookmarks when nothing happens, with the version that it has come to', async () => {
    const client = await startServer({ bookmarkIntervalMs: 5 });
    const watch = await client.watch(`${configMaps}?watch=true&allowWatchBookmarks=true`);
    await client.post('/api/v1/namespaces/default/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'elsewhere' },
    });
    const wanted = client.server.resourceVersion;
    let seen = 0;
    while (seen < wanted) seen = Number((await watch.next())?.object.metadata.resourceVersion);
    expect(seen).toBe(wanted);
  });

  test('ends with its timeout', async () => {
    const client = await startServer();
    const watch = await client.watch(`${configMaps}?watch=true&timeoutSeconds=0.02`);
    expect(await watch.next()).toBeUndefined();
  });

  test('from a version that a small history has lost is 410', async () => {
    const client = await startServer({ historyLength: 2 });
    const { resourceVersion } = (await client.get(configMaps)).body.metadata;
    await createMany(client, 5);
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
    expect((await watch.next())?.type).toBe('ERROR');
  });
});
